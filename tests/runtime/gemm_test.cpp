//===- gemm_test.cpp - Matrix products of all types -------------------------------------------===//
//
// Against sums in double: what is more than the rounding of an f32 sum and one rounding to c's type
// is an error. A second test entry runs this with oneDNN held to AVX2, which lacks 16-bit types.
//
//===------------------------------------------------------------------------------------------===//

#include "EntryTest.h"

#include "runtime/OneDnn.h"
#include "runtime/Types.h"

#include <cmath>

using namespace halfstep::runtime;

namespace {

struct GemmCase {
  int64_t batch, m, n, k;
  bool transposeA = false, transposeB = false;
  bool shareB = false;   // one b for the whole batch
  bool isPacked = false; // else rows are longer than they need be, as slices of tensors are
};

struct Types {
  hs_type a, b, c;
};

// Half a unit in the last place of `type` at `value`.
double halfUnit(uint32_t type, double value) {
  int exponent, digits = type == HS_F16 ? 11 : type == HS_BF16 ? 8 : 24;
  std::frexp(value, &exponent);
  return std::ldexp(0.5, std::max(exponent - digits, type == HS_F16 ? -24 : -149));
}

class Product {
public:
  Product(const GemmCase &shape, Types types, bool hasBias)
      : gemm(describe(shape, types, hasBias)),
        a(draw((shape.transposeA ? shape.k : shape.m) * gemm.lda * shape.batch, types.a, 1)),
        b(draw((shape.transposeB ? shape.n : shape.k) * gemm.ldb * shape.batch, types.b, 2)),
        bias(draw(shape.n, types.c, 3)), shape(shape) {}

  // The bytes of c as the back end computes it.
  std::string run(int threads) const {
    std::vector<std::string> operands = {encode(a, gemm.a_type), encode(b, gemm.b_type)};
    if (gemm.has_bias)
      operands.push_back(encode(bias, gemm.c_type));
    size_t elements = size_t(gemm.c_stride * gemm.batch);
    return runEntry(HS_GEMM, &gemm, operands, elements * elementBytes(hs_type(gemm.c_type)),
                    threads);
  }
  std::vector<double> numbers() const { return decode(run(1), gemm.c_type); }

  // An element of c as a chain of fused multiply-adds in f64, and the sum of its terms' magnitudes.
  struct Expected {
    double value = 0, magnitude = 0;
  };
  Expected expected(int64_t batch, int64_t i, int64_t j) const {
    Expected sum;
    for (int64_t k = 0; k < shape.k; ++k) {
      double left = a[size_t(batch * gemm.a_stride +
                             (shape.transposeA ? k * gemm.lda + i : i * gemm.lda + k))];
      double right = b[size_t(batch * gemm.b_stride +
                              (shape.transposeB ? j * gemm.ldb + k : k * gemm.ldb + j))];
      sum.value = std::fma(left, right, sum.value);
      sum.magnitude += std::abs(left * right);
    }
    if (gemm.has_bias) {
      sum.value += bias[size_t(j)];
      sum.magnitude += std::abs(bias[size_t(j)]);
    }
    return sum;
  }

  // Calls `visit(element of c, batch, row, column)` for some rows, also behind the last column.
  template <typename Visitor> void forElements(Visitor visit) const {
    for (int64_t batch = 0; batch < gemm.batch; ++batch)
      for (int64_t i = 0; i < gemm.m; i += 1 + gemm.m / 40)
        for (int64_t j = 0; j < gemm.ldc; ++j)
          visit(size_t(batch * gemm.c_stride + i * gemm.ldc + j), batch, i, j);
  }

  void check() {
    SCOPED_TRACE(testing::Message()
                 << safetensorsName(hs_type(gemm.a_type)) << " and "
                 << safetensorsName(hs_type(gemm.b_type)) << " into "
                 << safetensorsName(hs_type(gemm.c_type)) << (gemm.has_bias ? " with bias" : ""));
    std::string bytes = run(1);
    std::vector<double> computed = decode(bytes, gemm.c_type);
    double beyond =
        decode(std::string(elementBytes(hs_type(gemm.c_type)), unwritten), gemm.c_type)[0];
    // The error of a sum of k terms in any order grows as sqrt(k) units of rounding, with a
    // constant of about 1 (Higham, Mary: A new approach to probabilistic rounding error analysis,
    // 2019).
    double sumError = 2 * std::sqrt(double(shape.k)) * 0x1p-24;
    forElements([&](size_t element, int64_t batch, int64_t i, int64_t j) {
      if (j >= gemm.n) {
        EXPECT_EQ(computed[element], beyond) << "beyond the row";
        return;
      }
      Expected wanted = expected(batch, i, j);
      double error = sumError * wanted.magnitude;
      error += halfUnit(gemm.c_type, std::abs(wanted.value) + error);
      EXPECT_NEAR(computed[element], wanted.value, error) << i << ' ' << j;
    });
    for (int threads : {2, 3, 4})
      EXPECT_TRUE(run(threads) == bytes) << threads << " threads";
  }

  hs_gemm gemm;
  std::vector<double> a, b, bias; // numbers of their types

private:
  static hs_gemm describe(const GemmCase &shape, Types types, bool hasBias) {
    int64_t padding = shape.isPacked ? 0 : 1;
    hs_gemm gemm{};
    gemm.a_type = types.a, gemm.b_type = types.b, gemm.c_type = types.c;
    gemm.transpose_a = shape.transposeA, gemm.transpose_b = shape.transposeB;
    gemm.has_bias = hasBias;
    gemm.batch = shape.batch, gemm.m = shape.m, gemm.n = shape.n, gemm.k = shape.k;
    gemm.lda = (shape.transposeA ? shape.m : shape.k) + 3 * padding;
    gemm.ldb = (shape.transposeB ? shape.k : shape.n) + 5 * padding;
    gemm.ldc = shape.n + padding;
    gemm.a_stride = (shape.transposeA ? shape.k : shape.m) * gemm.lda;
    gemm.b_stride = shape.shareB ? 0 : (shape.transposeB ? shape.n : shape.k) * gemm.ldb;
    gemm.c_stride = shape.m * gemm.ldc;
    return gemm;
  }

  GemmCase shape;
};

//===------------------------------------------------------------------------------------------===//
// All shapes
//===------------------------------------------------------------------------------------------===//

class Gemm : public testing::TestWithParam<GemmCase> {};

TEST_P(Gemm, F32) { Product(GetParam(), {HS_F32, HS_F32, HS_F32}, false).check(); }
TEST_P(Gemm, F16) { Product(GetParam(), {HS_F16, HS_F16, HS_F16}, true).check(); }
TEST_P(Gemm, BF16) { Product(GetParam(), {HS_BF16, HS_BF16, HS_BF16}, true).check(); }

TEST_P(Gemm, F32BiasIsASumOfItsOwn) {
  Product product(GetParam(), {HS_F32, HS_F32, HS_F32}, true);
  std::vector<double> biased = product.numbers();
  product.gemm.has_bias = 0;
  std::vector<double> plain = product.numbers();
  product.forElements([&](size_t element, int64_t, int64_t, int64_t j) {
    if (j < product.gemm.n)
      EXPECT_EQ(float(biased[element]), float(plain[element]) + float(product.bias[size_t(j)]));
  });
}

TEST_P(Gemm, F64IsAnAscendingChain) {
  GemmCase shape = GetParam();
  shape.k = std::min<int64_t>(shape.k, 300);
  for (bool hasBias : {false, true}) {
    Product product(shape, {HS_F64, HS_F64, HS_F64}, hasBias);
    std::string bytes = product.run(1);
    std::vector<double> computed = decode(bytes, HS_F64);
    product.forElements([&](size_t element, int64_t batch, int64_t i, int64_t j) {
      if (j < product.gemm.n)
        EXPECT_EQ(computed[element], product.expected(batch, i, j).value);
    });
    EXPECT_TRUE(product.run(3) == bytes);
  }
}

std::vector<GemmCase> gemmCases() {
  std::vector<GemmCase> cases;
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (GemmCase shape :
           {GemmCase{1, 64, 64, 128}, GemmCase{1, 128, 64, 64}, GemmCase{1, 1, 1, 1},
            GemmCase{1, 7, 21, 5}, GemmCase{1, 200, 1, 64}, GemmCase{1, 300, 170, 190},
            GemmCase{1, 1100, 24, 70}, GemmCase{1, 32, 32, 20000}, GemmCase{5, 33, 20, 17},
            GemmCase{70, 16, 16, 64}, GemmCase{3, 128, 96, 200, false, false, true},
            GemmCase{40, 16, 24, 32, false, false, true},
            GemmCase{1, 64, 256, 64, false, false, false, true},
            GemmCase{1, 300, 170, 1900, false, false, false, true},
            GemmCase{4, 33, 20, 170, false, false, false, true}}) {
        shape.transposeA = transposeA;
        shape.transposeB = transposeB;
        cases.push_back(shape);
      }
  return cases;
}

std::string caseName(const testing::TestParamInfo<GemmCase> &info) {
  const GemmCase &shape = info.param;
  return std::to_string(shape.batch) + "x" + std::to_string(shape.m) + "x" +
         std::to_string(shape.n) + "x" + std::to_string(shape.k) + (shape.transposeA ? "_ta" : "") +
         (shape.transposeB ? "_tb" : "") + (shape.shareB ? "_shared" : "") +
         (shape.isPacked ? "_packed" : "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, Gemm, testing::ValuesIn(gemmCases()), caseName);

//===------------------------------------------------------------------------------------------===//
// Types and blocks
//===------------------------------------------------------------------------------------------===//

TEST(GemmTypes, AnyThreeGoTogether) {
  const hs_type types[] = {HS_F16, HS_BF16, HS_F32};
  for (hs_type a : types)
    for (hs_type b : types)
      for (hs_type c : types)
        for (bool hasBias : {false, true})
          Product({2, 33, 20, 65, false, true}, {a, b, c}, hasBias).check();
}

void fill(std::vector<double> &numbers, double value) {
  std::fill(numbers.begin(), numbers.end(), value);
}

TEST(GemmTypes, SumsAreNotRoundedAndNothingOverflowsInBetween) {
  // In f16, 2048 + 1 is 2048, and 60000 + 60000 is infinite.
  for (hs_type type : {HS_F16, HS_BF16}) {
    Product product({1, 64, 64, 64}, {type, type, type}, true);
    fill(product.a, 1);
    fill(product.b, 32.5);
    fill(product.bias, -2080);
    EXPECT_EQ(product.numbers()[0], 0);
  }
  Product product({1, 64, 64, 64}, {HS_F16, HS_F16, HS_F16}, true);
  fill(product.a, 1);
  fill(product.b, 1024);
  fill(product.bias, -60000);
  EXPECT_EQ(product.numbers()[0], 5536);
  fill(product.bias, 0);
  EXPECT_EQ(product.numbers()[0], INFINITY);
}

TEST(GemmBlock, LargeProductsAreCutAndSmallOnesAreNot) {
  auto block = [](int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    hs_gemm gemm{};
    gemm.transpose_a = ta, gemm.transpose_b = tb;
    gemm.batch = batch, gemm.m = m, gemm.n = n, gemm.k = k;
    return chooseGemmBlock(gemm);
  };
  auto count = [&](int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    GemmBlock cut = block(1, m, n, k, ta, tb);
    EXPECT_EQ(cut.batch, 1);
    return ((m + cut.rows - 1) / cut.rows) * ((n + cut.columns - 1) / cut.columns);
  };
  EXPECT_EQ(count(64, 64, 64, false, false), 1);
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      EXPECT_GE(count(1024, 1024, 1024, ta, tb), 4) << ta << tb;
      EXPECT_LE(count(8192, 8192, 1024, ta, tb), 64) << ta << tb;
    }
  // Small matrices go together; a batch is not cut twice.
  EXPECT_EQ(block(1000, 16, 16, 16, false, false).batch, 129);
  EXPECT_EQ(block(2, 16, 16, 16, false, false).batch, 2);
  EXPECT_EQ(block(64, 256, 256, 256, false, false).rows, 256);
}

// Scratch memory does not grow with the product, whatever its types and however long its sides.
TEST(GemmBlock, ScratchMemoryIsBounded) {
  for (hs_type type : {HS_F32, HS_F16, HS_BF16})
    for (auto [batch, m, n, k] : {std::array<int64_t, 4>{1, 10000, 65536, 1},
                                  {1, 65536, 10000, 64},
                                  {1, 64, 100000, 64},
                                  {1, 100000, 64, 3},
                                  {1, 2000, 2000, 65536},
                                  {1000000, 1, 1, 1},
                                  {5000, 3, 7, 2}})
      for (bool transposed : {false, true}) {
        hs_gemm gemm{};
        gemm.a_type = gemm.b_type = gemm.c_type = type;
        gemm.batch = batch, gemm.m = m, gemm.n = n, gemm.k = k;
        gemm.a_stride = m * k, gemm.b_stride = k * n, gemm.c_stride = m * n;
        gemm.transpose_a = gemm.transpose_b = transposed;
        gemm.lda = transposed ? m : k, gemm.ldb = transposed ? k : n, gemm.ldc = n;
        SCOPED_TRACE(testing::Message() << type << ": " << batch << " x " << m << " x " << n
                                        << " x " << k << ", transposed " << transposed);
        EXPECT_LE(scratchBytes(HS_GEMM, &gemm), type == HS_F32 ? 0u : 2u << 20);
        OneDnn oneDnn(2);
        OneDnnGemm product(oneDnn, oneDnn.scratch, gemm);
        EXPECT_LE(oneDnn.scratch.bytes(), 2u << 20);
      }
}

} // namespace
