//===- cuda_gemm_test.cpp - Entries of matrix products by the emulated library ----------------===//
//
// All forms of an entry, with integers so small that every type holds every sum exactly.
//
//===------------------------------------------------------------------------------------------===//

#include "EmulatedCudaTest.h"

#include "runtime/Half.h"
#include "runtime/cuda/CudaGemm.h"

using namespace halfstep::tests;

namespace {

constexpr int64_t unused = 99; // between rows, and in results before they are written

std::vector<char> narrowed(uint32_t type, const std::vector<int64_t> &values) {
  std::vector<char> bytes;
  for (int64_t value : values) {
    auto append = [&](auto number) {
      const char *begin = reinterpret_cast<const char *>(&number);
      bytes.insert(bytes.end(), begin, begin + sizeof number);
    };
    if (type == HS_F64)
      append(double(value));
    else if (type == HS_F32)
      append(float(value));
    else
      append(type == HS_F16 ? floatToHalf(float(value)) : floatToBfloat(float(value)));
  }
  return bytes;
}

/// Row-major matrices with two unused elements behind each row and three behind each matrix.
struct Matrices {
  int64_t batch, rows, columns;
  int64_t leading = columns + 2, stride = rows * leading + 3;
  std::vector<int64_t> values = std::vector<int64_t>(size_t(batch * stride), unused);

  Matrices(int64_t batch, int64_t rows, int64_t columns)
      : batch(batch), rows(rows), columns(columns) {}

  int64_t &at(int64_t matrix, int64_t row, int64_t column) {
    return values[size_t(matrix * stride + row * leading + column)];
  }
  /// Fills in numbers from -3 to 3 in an order without symmetries.
  void number(int64_t seed) {
    for (int64_t i = 0; i < batch * rows * columns; ++i)
      at(i / (rows * columns), i / columns % rows, i % columns) = (i * i + seed * i + seed) % 7 - 3;
  }
};

class CudaGemmTest : public EmulatedCudaTest {
protected:
  void expectProduct(uint32_t type, bool transposeA, bool transposeB, bool hasBias, int64_t batch,
                     uint64_t workspaceBytes) {
    const int64_t m = 3, n = 2, k = 4;
    Matrices a = transposeA ? Matrices(batch, k, m) : Matrices(batch, m, k);
    Matrices b = transposeB ? Matrices(batch, n, k) : Matrices(batch, k, n);
    Matrices bias(1, 1, n), c(batch, m, n);
    a.number(1);
    b.number(2);
    bias.number(5);
    std::vector<Matrices *> operands = {&a, &b};
    if (hasBias)
      operands.push_back(&bias);
    operands.push_back(&c);

    std::vector<hs_slice> slices;
    std::vector<Address> buffers;
    for (Matrices *operand : operands) {
      std::vector<char> bytes = narrowed(type, operand->values);
      slices.push_back({HS_BUFFER_ARENA, 256 * slices.size(), bytes.size()});
      buffers.push_back(at(upload(bytes)));
    }
    if (workspaceBytes) {
      slices.push_back({HS_BUFFER_ARENA, 4096, workspaceBytes});
      buffers.push_back(at(allocate<char>(workspaceBytes)));
    }
    hs_gemm gemm{type, type, type,     transposeA, transposeB, hasBias,   batch,     m,
                 n,    k,    a.stride, b.stride,   c.stride,   a.leading, b.leading, c.leading};
    hs_entry entry{HS_GEMM, uint32_t(slices.size()), slices.data(), &gemm, "gemm", "", nullptr};

    for (int64_t matrix = 0; matrix < batch; ++matrix)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          int64_t sum = hasBias ? bias.at(0, 0, j) : 0;
          for (int64_t l = 0; l < k; ++l)
            sum += (transposeA ? a.at(matrix, l, i) : a.at(matrix, i, l)) *
                   (transposeB ? b.at(matrix, j, l) : b.at(matrix, l, j));
          c.at(matrix, i, j) = sum;
        }
    std::vector<char> expected = narrowed(type, c.values);
    DeviceContext context(api, 0);
    Blas library(context);
    CudaGemm(library, entry).run(buffers.data(), nullptr);
    auto *result = reinterpret_cast<const char *>(buffers[hasBias ? 3 : 2]);
    EXPECT_EQ(download(result, expected.size(), nullptr), expected)
        << "type " << type << (transposeA ? ", transposed a" : "")
        << (transposeB ? ", transposed b" : "") << (hasBias ? ", bias" : "") << ", batch " << batch;
  }
};

TEST_F(CudaGemmTest, ComputesEveryForm) {
  for (uint32_t type : {HS_F64, HS_F32, HS_F16, HS_BF16})
    for (int form = 0; form < 8; ++form)
      for (int64_t batch : {1, 2})
        expectProduct(type, form & 1, form & 2, form & 4, batch, form == 0 ? 512 : 0);
}

TEST_F(CudaGemmTest, RefusesWhatTheLibraryLacks) {
  DeviceContext context(api, 0);
  Blas library(context);
  const hs_slice slices[] = {
      {HS_BUFFER_ARENA, 0, 256}, {HS_BUFFER_ARENA, 256, 256}, {HS_BUFFER_ARENA, 512, 256}};
  hs_gemm gemm{HS_F64, HS_F64, HS_F16, 0, 0, 0, 1, 3, 2, 4, 12, 8, 6, 4, 2, 2};
  hs_entry entry{HS_GEMM, 3, slices, &gemm, "gemm", "", nullptr};
  EXPECT_ERROR(CudaGemm(library, entry), "it has no algorithm for a product of 3x4 by 4x2");

  api.blas = {};
  DeviceContext without(api, 0);
  EXPECT_ERROR(Blas{without}, "the step multiplies matrices by cuBLASLt, which is not found");

  api.blas.cublasLtCreate = [](BlasHandle *) { return BlasStatus(blasNotInitialized); };
  DeviceContext broken(api, 0);
  EXPECT_ERROR(Blas{broken}, "cuBLASLt: cublasLtCreate failed with status 1");
}

// Stands in for functions of the emulated library, so that what they are told can be seen.
CublasLt original;
int alive;                                         // handles that are created and not destroyed
std::vector<std::pair<int, uint64_t>> preferences; // attributes and values
int algorithms;                                    // that were asked for
Address usedWorkspace;

TEST_F(CudaGemmTest, TellsTheLibraryWhatItMayUseAndReleasesWhatItMakes) {
  original = blas;
  preferences.clear();
  alive = 0;
  blas.cublasLtCreate = [](BlasHandle *handle) { return ++alive, original.cublasLtCreate(handle); };
  blas.cublasLtDestroy = [](BlasHandle handle) {
    return --alive, original.cublasLtDestroy(handle);
  };
  blas.cublasLtMatmulDescCreate = [](MatmulDescription *description, int compute, int scale) {
    return ++alive, original.cublasLtMatmulDescCreate(description, compute, scale);
  };
  blas.cublasLtMatmulDescDestroy = [](MatmulDescription description) {
    return --alive, original.cublasLtMatmulDescDestroy(description);
  };
  blas.cublasLtMatrixLayoutCreate = [](MatrixLayout *layout, int type, uint64_t rows,
                                       uint64_t columns, int64_t leading) {
    return ++alive, original.cublasLtMatrixLayoutCreate(layout, type, rows, columns, leading);
  };
  blas.cublasLtMatrixLayoutDestroy = [](MatrixLayout layout) {
    return --alive, original.cublasLtMatrixLayoutDestroy(layout);
  };
  blas.cublasLtMatmulPreferenceCreate = [](MatmulPreference *preference) {
    return ++alive, original.cublasLtMatmulPreferenceCreate(preference);
  };
  blas.cublasLtMatmulPreferenceDestroy = [](MatmulPreference preference) {
    return --alive, original.cublasLtMatmulPreferenceDestroy(preference);
  };
  blas.cublasLtMatmulPreferenceSetAttribute = [](MatmulPreference preference, int attribute,
                                                 const void *value, size_t bytes) {
    uint64_t number = 0;
    std::memcpy(&number, value, bytes);
    preferences.push_back({attribute, number});
    return original.cublasLtMatmulPreferenceSetAttribute(preference, attribute, value, bytes);
  };
  blas.cublasLtMatmulAlgoGetHeuristic = [](BlasHandle handle, MatmulDescription description,
                                           MatrixLayout a, MatrixLayout b, MatrixLayout c,
                                           MatrixLayout d, MatmulPreference preference,
                                           int requested, MatmulHeuristic *results, int *found) {
    algorithms = requested;
    return original.cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, c, d, preference,
                                                   requested, results, found);
  };
  blas.cublasLtMatmul = [](BlasHandle, MatmulDescription, const void *, const void *, MatrixLayout,
                           const void *, MatrixLayout, const void *, const void *, MatrixLayout,
                           void *, MatrixLayout, const MatmulAlgorithm *, void *workspace, size_t,
                           Stream) -> BlasStatus {
    usedWorkspace = Address(workspace);
    return blasSuccess;
  };
  for (uint64_t workspace : {0, 512})
    for (bool hasBias : {false, true}) {
      preferences.clear();
      {
        DeviceContext context(api, 0);
        Blas library(context);
        hs_slice slices[] = {{HS_BUFFER_ARENA, 16, 256}, // a
                             {HS_BUFFER_ARENA, 32, 256}, // b
                             {HS_BUFFER_ARENA, 64, 256}, // the bias, or the result
                             {HS_BUFFER_ARENA, 128, 256},
                             {HS_BUFFER_ARENA, 4096, 512}};
        hs_gemm gemm{HS_F32, HS_F32, HS_F32, 0, 0, hasBias, 1, 3, 2, 4, 12, 8, 6, 4, 2, 2};
        uint32_t operands = hasBias ? 4 : 3;
        slices[operands] = {HS_BUFFER_ARENA, 4096, workspace ? workspace : 777};
        hs_entry entry{HS_GEMM, operands + (workspace != 0), slices, &gemm, "gemm", "", nullptr};
        CudaGemm product(library, entry);
        Address buffers[] = {4096, 8192, 12288, 16384, 20480};
        buffers[operands] = 24576;
        product.run(buffers, nullptr);
        EXPECT_EQ(usedWorkspace, workspace ? Address(24576) : 0);
        EXPECT_EQ(alive, 5); // the library, the product's description, three layouts
      }
      EXPECT_EQ(alive, 0);
      EXPECT_EQ(algorithms, 1);
      const uint64_t result = hasBias ? 128 : 64;
      const std::vector<std::pair<int, uint64_t>> expected = {
          {preferenceMaxWorkspaceBytes, workspace},
          {preferenceReductionScheme, reductionNone | reductionComputeType},
          {preferenceMinAlignmentA, 32}, // the library's A is b
          {preferenceMinAlignmentA + 1, 16},
          {preferenceMinAlignmentA + 2, result},
          {preferenceMinAlignmentA + 3, result}};
      EXPECT_EQ(preferences, expected);
    }
}

} // namespace
