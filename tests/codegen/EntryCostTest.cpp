//===- EntryCostTest.cpp - what entries cost, against counting by hand ----------------------===//

#include "TableTest.h"

#include "codegen/EntryCost.h"
#include "codegen/Profile.h"

namespace {
class EntryCostTest : public TableTest {
protected:
  /// Of the only entry of @micro.
  EntryCost costOf(const std::string &text) {
    module = parse(withSizes(text));
    if (!module)
      return {};
    auto micro = module->lookupSymbol<func::FuncOp>("micro");
    FailureOr<EntryCost> cost = codegen::costOf(micro.front().front());
    EXPECT_TRUE(succeeded(cost));
    return cost.value_or(EntryCost());
  }
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(EntryCostTest, OfAMap) {
  // 16 x 10 f16 and a bias of 10 give 16 x 10 f32: an addition and a maximum a point.
  EntryCost cost = costOf(R"mlir(
  kernel.group @bias_relu [16, 10](%x: f16[10, 1], %bias: f32[0, 1], %unread: f32[10, 1]) -> (f32[10, 1]) {
    %zero = arith.constant 0.0 : f32
    %sum = arith.addf %x, %bias : f32
    %relu = arith.maximumf %sum, %zero : f32
    kernel.yield %relu : f32
  }
  func.func @micro(%x: tensor<16x10xf16>, %bias: tensor<10xf32>, %unread: tensor<16x10xf32>) {
    %y = table.launch @bias_relu(%x, %bias, %unread) {slices = [#table.slice<2, 0, 320>, #table.slice<0, 0, 40>, #table.slice<0, 64, 640>, #table.slice<1, 0, 640>]}
      : (tensor<16x10xf16>, tensor<10xf32>, tensor<16x10xf32>) -> tensor<16x10xf32>
    return
  })mlir");
  EXPECT_EQ(cost.bytesRead, 320u + 40);
  EXPECT_EQ(cost.bytesWritten, 640u);
  EXPECT_EQ(cost.flops, 2u * 160);
  EXPECT_EQ(cost.flopsInDouble, 0u);
}

TEST_F(EntryCostTest, OfRowsInPlaceWithScalars) {
  // The scalar's reciprocal is computed once, in f64; the rows are read and written.
  EntryCost cost = costOf(R"mlir(
  kernel.group @normalise [16, 10](%scale: f64[0, 0], %x: f32[10, 1]) -> (%x, f32[1, 0]) {
    %one = arith.constant 1.0 : f64
    %inverse = arith.divf %one, %scale : f64
    %factor = arith.truncf %inverse : f64 to f32
    %scaled = arith.mulf %x, %factor : f32
    %sum = kernel.reduce add %scaled over last : f32
    %root = math.sqrt %sum : f32
    %y = math.fma %scaled, %root, %scaled : f32
    kernel.yield %y, %root : f32, f32
  }
  func.func @micro(%scale: tensor<f64>, %x: tensor<16x10xf32>) {
    %y:2 = table.launch @normalise(%scale, %x) {slices = [#table.slice<0, 0, 8>, #table.slice<1, 0, 640>, #table.slice<1, 0, 640>, #table.slice<1, 640, 64>]}
      : (tensor<f64>, tensor<16x10xf32>) -> (tensor<16x10xf32>, tensor<16xf32>)
    return
  })mlir");
  EXPECT_EQ(cost.bytesRead, 8u + 640);
  EXPECT_EQ(cost.bytesWritten, 640u + 64);
  EXPECT_EQ(cost.flops, 1u + 160 + 160 + 16 + 2 * 160);
  EXPECT_EQ(cost.flopsInDouble, 1u);
}

TEST_F(EntryCostTest, OfAPartOfARowReadTwice) {
  // Columns 2, 5 and 8 of rows of 10; the second walk is over the same elements.
  EntryCost cost = costOf(R"mlir(
  kernel.group @part [16, 3](%x: f32[10, 3] + 2) -> (f32[3, 1]) {
    kernel.yield %x : f32
  }
  func.func @micro(%x: tensor<16x10xf32>) {
    %y = table.launch @part(%x) {slices = [#table.slice<1, 0, 640>, #table.slice<1, 640, 192>]}
      : (tensor<16x10xf32>) -> tensor<16x3xf32>
    return
  })mlir");
  EXPECT_EQ(cost.bytesRead, 4u * 16 * 3);
  EXPECT_EQ(cost.bytesWritten, 4u * 16 * 3);
  EXPECT_EQ(cost.flops, 0u);
}

TEST_F(EntryCostTest, OfAPartialReduction) {
  // 32768 values are two chunks of 16384: two numbers are written.
  EntryCost cost = costOf(R"mlir(
  kernel.group partial @sum_partial [32768](%x: f16[1]) -> (f32[1]) {
    %sum = kernel.reduce add %x over last : f32
    kernel.yield %sum : f32
  }
  func.func @micro(%x: tensor<32768xf16>) {
    %y = table.launch @sum_partial(%x) {slices = [#table.slice<1, 0, 65536>, #table.slice<1, 65536, 8>]}
      : (tensor<32768xf16>) -> tensor<2xf32>
    return
  })mlir");
  EXPECT_EQ(cost.bytesRead, 65536u);
  EXPECT_EQ(cost.bytesWritten, 8u);
  EXPECT_EQ(cost.flops, 32768u);
}

TEST_F(EntryCostTest, OfProducts) {
  EntryCost tiny = costOf(R"mlir(
  kernel.contract @linear [1, 16, 10, 20] f16(a [320, 20, 1], b [200, 1, 20], bias) -> c [160, 10, 1]
  func.func @micro(%a: tensor<16x20xf16>, %b: tensor<10x20xf16>, %bias: tensor<10xf16>) {
    %c = table.launch @linear(%a, %b, %bias) {slices = [#table.slice<1, 0, 640>, #table.slice<0, 0, 400>, #table.slice<0, 512, 20>, #table.slice<1, 640, 320>]}
      : (tensor<16x20xf16>, tensor<10x20xf16>, tensor<10xf16>) -> tensor<16x10xf16>
    return
  })mlir");
  EXPECT_EQ(tiny.bytesRead, 640u + 400 + 20);
  EXPECT_EQ(tiny.bytesWritten, 320u);
  EXPECT_EQ(tiny.flops, 2u * 16 * 10 * 20 + 160);

  // One matrix for a batch of 3, transposed; in f64.
  EntryCost batched = costOf(R"mlir(
  func.func @micro(%a: tensor<3x8x4xf64>, %b: tensor<8x5xf64>) {
    %c = table.gemm %a, %b {transA, slices = [#table.slice<1, 0, 768>, #table.slice<0, 0, 320>, #table.slice<1, 768, 480>]}
      : (tensor<3x8x4xf64>, tensor<8x5xf64>) -> tensor<3x4x5xf64>
    return
  })mlir");
  EXPECT_EQ(batched.bytesRead, 768u + 320);
  EXPECT_EQ(batched.bytesWritten, 480u);
  EXPECT_EQ(batched.flops, 2u * 3 * 4 * 5 * 8);
  EXPECT_EQ(batched.flopsInDouble, batched.flops);
}

TEST_F(EntryCostTest, OfWindows) {
  // Along a row of 7 a window of 1 with stride 3 comes to columns 0, 3 and 6.
  EntryCost strided = costOf(R"mlir(
  func.func @micro(%x: tensor<2x4x1x7xf16>, %w: tensor<6x4x1x1xf16>) {
    %y = table.conv forward %x, %w {strides = array<i64: 1, 3>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64, slices = [#table.slice<2, 0, 112>, #table.slice<0, 0, 48>, #table.slice<1, 0, 72>]}
      : (tensor<2x4x1x7xf16>, tensor<6x4x1x1xf16>) -> tensor<2x6x1x3xf16>
    return
  })mlir");
  EXPECT_EQ(strided.bytesRead, 2u * (2 * 4 * 3) + 48);
  EXPECT_EQ(strided.bytesWritten, 72u);
  EXPECT_EQ(strided.flops, 2u * 2 * 6 * 4 * 3);

  // 3 x 3 windows over 4 x 4 with a pad of 1: along each dimension 2 + 3 + 3 + 2 places are inside.
  // Two groups of 2 channels, and two partial sums of the gradient.
  EntryCost padded = costOf(R"mlir(
  func.func @micro(%dy: tensor<2x6x4x4xf32>, %x: tensor<2x4x4x4xf32>) {
    %w = table.conv weight_gradient %dy, %x {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 2 : i64, slices = [#table.slice<1, 0, 768>, #table.slice<2, 0, 512>, #table.slice<1, 768, 864>]}
      : (tensor<2x6x4x4xf32>, tensor<2x4x4x4xf32>) -> tensor<2x6x2x3x3xf32>
    return
  })mlir");
  EXPECT_EQ(padded.bytesRead, 768u + 512);
  EXPECT_EQ(padded.bytesWritten, 864u);
  EXPECT_EQ(padded.flops, 2u * 2 * 6 * 2 * 10 * 10);

  EntryCost pooled = costOf(R"mlir(
  func.func @micro(%x: tensor<2x3x5x4xf32>, %dy: tensor<2x3x2x2xf32>) {
    %dx = table.pool max_gradient %x, %dy {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, countedPads = array<i64: 0, 0, 0, 0>, slices = [#table.slice<1, 0, 480>, #table.slice<1, 512, 96>, #table.slice<1, 640, 480>]}
      : (tensor<2x3x5x4xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x5x4xf32>
    return
  })mlir");
  EXPECT_EQ(pooled.bytesRead, 4u * 6 * (4 * 4) + 96); // the fifth row is in no window
  EXPECT_EQ(pooled.bytesWritten, 480u);
  EXPECT_EQ(pooled.flops, 6u * 4 * 4);
}

TEST_F(EntryCostTest, OfAConvolutionWithItsLoss) {
  // A filter's 2 x 2 points meet 4 x 4 inputs at 3 x 3 positions. A subtraction and an addition a
  // point; y and dy are in no memory.
  EntryCost both = costOf(R"mlir(
  kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[16, 0, 1], f16[0, 1, 9]) {
    %d = arith.subf %y, %t : f32
    %s = kernel.reduce add %d over rows : f32
    kernel.yield %s, %d : f32, f32
  }
  func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
    %s, %dw = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1>, slices = [#table.slice<2, 0, 32>, #table.slice<0, 0, 128>, #table.slice<3, 0, 576>, #table.slice<1, 0, 64>, #table.slice<1, 64, 256>]}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> (tensor<16xf32>, tensor<1x16x1x2x2xf32>)
    return
  })mlir");
  EXPECT_EQ(both.bytesRead, 32u + 128 + 576);
  EXPECT_EQ(both.bytesWritten, 64u + 256);
  EXPECT_EQ(both.flops, 2u * (2 * 16 * 9 * 4) + 2 * 16 * 9);

  EntryCost loss = costOf(R"mlir(
  kernel.group @loss [1, 9, 16](%y: f16[0, 1, 9], %t: f32[0, 1, 9]) -> (f32[16, 0, 1]) {
    %d = arith.subf %y, %t : f32
    %s = kernel.reduce add %d over rows : f32
    kernel.yield %s : f32
  }
  func.func @micro(%x: tensor<1x1x4x4xf16>, %w: tensor<16x1x2x2xf16>, %t: tensor<1x16x3x3xf32>) {
    %s = table.fused_conv @loss(%x, %w, %t) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0>, slices = [#table.slice<2, 0, 32>, #table.slice<0, 0, 128>, #table.slice<3, 0, 576>, #table.slice<1, 0, 64>]}
      : (tensor<1x1x4x4xf16>, tensor<16x1x2x2xf16>, tensor<1x16x3x3xf32>) -> tensor<16xf32>
    return
  })mlir");
  EXPECT_EQ(loss.bytesRead, both.bytesRead);
  EXPECT_EQ(loss.bytesWritten, 64u);
  EXPECT_EQ(loss.flops, 2u * 16 * 9 * 4 + 2 * 16 * 9);
}

TEST_F(EntryCostTest, OfCopiesAndZeros) {
  EntryCost copy = costOf(R"mlir(
  func.func @micro(%x: tensor<8xf16>) {
    %y = table.copy %x {slices = [#table.slice<1, 0, 16>, #table.slice<0, 0, 16>]} : (tensor<8xf16>) -> tensor<8xf16>
    return
  })mlir");
  EXPECT_EQ(std::pair(copy.bytesRead, copy.bytesWritten), std::pair(uint64_t(16), uint64_t(16)));
  EntryCost zero = costOf(R"mlir(
  func.func @micro() {
    %y = table.zero {slices = [#table.slice<1, 0, 16>]} : tensor<8xf16>
    return
  })mlir");
  EXPECT_EQ(std::pair(zero.bytesRead, zero.bytesWritten), std::pair(uint64_t(0), uint64_t(16)));
}

//===---------------------------------------------------------------------------------------===//
// Rooflines and what ptxas says
//===---------------------------------------------------------------------------------------===//

TEST_F(EntryCostTest, OfNoEntry) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto refused = [&](const std::string &entry) {
    module = parse(withSizes("func.func @micro(%x: tensor<8xf32>) {\n" + entry + "\nreturn\n}\n"));
    EXPECT_TRUE(module);
    auto micro = module->lookupSymbol<func::FuncOp>("micro");
    EXPECT_TRUE(failed(codegen::costOf(micro.front().front())));
    return message;
  };
  EXPECT_EQ(refused("%y = table.launch @micro(%x) {slices = [#table.slice<0, 0, 32>, "
                    "#table.slice<1, 0, 32>]} : (tensor<8xf32>) -> tensor<8xf32>"),
            "'table.launch' op launches @micro, which is no kernel");
  EXPECT_EQ(refused("%y = arith.negf %x {slices = [#table.slice<0, 0, 32>, #table.slice<1, 0, "
                    "32>]} : tensor<8xf32>"),
            "'arith.negf' op is not an entry of a program");
}

TEST(RooflineTest, IsTheSlowerOfMemoryAndArithmetic) {
  Device device{"one",
                80,
                /*bytesPerSecond=*/100,
                /*flopsInDouble=*/2,
                /*flops=*/10,
                /*flopsOnTensors=*/50};
  EntryProfile entry;
  entry.cost = {300, 200, 20, 0};
  EXPECT_EQ(entry.timeOn(device), 5); // memory
  entry.cost.flops = 100;
  EXPECT_EQ(entry.timeOn(device), 10); // arithmetic
  entry.isOnTensorCores = true;
  EXPECT_EQ(entry.timeOn(device), 5);
  entry.cost.flopsInDouble = 50;
  EXPECT_EQ(entry.timeOn(device), 1 + 25);
}

TEST(RooflineTest, AStepIsItsMicroBatchesAndAnUpdate) {
  Device device{"one", 80, 100, 2, 10, 50};
  EntryProfile entry;
  entry.cost = {300, 200, 20, 0};
  Profile profile;
  profile.programs = {{"micro", 3, {entry, entry}}, {"update", 1, {entry}}, {"infer", 0, {entry}}};
  EXPECT_EQ(profile.stepEntries(), 7u);
  EXPECT_EQ(profile.stepCost().bytesRead, 2100u);
  EXPECT_EQ(profile.stepCost().flops, 140u);
  EXPECT_EQ(profile.stepTimeOn(device), 35);
}

static const char *const spilling = R"ptx(
.version 7.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 p)
.maxntid 32, 1, 1
{
  .shared .align 4 .b8 buffer[1024];
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, buffer;
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [%r2+64];
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry second()
{
  ret;
}
)ptx";

TEST(PtxasTest, ReportsEachKernel) {
  CudaTarget target = llvm::cantFail(CudaTarget::get("sm_80"));
  auto kernels = llvm::cantFail(assemble(spilling, target)).resources;
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels["first"].sharedBytes, 1024u);
  EXPECT_GE(kernels["first"].registers, 4u);
  EXPECT_EQ(kernels["first"].spillBytes, 0u);
  EXPECT_EQ(kernels["second"].sharedBytes, 0u);
}

TEST(PtxasTest, SaysWhatIsWrong) {
  CudaTarget target = llvm::cantFail(CudaTarget::get("sm_80"));
  auto refused = assemble("nonsense", target);
  EXPECT_NE(llvm::toString(refused.takeError()).find("ptxas"), std::string::npos);
  target.ptxas = "/nowhere/ptxas";
  auto missing = assemble(spilling, target);
  EXPECT_NE(llvm::toString(missing.takeError()).find("/nowhere/ptxas"), std::string::npos);
  NoTemporaryFiles none;
  auto unwritten = assemble(spilling, target);
  EXPECT_EQ(llvm::toString(unwritten.takeError()),
            "cannot make a temporary file: No such file or directory");
}

TEST_F(TableTest, IsProfiledWithoutPtxas) {
  Target cuda(target);
  cuda.cuda = llvm::cantFail(CudaTarget::get("sm_90"));
  cuda.cuda->ptxas = "/nowhere/ptxas";
  OwningOpRef<ModuleOp> module = parse(planned);
  ASSERT_TRUE(module);
  FailureOr<Profile> profile = codegen::profile(*module, cuda);
  ASSERT_TRUE(succeeded(profile));
  EXPECT_EQ(profile->note.find("/nowhere/ptxas is not there"), 0u);
  ASSERT_EQ(profile->programs.size(), 2u); // those without entries are not there
  const ProgramProfile &micro = profile->programs[0];
  EXPECT_EQ(micro.name, "micro");
  EXPECT_EQ(micro.runs, 2u);
  ASSERT_EQ(micro.entries.size(), 5u);
  EXPECT_EQ(micro.entries[0].nodes, "fc/MatMul, fc/Add");
  EXPECT_EQ(micro.entries[2].name, "also_double");
  ASSERT_TRUE(micro.entries[2].launch);
  EXPECT_EQ(micro.entries[2].launch->kernel, "double"); // the same code
  EXPECT_FALSE(micro.entries[2].resources);
  EXPECT_FALSE(micro.entries[4].launch); // a copy
  EXPECT_EQ(profile->devices.size(), 2u);
}
