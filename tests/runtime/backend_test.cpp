//===- backend_test.cpp - Walking tables on one and several threads ---------------------------===//

#include "Models.h"

#include "runtime/CpuBackend.h"
#include "runtime/CpuKernels.h"

#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <thread>

using namespace halfstep::runtime;

namespace {

//===------------------------------------------------------------------------------------------===//
// The thread pool
//===------------------------------------------------------------------------------------------===//

// Counts visits of each unit in buffer 0 and notes ranges in buffer 1.
struct Ranges {
  std::atomic<int> count{0};
  std::set<int> workers;
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
};

void countVisits(void *const *buffers, int64_t lo, int64_t hi) {
  auto *visits = static_cast<int *>(buffers[0]);
  auto *ranges = static_cast<Ranges *>(buffers[1]);
  for (int64_t i = lo; i < hi; ++i)
    ++visits[i];
  ++ranges->count;
  while (ranges->lock.test_and_set()) {
  }
  ranges->workers.insert(ThreadPool::workerIndex());
  ranges->lock.clear();
}

TEST(ThreadPool, CoversEveryUnitOnce) {
  for (int threads : {1, 2, 3, 4})
    for (int64_t units : {1, 2, 3, 5, 64, 1000, 1001}) {
      ThreadPool pool(threads);
      pool.start();
      std::vector<int> visits(size_t(units), 0);
      Ranges ranges;
      void *buffers[] = {visits.data(), &ranges};
      pool.run(countVisits, buffers, units, threads);
      EXPECT_EQ(visits, std::vector<int>(size_t(units), 1)) << threads << " threads";
      EXPECT_EQ(ranges.count, threads);
      EXPECT_EQ(*ranges.workers.rbegin(), threads - 1);
    }
  EXPECT_EQ(ThreadPool::workerIndex(), 0);
}

TEST(ThreadPool, RunsOnTheCallerUntilItIsStarted) {
  std::vector<int> visits(10, 0);
  Ranges ranges;
  void *buffers[] = {visits.data(), &ranges};
  ThreadPool(4).run(countVisits, buffers, 10, 4);
  EXPECT_EQ(visits, std::vector<int>(10, 1));
  EXPECT_EQ(ranges.count, 1);
}

TEST(ThreadPool, ServesTwoHostsAtOnce) {
  auto work = [] {
    ThreadPool pool(2);
    pool.start();
    for (int i = 0; i < 200; ++i) {
      std::vector<int> visits(100, 0);
      Ranges ranges;
      void *buffers[] = {visits.data(), &ranges};
      pool.run(countVisits, buffers, 100, 2);
      ASSERT_EQ(visits, std::vector<int>(100, 1));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

//===------------------------------------------------------------------------------------------===//
// Tables
//===------------------------------------------------------------------------------------------===//

// An artefact of one program, over 4 KiB of state and of arena and one input of 256 bytes.
struct Table {
  std::vector<hs_entry> entries;
  hs_tensor input{};
  hs_artefact artefact{};

  Table() {
    input.name = "x";
    input.slice = {HS_BUFFER_INPUTS, 0, 256};
    artefact.input_count = 1;
    artefact.inputs = &input;
    artefact.state_bytes = artefact.arena_bytes = 4096;
  }

  void add(hs_entry_kind kind, const std::vector<hs_slice> &slices, const void *detail = nullptr) {
    entries.push_back(
        {uint32_t(kind), uint32_t(slices.size()), slices.data(), detail, "entry", ""});
  }

  CpuBackend backend(int threads = 1) {
    artefact.programs[HS_MICRO] = {entries.size(), entries.data()};
    return CpuBackend("test", artefact, threads);
  }
};

const hs_slice stateWord = {HS_BUFFER_STATE, 64, 8}, arenaWord = {HS_BUFFER_ARENA, 128, 8},
               inputWord = {HS_BUFFER_INPUTS, 16, 8};

// buffer 0 = 10 * buffer 0 + buffer 1
void appendDigit(void *const *buffers, int64_t, int64_t) {
  auto *target = static_cast<int64_t *>(buffers[0]);
  *target = 10 * *target + *static_cast<const int64_t *>(buffers[1]);
}

TEST(CpuBackend, RunsEntriesInOrderAndRebindsInputs) {
  Table table;
  const hs_launch launch = {appendDigit, 1, 1};
  const std::vector<hs_slice> copy = {arenaWord, inputWord}, append = {stateWord, arenaWord},
                              appendInput = {stateWord, inputWord};
  table.add(HS_COPY, copy);
  table.add(HS_LAUNCH, append, &launch);
  table.add(HS_LAUNCH, appendInput, &launch);
  CpuBackend backend = table.backend();

  int64_t first[32] = {0, 0, 3}, second[32] = {0, 0, 7};
  backend.bindInput(0, first);
  backend.run(HS_MICRO);
  backend.bindInput(0, second);
  backend.run(HS_MICRO);
  EXPECT_EQ(*reinterpret_cast<int64_t *>(backend.address(stateWord)), 3377);
  backend.run(HS_UPDATE); // empty
  backend.clearState();
  EXPECT_EQ(*reinterpret_cast<int64_t *>(backend.address(stateWord)), 0);
}

TEST(CpuBackend, AsksForInputsThatAProgramReads) {
  Table table;
  const std::vector<hs_slice> copy = {arenaWord, inputWord};
  table.add(HS_COPY, copy);
  table.add(HS_COPY, copy);
  CpuBackend backend = table.backend();
  backend.run(HS_UPDATE);
  EXPECT_ERROR(backend.run(HS_MICRO), "test: input 'x' has no data");
  int64_t data[32] = {};
  backend.bindInput(0, data);
  backend.bindInput(0, data);
  backend.run(HS_MICRO);
}

TEST(CpuBackend, RefusesSlicesOutsideTheirBuffer) {
  for (hs_slice slice :
       {hs_slice{HS_BUFFER_STATE, 4096, 8}, hs_slice{HS_BUFFER_ARENA, 0, 4097},
        hs_slice{HS_BUFFER_STATE, UINT64_MAX, 8}, hs_slice{HS_BUFFER_INPUTS, 252, 8},
        hs_slice{HS_BUFFER_INPUTS + 1, 0, 8}}) {
    Table table;
    const std::vector<hs_slice> fill = {slice};
    table.add(HS_FILL, fill);
    EXPECT_ERROR(table.backend(), "entry 'entry' reaches outside its buffer");
  }
  Table table;
  const std::vector<hs_slice> none;
  table.add(hs_entry_kind(99), none);
  EXPECT_ERROR(table.backend(), "unknown kind");
}

TEST(CpuBackend, CopiesAndFillsAnySizeOnAnyThreads) {
  for (uint64_t bytes : {uint64_t(1), uint64_t(4096), uint64_t(1000003)})
    for (int threads : {1, 2, 3}) {
      Table table;
      const hs_slice source = {HS_BUFFER_STATE, 0, bytes}, target = {HS_BUFFER_ARENA, 64, bytes};
      const std::vector<hs_slice> copy = {target, source}, fill = {source};
      table.artefact.state_bytes = table.artefact.arena_bytes = bytes + 128;
      table.add(HS_COPY, copy);
      table.add(HS_FILL, fill);
      CpuBackend backend = table.backend(threads);
      char *in = backend.address(source), *out = backend.address(target) - 64;
      for (uint64_t i = 0; i < bytes + 128; ++i)
        in[i] = char(i * 7 + 1);
      backend.run(HS_MICRO);
      for (uint64_t i = 0; i < bytes + 128; ++i) {
        bool isInside = i >= 64 && i < 64 + bytes;
        ASSERT_EQ(out[i], isInside ? char((i - 64) * 7 + 1) : 0) << i;
        ASSERT_EQ(in[i], i < bytes ? 0 : char(i * 7 + 1)) << i;
      }
    }
}

TEST(CpuBackend, SharesOnlyWorkThatIsWorthIt) {
  for (int64_t units : {1, 7, 8, 100}) {
    Table table;
    const hs_launch launch = {countVisits, units, 4};
    const hs_slice visits = {HS_BUFFER_STATE, 0, 4096}, notes = {HS_BUFFER_INPUTS, 0, 256};
    const std::vector<hs_slice> slices = {visits, notes};
    table.add(HS_LAUNCH, slices, &launch);
    CpuBackend backend = table.backend(2);
    Ranges ranges;
    backend.bindInput(0, &ranges);
    backend.run(HS_MICRO);
    EXPECT_EQ(ranges.count, units >= 8 ? 2 : 1) << units;
  }
}

//===------------------------------------------------------------------------------------------===//
// Matrix products
//===------------------------------------------------------------------------------------------===//

struct GemmCase {
  int64_t batch, m, n, k;
  bool transposeA = false, transposeB = false;
  bool shareB = false; // one b for the whole batch
};

template <typename T> class Product {
public:
  explicit Product(const GemmCase &shape) : shape(shape) {
    uint32_t type = sizeof(T) == 8 ? HS_F64 : HS_F32;
    // Rows are longer than they need be, as slices of larger tensors are.
    int64_t lda = (shape.transposeA ? shape.m : shape.k) + 3;
    int64_t ldb = (shape.transposeB ? shape.k : shape.n) + 5, ldc = shape.n + 1;
    int64_t sizeA = (shape.transposeA ? shape.k : shape.m) * lda;
    int64_t sizeB = (shape.transposeB ? shape.n : shape.k) * ldb, sizeC = shape.m * ldc;
    gemm = {type,
            type,
            type,
            shape.transposeA,
            shape.transposeB,
            shape.batch,
            shape.m,
            shape.n,
            shape.k,
            sizeA,
            shape.shareB ? 0 : sizeB,
            sizeC,
            lda,
            ldb,
            ldc};
    std::minstd_rand random(1);
    std::uniform_real_distribution<T> uniform(-1, 1);
    a.resize(size_t(sizeA * shape.batch));
    b.resize(size_t(sizeB * shape.batch));
    c.resize(size_t(sizeC * shape.batch));
    for (T &value : a)
      value = uniform(random);
    for (T &value : b)
      value = uniform(random);
  }

  // c as the back end computes it.
  std::vector<T> run(int threads) {
    std::vector<T> result(c.size(), T(-77));
    hs_tensor inputs[3] = {};
    std::vector<hs_slice> slices;
    const std::vector<T> *buffers[] = {&a, &b, &result};
    for (uint64_t i = 0; i < 3; ++i) {
      inputs[i].slice = {HS_BUFFER_INPUTS + i, 0, buffers[i]->size() * sizeof(T)};
      slices.push_back(inputs[i].slice);
    }
    hs_entry entry = {HS_GEMM, 3, slices.data(), &gemm, "gemm", ""};
    hs_artefact artefact{};
    artefact.input_count = 3;
    artefact.inputs = inputs;
    artefact.programs[HS_MICRO] = {1, &entry};
    CpuBackend backend("test", artefact, threads);
    for (size_t i = 0; i < 3; ++i)
      backend.bindInput(i, buffers[i]->data());
    backend.run(HS_MICRO);
    return result;
  }

  // An element of c as a chain of fused multiply-adds in f64, and the sum of its terms' magnitudes.
  struct Expected {
    double value = 0, magnitude = 0;
  };
  Expected expected(int64_t batch, int64_t i, int64_t j) const {
    Expected sum;
    for (int64_t k = 0; k < shape.k; ++k) {
      int64_t indexA = shape.transposeA ? k * gemm.lda + i : i * gemm.lda + k;
      int64_t indexB = shape.transposeB ? j * gemm.ldb + k : k * gemm.ldb + j;
      double left = a[size_t(batch * gemm.a_stride + indexA)];
      double right = b[size_t(batch * gemm.b_stride + indexB)];
      sum.value = std::fma(left, right, sum.value);
      sum.magnitude += std::abs(left * right);
    }
    return sum;
  }

  GemmCase shape;
  hs_gemm gemm;
  std::vector<T> a, b, c;
};

class Gemm : public testing::TestWithParam<GemmCase> {};

TEST_P(Gemm, F32IsRightWithTheSameBitsForAnyThreads) {
  Product<float> product(GetParam());
  std::vector<float> one = product.run(1);
  // The error of a sum of k terms in any order grows as sqrt(k) units of rounding, with a constant
  // of about 1 (Higham, Mary: A new approach to probabilistic rounding error analysis, 2019).
  double tolerance = 2 * std::sqrt(double(GetParam().k)) * 0x1p-24;
  const hs_gemm &gemm = product.gemm;
  for (int64_t batch = 0; batch < gemm.batch; ++batch)
    for (int64_t i = 0; i < gemm.m; i += 1 + gemm.m / 40)
      for (int64_t j = 0; j < gemm.ldc; ++j) {
        double value = one[size_t(batch * gemm.c_stride + i * gemm.ldc + j)];
        if (j == gemm.n) {
          ASSERT_EQ(value, -77) << "beyond the row";
          continue;
        }
        auto expected = product.expected(batch, i, j);
        ASSERT_NEAR(value, expected.value, tolerance * expected.magnitude) << i << ' ' << j;
      }
  for (int threads : {2, 3, 4})
    EXPECT_TRUE(product.run(threads) == one) << threads << " threads";
}

TEST_P(Gemm, F64IsAnAscendingChain) {
  GemmCase shape = GetParam();
  shape.k = std::min<int64_t>(shape.k, 300);
  Product<double> product(shape);
  std::vector<double> one = product.run(1);
  const hs_gemm &gemm = product.gemm;
  for (int64_t batch = 0; batch < gemm.batch; ++batch)
    for (int64_t i = 0; i < gemm.m; i += 1 + gemm.m / 40)
      for (int64_t j = 0; j < gemm.n; ++j)
        ASSERT_EQ(one[size_t(batch * gemm.c_stride + i * gemm.ldc + j)],
                  product.expected(batch, i, j).value);
  EXPECT_TRUE(product.run(3) == one);
}

std::vector<GemmCase> gemmCases() {
  std::vector<GemmCase> cases;
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (GemmCase shape :
           {GemmCase{1, 64, 64, 128}, GemmCase{1, 128, 64, 64}, GemmCase{1, 1, 1, 1},
            GemmCase{1, 7, 21, 5}, GemmCase{1, 200, 1, 64}, GemmCase{1, 300, 170, 190},
            GemmCase{1, 32, 32, 20000}, GemmCase{5, 33, 20, 17}, GemmCase{70, 16, 16, 64},
            GemmCase{3, 128, 96, 200, false, false, true},
            GemmCase{40, 16, 24, 32, false, false, true}}) {
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
         (shape.transposeB ? "_tb" : "") + (shape.shareB ? "_shared" : "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, Gemm, testing::ValuesIn(gemmCases()), caseName);

TEST(Gemm, LargeProductsAreCutAndSmallOnesAreNot) {
  auto block = [](int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    hs_gemm gemm = {HS_F32, HS_F32, HS_F32, ta, tb, batch, m, n, k, m * k, k * n, m * n, 0, 0, 0};
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

} // namespace
