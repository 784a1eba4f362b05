//===- memory_report_test.cpp - Where the memory of a planned module goes -===//

#include "PassTest.h"
#include "passes/MemoryReport.h"
#include "llvm/Support/JSON.h"

using namespace halfstep;

namespace {

// %relu takes over the bytes of %h; %dw is in state; @update needs less than @micro.
const char *const kPlanned = R"(
module attributes {halfstep.state_bytes = 512 : i64, halfstep.arena_bytes = 576 : i64, halfstep.scratch_bytes = 0 : i64,
                   halfstep.input_slots = 2 : i64} {
  table.tensor parameter "w" : tensor<4x8xf32> {slice = #table.slice<0, 0, 128>, trainable}
  table.tensor gradient "w" : tensor<4x8xf32> {slice = #table.slice<0, 128, 128>}
  table.tensor optimizer "momentum/w" : tensor<4x8xf32> {slice = #table.slice<0, 256, 128>}
  table.tensor counter "iteration" : tensor<f64> {slice = #table.slice<0, 384, 8>}
  table.tensor hyperparameter "lr" : tensor<f64> {slice = #table.slice<0, 448, 8>}
  table.tensor input "x" : tensor<3x8xf32> {slice = #table.slice<2, 0, 96>}
  table.tensor label "label" : tensor<3xi64> {slice = #table.slice<3, 0, 24>}
  kernel.group @relu [12](%x: f32[1]) -> (%x) {
    kernel.yield %x : f32
  }
  func.func @update() {
    %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
    return
  }
  func.func @micro(%x: tensor<3x8xf32> {train.input = "x"},
                   %w: tensor<4x8xf32> {train.parameter = "w"})
      -> (tensor<4x8xf32> {train.gradient = "w"}) {
    %h = table.gemm %x, %w {transB, slices = [#table.slice<2, 0, 96>, #table.slice<0, 0, 128>,
        #table.slice<1, 0, 48>]} : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
        loc("first")
    %relu = table.launch @relu(%h) {slices = [#table.slice<1, 0, 48>, #table.slice<1, 0, 48>]}
        : (tensor<3x4xf32>) -> tensor<3x4xf32> loc(fused["second", "third"])
    %view = table.alias %relu : (tensor<3x4xf32>) -> tensor<12xf32>
    %other = table.copy %view {slices = [#table.slice<1, 0, 48>, #table.slice<1, 64, 48>]}
        : (tensor<12xf32>) -> tensor<12xf32>
    %dw = table.gemm %relu, %x {transA, slices = [#table.slice<1, 0, 48>, #table.slice<2, 0, 96>,
        #table.slice<0, 128, 128>]} : (tensor<3x4xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    return %dw : tensor<4x8xf32>
  }
}
)";

class MemoryReportTest : public test::PassTest {
protected:
  void SetUp() override {
    ASSERT_TRUE(parse(kPlanned)) << errors;
    report = MemoryReport::of(*module, /*threads=*/3);
  }

  MemoryReport report;
};

std::string str(const MemorySlice &s) {
  return s.name + " " + s.memoryClass + " " + s.type + " " + std::to_string(s.offset) + "+" +
         std::to_string(s.bytes) + " [" + std::to_string(s.first) + "," + std::to_string(s.last) +
         "]" + (s.node.empty() ? "" : " of " + s.node);
}

} // namespace

TEST_F(MemoryReportTest, Slices) {
  // @micro comes first whatever the order in the module: entries 0 to 3, its end 4; @update 5
  // and 6.
  const char *expected[] = {
      "micro/0/gemm activations 3x4xf32 512+48 [0,0] of first",
      "micro/1/relu activations 3x4xf32 512+48 [1,3] of second, third",
      "micro/2/copy activations 12xf32 576+48 [2,2]",
      "update/0/zero workspace 16xf32 512+64 [5,5]",
      "w parameters 4x8xf32 0+128 [0,6]",
      "w gradients 4x8xf32 128+128 [0,6]",
      "momentum/w optimizer 4x8xf32 256+128 [0,6]",
      "iteration state f64 384+8 [0,6]",
      "lr state f64 448+8 [0,6]",
      "label inputs 3xi64 640+24 [0,6]",
      "label:1 inputs 3xi64 704+24 [0,6]",
      "x inputs 3x8xf32 1088+96 [0,6]",
      "x:1 inputs 3x8xf32 1216+96 [0,6]",
  };
  ASSERT_EQ(report.slices.size(), std::size(expected));
  for (size_t i = 0; i < report.slices.size(); ++i)
    EXPECT_EQ(str(report.slices[i]), expected[i]);
}

TEST_F(MemoryReportTest, NoTwoLiveSlicesOverlap) {
  for (const MemorySlice &a : report.slices)
    for (const MemorySlice &b : report.slices)
      if (&a != &b && a.first <= b.last && b.first <= a.last) {
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << str(a) << " and " << str(b);
      }
}

TEST_F(MemoryReportTest, Totals) {
  std::map<std::string, uint64_t> classes(report.classes.begin(), report.classes.end());
  EXPECT_EQ(classes, (std::map<std::string, uint64_t>{{"parameters", 128},
                                                      {"masters", 0},
                                                      {"half_copies", 0},
                                                      {"gradients", 128},
                                                      {"optimizer", 128},
                                                      {"state", 16},
                                                      {"activations", 96},
                                                      {"workspace", 64},
                                                      {"inputs", 240},
                                                      {"scratch", 0}}));
  EXPECT_EQ(report.peakBytes, 1216u + 96u);
  EXPECT_EQ(report.fragmentation, 576u - 96u);
  EXPECT_EQ(report.liveAtPeak, (std::vector<unsigned>{1, 2}));
}

TEST_F(MemoryReportTest, Json) {
  auto json = llvm::cantFail(llvm::json::parse(report.toJson()));
  const llvm::json::Object &object = *json.getAsObject();
  EXPECT_EQ(object.getInteger("version"), 1);
  EXPECT_EQ(object.getInteger("peak_bytes"), 1312);
  EXPECT_EQ(*object.getArray("live_at_peak"), (llvm::json::Array{"micro/1/relu", "micro/2/copy"}));
  EXPECT_EQ(object.getObject("classes")->getInteger("inputs"), 240);
  llvm::json::Object relu{{"name", "micro/1/relu"},
                          {"node", "second, third"},
                          {"class", "activations"},
                          {"type", "3x4xf32"},
                          {"offset", 512},
                          {"bytes", 48},
                          {"first", 1},
                          {"last", 3}};
  EXPECT_EQ((*object.getArray("slices"))[1], llvm::json::Value(std::move(relu)));
}

/// A run trains or infers: the output lies where the label does, whichever is larger.
TEST_F(MemoryReportTest, ARunHasLabelsOrOutputs) {
  const std::string attributes =
      "module attributes {halfstep.state_bytes = 0 : i64, halfstep.arena_bytes = 256 : i64, "
      "halfstep.scratch_bytes = 0 : i64, halfstep.input_slots = 1 : i64} {\n"
      "table.tensor input \"x\" : tensor<16xf32> {slice = #table.slice<2, 0, 64>}\n";
  const std::string programs = R"(
    func.func @micro() {
      %0 = table.zero {slices = [#table.slice<1, 0, 64>]} : tensor<16xf32>
      return
    }
    func.func @infer() {
      %0 = table.zero {slices = [#table.slice<1, 0, 256>]} : tensor<64xf32>
      return
    }
  })";
  for (auto [elements, peak] : {std::pair(16, 320u), {1024, 64u + 4096u + 64u}}) {
    const std::string count = std::to_string(elements);
    ASSERT_TRUE(parse(attributes + "table.tensor label \"label\" : tensor<" + count +
                      "xf32> {slice = #table.slice<3, 0, " + std::to_string(4 * elements) + ">}" +
                      programs))
        << errors;
    report = MemoryReport::of(*module, /*threads=*/1);
    EXPECT_EQ(report.peakBytes, peak);
    EXPECT_EQ(str(report.slices[1]), "infer/0/zero activations 64xf32 0+256 [2,2]");
    EXPECT_EQ(str(report.slices[2]),
              "label inputs " + count + "xf32 64+" + std::to_string(4 * elements) + " [0,1]");
    EXPECT_EQ(str(report.slices[3]), "x inputs 16xf32 " + std::to_string(peak - 64) + "+64 [0,3]");
  }
}

/// A module whose one entry is a weight gradient of a number of partial sums.
static std::string weightGradient(const std::string &parts, const std::string &scratchBytes) {
  return "module attributes {halfstep.state_bytes = 0 : i64, "
         "halfstep.arena_bytes = 384 : i64, halfstep.input_slots = 1 : i64, "
         "halfstep.scratch_bytes = " +
         scratchBytes +
         " : i64} {\n"
         "func.func @micro(%dy: tensor<2x4x3xf32>, %x: tensor<2x2x5xf32>) {\n"
         "%dw = table.conv weight_gradient %dy, %x {strides = array<i64: 1>, "
         "dilations = array<i64: 1>, pads = array<i64: 0, 0>, groups = 1 : i64, "
         "slices = [#table.slice<2, 0, 96>, #table.slice<3, 0, 80>, "
         "#table.slice<1, 0, 288>]} : (tensor<2x4x3xf32>, tensor<2x2x5xf32>) -> "
         "tensor<" +
         parts + "x4x2x3xf32> loc(\"dw\")\nreturn\n}\n}";
}

class WeightGradientReport : public test::PassTest {};

TEST_F(WeightGradientReport, PartialSumsAreWorkspace) {
  for (auto [parts, memoryClass] : {std::pair("1", "activations"), {"3", "workspace"}}) {
    ASSERT_TRUE(parse(weightGradient(parts, "0"))) << errors;
    MemoryReport report = MemoryReport::of(*module, /*threads=*/1);
    ASSERT_EQ(report.slices.size(), 1u);
    EXPECT_EQ(report.slices[0].memoryClass, memoryClass);
  }
}

TEST_F(WeightGradientReport, EachThreadHasScratchMemory) {
  ASSERT_TRUE(parse(weightGradient("1", "4096"))) << errors;
  MemoryReport report = MemoryReport::of(*module, /*threads=*/3);
  ASSERT_EQ(report.slices.size(), 2u);
  EXPECT_EQ(str(report.slices[1]), "scratch scratch 3x4096xi8 384+12288 [0,1] of dw");
  EXPECT_EQ(report.classes.back(), std::pair(std::string("scratch"), uint64_t(12288)));
  EXPECT_EQ(report.peakBytes, 384u + 12288u);
  auto json = llvm::cantFail(llvm::json::parse(report.toJson()));
  EXPECT_EQ(*json.getAsObject()->getObject("scratch"),
            (llvm::json::Object{{"bytes_per_thread", 4096}, {"threads", 3}}));
}
