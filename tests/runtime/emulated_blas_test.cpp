//===- emulated_blas_test.cpp - The emulated cuBLASLt -----------------------------------------===//
//
// Products of all types, layouts and epilogues against sums in f64, and what the library refuses.
//
//===------------------------------------------------------------------------------------------===//

#include "EmulatedCudaTest.h"

#include "runtime/Half.h"
#include "runtime/emulator/MatrixProduct.h"

#include <cmath>
#include <random>

using namespace halfstep::tests;

namespace {

/// A matrix in device memory and the values it was given.
struct Matrix {
  MatrixShape shape;
  MatrixLayout layout = nullptr;
  char *data = nullptr;
  std::vector<double> values; // by the element's place

  uint64_t elements() const {
    return uint64_t(shape.batchCount - 1) * uint64_t(shape.batchStride) +
           (shape.columns - 1) * uint64_t(shape.leadingDimension) + shape.rows;
  }
  double at(int batch, uint64_t row, uint64_t column) const {
    return values[uint64_t(batch) * uint64_t(shape.batchStride) +
                  column * uint64_t(shape.leadingDimension) + row];
  }
};

double widenElement(int type, const char *data) {
  auto read = [&](auto value) {
    std::memcpy(&value, data, sizeof value);
    return value;
  };
  switch (type) {
  case dataF64:
    return read(double());
  case dataF32:
    return double(read(float()));
  case dataF16:
    return double(halfToFloat(read(uint16_t())));
  default:
    return double(bfloatToFloat(read(uint16_t())));
  }
}
void narrowElement(int type, double value, char *data) {
  auto write = [&](auto bits) { std::memcpy(data, &bits, sizeof bits); };
  switch (type) {
  case dataF64:
    return write(value);
  case dataF32:
    return write(float(value));
  case dataF16:
    return write(doubleToHalf(value));
  default:
    return write(doubleToBfloat(value));
  }
}
/// Half a unit in the last place of 1.
double roundingOf(int type) {
  return type == dataF64 ? 0x1p-53 : type == dataF32 ? 0x1p-24 : type == dataF16 ? 0x1p-11 : 0x1p-8;
}

/// What a product is asked with; the defaults fit together.
struct Case {
  int type = dataF32, resultType = dataF32, compute = computeF32, scale = dataF32;
  bool transposeA = false, transposeB = false, bias = false;
  double alpha = 1, beta = 0;
  uint64_t rows = 13, columns = 9, depth = 300, padding = 0;
  int32_t batches = 1;
  bool inPlace = false, shareB = false;
};

class Blas : public EmulatedCudaTest {
protected:
  Blas() { start(); }
  void start() {
    restart(1);
    stream = createStream();
    ASSERT_EQ(blas.cublasLtCreate(&handle), blasSuccess);
    ASSERT_EQ(blas.cublasLtMatmulPreferenceCreate(&preference), blasSuccess);
  }

  template <typename T> BlasStatus set(MatmulDescription to, int attribute, T value) {
    return blas.cublasLtMatmulDescSetAttribute(to, attribute, &value, sizeof value);
  }
  template <typename T> BlasStatus set(MatrixLayout to, int attribute, T value) {
    return blas.cublasLtMatrixLayoutSetAttribute(to, attribute, &value, sizeof value);
  }
  template <typename T> BlasStatus set(MatmulPreference to, int attribute, T value) {
    return blas.cublasLtMatmulPreferenceSetAttribute(to, attribute, &value, sizeof value);
  }

  /// With random values, unless it is to be written only. Between columns lie NaNs.
  Matrix makeMatrix(int type, uint64_t rows, uint64_t columns, const Case &test, bool isWritten,
                    bool isShared = false) {
    Matrix matrix;
    matrix.shape.type = type;
    matrix.shape.rows = rows;
    matrix.shape.columns = columns;
    matrix.shape.leadingDimension = int64_t(rows + test.padding);
    matrix.shape.batchCount = test.batches;
    matrix.shape.batchStride =
        isShared || test.batches == 1 ? 0 : matrix.shape.leadingDimension * int64_t(columns) + 3;
    EXPECT_EQ(blas.cublasLtMatrixLayoutCreate(&matrix.layout, type, rows, columns,
                                              matrix.shape.leadingDimension),
              blasSuccess);
    EXPECT_EQ(set(matrix.layout, layoutBatchCount, matrix.shape.batchCount), blasSuccess);
    EXPECT_EQ(set(matrix.layout, layoutBatchStride, matrix.shape.batchStride), blasSuccess);
    uint64_t size = bytesOfType(type);
    std::vector<char> bytes(matrix.elements() * size, char(0xFF));
    matrix.values.assign(matrix.elements(), std::nan(""));
    for (int batch = 0; batch < test.batches; ++batch)
      for (uint64_t column = 0; column < columns; ++column)
        for (uint64_t row = 0; row < rows; ++row) {
          uint64_t i = uint64_t(batch) * uint64_t(matrix.shape.batchStride) +
                       column * uint64_t(matrix.shape.leadingDimension) + row;
          narrowElement(type, std::uniform_real_distribution<>(-1, 1)(random), &bytes[i * size]);
          matrix.values[i] = widenElement(type, &bytes[i * size]);
        }
    matrix.data = isWritten ? upload(bytes) : allocate<char>(bytes.size());
    return matrix;
  }

  void prepare(const Case &test) {
    description = nullptr;
    ASSERT_EQ(blas.cublasLtMatmulDescCreate(&description, test.compute, test.scale), blasSuccess);
    set(description, matmulTransposeA, int32_t(test.transposeA));
    set(description, matmulTransposeB, int32_t(test.transposeB));
    a = test.transposeA ? makeMatrix(test.type, test.depth, test.rows, test, true)
                        : makeMatrix(test.type, test.rows, test.depth, test, true);
    b = test.transposeB ? makeMatrix(test.type, test.columns, test.depth, test, true, test.shareB)
                        : makeMatrix(test.type, test.depth, test.columns, test, true, test.shareB);
    c = makeMatrix(test.resultType, test.rows, test.columns, test, test.beta != 0);
    d = test.inPlace ? c : makeMatrix(test.resultType, test.rows, test.columns, test, false);
    Case vector;
    bias = makeMatrix(test.resultType, test.rows, 1, vector, true);
    if (test.bias) {
      set(description, matmulEpilogue, unsigned(epilogueBias));
      set(description, matmulBiasPointer, static_cast<void *>(bias.data));
      set(description, matmulBiasType, int32_t(test.resultType));
    }
  }

  BlasStatus getHeuristic() {
    found = 0;
    return blas.cublasLtMatmulAlgoGetHeuristic(handle, description, a.layout, b.layout, c.layout,
                                               d.layout, preference, 1, &heuristic, &found);
  }
  BlasStatus multiply(const Case &test, void *workspace = nullptr, size_t workspaceBytes = 0) {
    float alpha = float(test.alpha), beta = float(test.beta);
    bool isDouble = test.scale == dataF64;
    return blas.cublasLtMatmul(
        handle, description, isDouble ? static_cast<const void *>(&test.alpha) : &alpha, a.data,
        a.layout, b.data, b.layout, isDouble ? static_cast<const void *>(&test.beta) : &beta,
        c.data, c.layout, d.data, d.layout, &heuristic.algorithm, workspace, workspaceBytes,
        stream);
  }

  /// Each element against its sum in f64, within what sums of `depth` products in the type that is
  /// computed in may be off, and one rounding.
  void compare(const Case &test, double operandRounding = 0) {
    std::vector<char> result =
        download(d.data, d.elements() * bytesOfType(test.resultType), stream);
    double unit = roundingOf(test.compute == computeF64 ? dataF64 : dataF32);
    for (int batch = 0; batch < test.batches; ++batch)
      for (uint64_t i = 0; i < test.rows; ++i)
        for (uint64_t j = 0; j < test.columns; ++j) {
          double sum = 0, magnitude = 0;
          for (uint64_t k = 0; k < test.depth; ++k) {
            double product = (test.transposeA ? a.at(batch, k, i) : a.at(batch, i, k)) *
                             (test.transposeB ? b.at(batch, j, k) : b.at(batch, k, j));
            sum += product;
            magnitude += std::abs(product);
          }
          double expected = test.alpha * sum;
          if (test.beta != 0)
            expected += test.beta * c.at(batch, i, j);
          if (test.bias)
            expected += bias.at(0, i, 0);
          uint64_t place = uint64_t(batch) * uint64_t(d.shape.batchStride) +
                           j * uint64_t(d.shape.leadingDimension) + i;
          double value =
              widenElement(test.resultType, &result[place * bytesOfType(test.resultType)]);
          double bound = std::abs(test.alpha) * magnitude * (256 * unit + operandRounding) +
                         std::abs(expected) * roundingOf(test.resultType) + 8 * unit;
          ASSERT_NEAR(value, expected, bound) << batch << ", " << i << ", " << j;
        }
  }

  /// All of it.
  void run(const Case &test, double operandRounding = 0) {
    prepare(test);
    ASSERT_EQ(getHeuristic(), blasSuccess);
    ASSERT_EQ(found, 1);
    ASSERT_EQ(heuristic.state, blasSuccess);
    ASSERT_EQ(multiply(test), blasSuccess);
    compareWritten(test, operandRounding);
  }
  /// compare(), where columns may have gaps that are never written.
  void compareWritten(const Case &test, double operandRounding) {
    if (d.shape.leadingDimension != int64_t(d.shape.rows) || d.shape.batchStride)
      fillGaps();
    compare(test, operandRounding);
  }
  void fillGaps() {
    uint64_t size = bytesOfType(d.shape.type);
    std::vector<bool> isElement(d.elements());
    for (int batch = 0; batch < d.shape.batchCount; ++batch)
      for (uint64_t j = 0; j < d.shape.columns; ++j)
        for (uint64_t i = 0; i < d.shape.rows; ++i)
          isElement[uint64_t(batch) * uint64_t(d.shape.batchStride) +
                    j * uint64_t(d.shape.leadingDimension) + i] = true;
    for (uint64_t i = 0; i < isElement.size(); ++i)
      if (!isElement[i])
        ASSERT_EQ(driver.cuMemsetD8Async(at(d.data + i * size), 0, size, stream), success);
  }

  Stream stream = nullptr;
  BlasHandle handle = nullptr;
  MatmulPreference preference = nullptr;
  MatmulDescription description = nullptr;
  Matrix a, b, c, d, bias;
  MatmulHeuristic heuristic{};
  int found = 0;
  std::mt19937 random{5};
};

struct Types {
  int type, result, compute, scale;
};
constexpr Types supported[] = {
    {dataF32, dataF32, computeF32, dataF32},         {dataF16, dataF16, computeF32, dataF32},
    {dataF16, dataF32, computeF32, dataF32},         {dataBF16, dataBF16, computeF32, dataF32},
    {dataBF16, dataF32, computeF32, dataF32},        {dataF64, dataF64, computeF64, dataF64},
    {dataF32, dataF32, computeF32FastTF32, dataF32},
};

TEST_F(Blas, MultipliesAllTypesAndLayouts) {
  for (const Types &types : supported)
    for (int transposed = 0; transposed < 4; ++transposed)
      for (uint64_t padding : {0, 5})
        for (int32_t batches : {1, 3}) {
          start();
          Case test;
          test.type = types.type;
          test.resultType = types.result;
          test.compute = types.compute;
          test.scale = types.scale;
          test.transposeA = transposed & 1;
          test.transposeB = transposed & 2;
          test.padding = padding;
          test.batches = batches;
          SCOPED_TRACE(testing::Message() << types.type << types.result << types.compute << " "
                                          << transposed << padding << batches);
          run(test, types.compute == computeF32FastTF32 ? 0x1p-10 : 0);
        }
}

TEST_F(Blas, ScalesAndAdds) {
  for (const Types &types : supported)
    for (bool hasBias : {false, true})
      for (bool inPlace : {false, true}) {
        start();
        Case test;
        test.type = types.type;
        test.resultType = types.result;
        test.compute = types.compute;
        test.scale = types.scale;
        test.alpha = -0.75;
        test.beta = 1.5;
        test.bias = hasBias;
        test.inPlace = inPlace;
        run(test, types.compute == computeF32FastTF32 ? 0x1p-10 : 0);
      }
  Case shared;
  shared.batches = 4;
  shared.shareB = true;
  start();
  run(shared);
}

TEST_F(Blas, MultipliesMatricesOfOneElement) {
  Case test;
  test.rows = test.columns = test.depth = 1;
  test.bias = true;
  run(test);
}

// The rounded operands make a difference that is seen, and no larger one.
TEST_F(Blas, Tf32RoundsOperands) {
  Case test;
  test.compute = computeF32FastTF32;
  test.rows = test.columns = test.depth = 1;
  prepare(test);
  float one = 1 + 0x1p-13f, exact = 1;
  driver.cuMemcpyHtoDAsync(at(a.data), &one, 4, stream);
  driver.cuMemcpyHtoDAsync(at(b.data), &exact, 4, stream);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  ASSERT_EQ(multiply(test), blasSuccess);
  EXPECT_EQ(download(reinterpret_cast<float *>(d.data), 1, stream)[0], 1.0f);
}

// A sum that f16 cannot hold on the way.
TEST_F(Blas, AddsUpInF32) {
  Case test;
  test.type = test.resultType = dataF16;
  test.rows = test.columns = 1;
  test.depth = 4096;
  test.alpha = 0x1p-12;
  prepare(test);
  std::vector<uint16_t> large(4096, floatToHalf(64.0f));
  driver.cuMemcpyHtoDAsync(at(a.data), large.data(), 8192, stream);
  driver.cuMemcpyHtoDAsync(at(b.data), large.data(), 8192, stream);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  ASSERT_EQ(multiply(test), blasSuccess);
  EXPECT_EQ(download(reinterpret_cast<uint16_t *>(d.data), 1, stream)[0], floatToHalf(4096.0f));
}

TEST_F(Blas, ChecksSizesOfAttributes) {
  prepare({});
  EXPECT_EQ(set(description, matmulTransposeA, int64_t(0)), blasInvalidValue);
  EXPECT_EQ(set(description, matmulTransposeB, int32_t(2)), blasInvalidValue);
  EXPECT_EQ(set(description, matmulEpilogue, int64_t(1)), blasInvalidValue);
  EXPECT_EQ(set(description, matmulBiasPointer, int32_t(0)), blasInvalidValue);
  EXPECT_EQ(set(description, matmulBiasType, int64_t(0)), blasInvalidValue);
  EXPECT_EQ(set(description, 99, int32_t(0)), blasInvalidValue);
  EXPECT_EQ(blas.cublasLtMatmulDescSetAttribute(description, matmulTransposeA, nullptr, 4),
            blasInvalidValue);
  EXPECT_EQ(set(a.layout, layoutBatchCount, int64_t(1)), blasInvalidValue);
  EXPECT_EQ(set(a.layout, layoutBatchStride, int32_t(1)), blasInvalidValue);
  EXPECT_EQ(set(a.layout, 99, int32_t(1)), blasInvalidValue);
  EXPECT_EQ(set(preference, preferenceMaxWorkspaceBytes, int32_t(1)), blasInvalidValue);
  EXPECT_EQ(set(preference, preferenceReductionScheme, int64_t(1)), blasInvalidValue);
  EXPECT_EQ(set(preference, 99, int32_t(1)), blasInvalidValue);
  EXPECT_EQ(blas.cublasLtMatmulDescCreate(&description, 12345, dataF32), blasInvalidValue);
  EXPECT_EQ(blas.cublasLtMatmulDescCreate(&description, computeF32, 12345), blasInvalidValue);
  EXPECT_EQ(blas.cublasLtMatrixLayoutCreate(&a.layout, 12345, 1, 1, 1), blasInvalidValue);
}

TEST_F(Blas, RefusesTypesThatDoNotGoTogether) {
  auto statusOf = [&](Case test) {
    prepare(test);
    return getHeuristic();
  };
  Case test;
  test.scale = dataF64;
  EXPECT_EQ(statusOf(test), blasNotSupported);
  test = {};
  test.type = dataF16;
  test.resultType = dataBF16;
  EXPECT_EQ(statusOf(test), blasNotSupported);
  test = {};
  test.resultType = dataF16;
  EXPECT_EQ(statusOf(test), blasNotSupported);
  test = {};
  test.type = test.resultType = dataF64;
  EXPECT_EQ(statusOf(test), blasNotSupported);
  test = {};
  test.type = dataF16;
  test.compute = computeF32FastTF32;
  EXPECT_EQ(statusOf(test), blasNotSupported);
  test = {};
  test.compute = computeF64;
  EXPECT_EQ(statusOf(test), blasNotSupported);
  prepare({});
  set(description, matmulEpilogue, unsigned(32));
  EXPECT_EQ(getHeuristic(), blasNotSupported);
  EXPECT_EQ(found, 0);
  prepare({});
  set(description, matmulBiasType, int32_t(dataF16));
  EXPECT_EQ(getHeuristic(), blasNotSupported);
}

TEST_F(Blas, RefusesShapesThatDoNotFit) {
  auto withLayout = [&](Matrix &which, uint64_t rows, uint64_t columns, int64_t leading) {
    prepare({});
    EXPECT_EQ(blas.cublasLtMatrixLayoutCreate(&which.layout, dataF32, rows, columns, leading),
              blasSuccess);
    return getHeuristic();
  };
  EXPECT_EQ(withLayout(a, 13, 300, 13), blasSuccess);
  EXPECT_EQ(withLayout(a, 14, 300, 14), blasInvalidValue);
  EXPECT_EQ(withLayout(a, 13, 299, 13), blasInvalidValue);
  EXPECT_EQ(withLayout(a, 13, 300, 12), blasInvalidValue); // leading dimension
  EXPECT_EQ(withLayout(a, 0, 300, 12), blasInvalidValue);
  EXPECT_EQ(withLayout(b, 300, 10, 300), blasInvalidValue);
  EXPECT_EQ(withLayout(c, 13, 10, 13), blasInvalidValue);
  EXPECT_EQ(withLayout(d, 12, 9, 13), blasInvalidValue);
  prepare({});
  set(b.layout, layoutBatchCount, int32_t(2));
  EXPECT_EQ(getHeuristic(), blasInvalidValue);
  set(b.layout, layoutBatchCount, int32_t(0));
  EXPECT_EQ(getHeuristic(), blasInvalidValue);
  set(b.layout, layoutBatchCount, int32_t(1));
  set(b.layout, layoutBatchStride, int64_t(-1));
  EXPECT_EQ(getHeuristic(), blasInvalidValue);
}

TEST_F(Blas, WorkspaceRespectsThePreference) {
  Case deep;
  deep.depth = 2048;
  prepare(deep);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  EXPECT_EQ(heuristic.workspaceBytes, 0u);
  set(preference, preferenceMaxWorkspaceBytes, uint64_t(1) << 20);
  set(preference, preferenceReductionScheme, unsigned(reductionNone));
  ASSERT_EQ(getHeuristic(), blasSuccess);
  EXPECT_EQ(heuristic.workspaceBytes, 0u);
  set(preference, preferenceReductionScheme, unsigned(reductionComputeType));
  ASSERT_EQ(getHeuristic(), blasSuccess);
  ASSERT_GT(heuristic.workspaceBytes, 0u);
  ASSERT_LE(heuristic.workspaceBytes, uint64_t(1) << 20);
  size_t need = heuristic.workspaceBytes;
  char *workspace = allocate<char>(need);
  EXPECT_EQ(multiply(deep, workspace, need - 1), blasInvalidValue);
  EXPECT_EQ(multiply(deep, nullptr, need), blasInvalidValue);
  EXPECT_EQ(multiply(deep, workspace + 128, need), blasInvalidValue);
  std::vector<char> onHost(need);
  EXPECT_EQ(multiply(deep, onHost.data(), need), blasInvalidValue);
  ASSERT_EQ(multiply(deep, workspace, need), blasSuccess);
  compare(deep);
  // What was in the workspace is gone.
  std::vector<char> kept(need);
  EXPECT_ERROR(driver.cuMemcpyDtoHAsync(kept.data(), at(workspace), need, stream), "never written");
}

TEST_F(Blas, ChoosesItselfWithoutAnAlgorithm) {
  Case test;
  prepare(test);
  float alpha = 1, beta = 0;
  ASSERT_EQ(blas.cublasLtMatmul(handle, description, &alpha, a.data, a.layout, b.data, b.layout,
                                &beta, c.data, c.layout, d.data, d.layout, nullptr, nullptr, 0,
                                stream),
            blasSuccess);
  compare(test);
}

TEST_F(Blas, RefusesAnotherProductsAlgorithm) {
  Case small, large;
  large.depth = 301;
  prepare(large);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  prepare(small);
  EXPECT_EQ(multiply(small), blasInvalidValue);
}

TEST_F(Blas, RefusesWrongPointers) {
  Case test;
  test.bias = true;
  test.beta = 1;
  std::vector<char> onHost(1 << 16);
  for (Matrix *which : {&a, &b, &c, &d}) {
    prepare(test);
    ASSERT_EQ(getHeuristic(), blasSuccess);
    char *good = which->data;
    which->data = nullptr;
    EXPECT_EQ(multiply(test), blasInvalidValue);
    which->data = onHost.data();
    EXPECT_EQ(multiply(test), blasInvalidValue);
    which->data = good + 16; // the last column ends behind the allocation
    EXPECT_EQ(multiply(test), blasInvalidValue);
    which->data = good + 4;
    EXPECT_EQ(multiply(test), blasInvalidValue);
  }
  prepare(test);
  set(description, matmulBiasPointer, static_cast<void *>(onHost.data()));
  EXPECT_EQ(multiply(test), blasInvalidValue);
  prepare(test);
  EXPECT_EQ(blas.cublasLtMatmul(handle, description, nullptr, a.data, a.layout, b.data, b.layout,
                                nullptr, c.data, c.layout, d.data, d.layout, nullptr, nullptr, 0,
                                stream),
            blasInvalidValue);
  float *scale = upload(std::vector<float>{1, 0});
  EXPECT_EQ(blas.cublasLtMatmul(handle, description, scale, a.data, a.layout, b.data, b.layout,
                                scale + 1, c.data, c.layout, d.data, d.layout, nullptr, nullptr, 0,
                                stream),
            blasInvalidValue);
}

TEST_F(Blas, KnowsDestroyedHandles) {
  prepare({});
  ASSERT_EQ(blas.cublasLtMatrixLayoutDestroy(a.layout), blasSuccess);
  EXPECT_EQ(blas.cublasLtMatrixLayoutDestroy(a.layout), blasInvalidValue);
  EXPECT_EQ(getHeuristic(), blasInvalidValue);
  prepare({});
  ASSERT_EQ(blas.cublasLtMatmulDescDestroy(description), blasSuccess);
  EXPECT_EQ(blas.cublasLtMatmulDescDestroy(description), blasInvalidValue);
  EXPECT_EQ(getHeuristic(), blasInvalidValue);
  prepare({});
  ASSERT_EQ(blas.cublasLtMatmulPreferenceDestroy(preference), blasSuccess);
  EXPECT_EQ(blas.cublasLtMatmulPreferenceDestroy(preference), blasInvalidValue);
  EXPECT_EQ(getHeuristic(), blasInvalidValue);
  ASSERT_EQ(blas.cublasLtDestroy(handle), blasSuccess);
  EXPECT_EQ(blas.cublasLtDestroy(handle), blasNotInitialized);
  EXPECT_EQ(getHeuristic(), blasNotInitialized);
  start();
  prepare({});
  ASSERT_EQ(getHeuristic(), blasSuccess);
  ASSERT_EQ(driver.cuStreamDestroy(stream), success);
  EXPECT_EQ(multiply({}), blasInvalidValue);
}

/// An algorithm relies on addresses as its preference says, by itself on multiples of 256.
TEST_F(Blas, RefusesAddressesLessAlignedThanPromised) {
  Case test;
  prepare(test);
  char *whole = allocate<char>(d.elements() * bytesOfType(test.resultType) + 64);
  for (uint32_t alignment : {16u, 64u}) {
    ASSERT_EQ(set(preference, preferenceMinAlignmentA + 3, alignment), blasSuccess);
    ASSERT_EQ(getHeuristic(), blasSuccess);
    d.data = whole + 16;
    EXPECT_EQ(multiply(test), alignment == 16 ? blasSuccess : blasInvalidValue);
    d.data = whole + 64;
    EXPECT_EQ(multiply(test), blasSuccess);
  }
  ASSERT_EQ(set(preference, preferenceMinAlignmentA + 3, 256u), blasSuccess);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  EXPECT_EQ(multiply(test), blasInvalidValue);
  EXPECT_EQ(set(preference, preferenceMinAlignmentA, int64_t(16)), blasInvalidValue);
}

TEST_F(Blas, NoticesOverlap) {
  Case square;
  square.rows = square.columns = square.depth = 16;
  prepare(square);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  d.data = a.data;
  EXPECT_ERROR(multiply(square), "overlaps an operand");
  start();
  Case deep;
  deep.depth = 2048;
  prepare(deep);
  set(preference, preferenceMaxWorkspaceBytes, uint64_t(1) << 20);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  EXPECT_ERROR(multiply(deep, a.data, heuristic.workspaceBytes), "overlaps an operand");
  start();
  prepare(deep);
  set(preference, preferenceMaxWorkspaceBytes, uint64_t(1) << 20);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  d.data = allocate<char>(heuristic.workspaceBytes + d.elements() * bytesOfType(deep.resultType));
  EXPECT_ERROR(multiply(deep, d.data, heuristic.workspaceBytes),
               "its workspace overlaps its result");
}

TEST_F(Blas, ReadsWhatWasNeverWritten) {
  Case test;
  test.beta = 1;
  test.bias = true;
  for (Matrix *which : {&a, &b, &c, &bias}) {
    start();
    prepare(test);
    Matrix &matrix = *which;
    matrix.data = allocate<char>(matrix.elements() * 4);
    set(description, matmulBiasPointer, static_cast<void *>(bias.data));
    ASSERT_EQ(getHeuristic(), blasSuccess);
    ASSERT_EQ(multiply(test), blasSuccess);
    EXPECT_ERROR(driver.cuStreamSynchronize(stream), "cublasLtMatmul of 13 x 9 x 300");
  }
}

TEST_F(Blas, IsOrderedByEvents) {
  Stream copies = createStream();
  float *source = allocatePinned(13 * 300);
  std::memset(source, 0, 13 * 300 * 4);
  prepare({});
  ASSERT_EQ(getHeuristic(), blasSuccess);
  ASSERT_EQ(multiply({}), blasSuccess);
  ASSERT_EQ(driver.cuMemcpyHtoDAsync(at(a.data), source, 13 * 300 * 4, copies), success);
  EXPECT_ERROR((driver.cuStreamSynchronize(copies), driver.cuStreamSynchronize(stream)),
               "no event orders the two");
}

TEST_F(Blas, IsCaptured) {
  Case test;
  prepare(test);
  ASSERT_EQ(getHeuristic(), blasSuccess);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCapture(stream, captureThreadLocal), success);
  ASSERT_EQ(multiply(test), blasSuccess);
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), success);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), success);
  ASSERT_EQ(driver.cuGraphLaunch(exec, stream), success);
  compare(test);
}

TEST_F(Blas, WantsAContext) {
  api = emulatedCuda(nullptr, 0, 1);
  EXPECT_EQ(blas.cublasLtCreate(&handle), blasNotInitialized);
}

} // namespace
