//===- TableTest.cpp - an artefact, walked through its tables -------------------------------===//
//
// A small planned module, written by hand, is compiled, linked, loaded and read through
// runtime/step_abi.h as the runtime reads it; then its entries are run.
//
//===---------------------------------------------------------------------------------------===//

#include "TableTest.h"

#include "mlir/IR/Diagnostics.h"

#include <cmath>
#include <fstream>

using Numbers = std::vector<int64_t>;

TEST_F(TableTest, IsReadAndRun) {
  auto artefact = load(parse(planned));
  ASSERT_TRUE(artefact);
  const hs_artefact &tables = artefact->tables();

  EXPECT_EQ(tables.abi_version, HALFSTEP_ABI_VERSION);
  EXPECT_EQ(tables.state_bytes, 256u);
  EXPECT_EQ(tables.arena_bytes, 192u);
  EXPECT_EQ(tables.scratch_bytes, 8192u);
  EXPECT_EQ(tables.input_slots, 3u);
  EXPECT_EQ(tables.micro_batches, 2u);
  EXPECT_STREQ(tables.recipe, "{\"loss\": \"mse\"}");
  EXPECT_STREQ(tables.graph_hash, "00ff");
  EXPECT_EQ(std::string(tables.cpu_features).substr(0, 5), "avx2,");

  ASSERT_EQ(tables.input_count, 2u); // in the order of their buffers
  const hs_tensor &x = tables.inputs[0], &label = tables.inputs[1];
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.role, HS_INPUT);
  EXPECT_EQ(x.type, HS_F32);
  ASSERT_EQ(x.rank, 2u);
  EXPECT_EQ(x.shape[0], 2);
  EXPECT_EQ(x.shape[1], 3);
  EXPECT_EQ(x.slice.buffer, 2u);
  EXPECT_EQ(x.class_count, 0);
  EXPECT_STREQ(label.name, "label");
  EXPECT_EQ(label.role, HS_LABEL);
  EXPECT_EQ(label.type, HS_I64);
  EXPECT_EQ(label.class_count, 10);
  EXPECT_EQ(label.ignored_class, INT64_MIN);
  ASSERT_EQ(tables.tensor_count, 2u);
  const hs_tensor &w = tables.tensors[0], &lr = tables.tensors[1];
  EXPECT_STREQ(w.name, "w");
  EXPECT_EQ(w.trainable, 1u);
  EXPECT_EQ(w.slice.offset, 64u);
  EXPECT_EQ(w.slice.bytes, 48u);
  EXPECT_STREQ(lr.name, "lr");
  EXPECT_EQ(lr.role, HS_HYPERPARAMETER);
  EXPECT_EQ(lr.rank, 0u);
  EXPECT_EQ(lr.initial, 0.25);
  EXPECT_EQ(w.range, nullptr);
  ASSERT_NE(lr.range, nullptr);
  EXPECT_EQ(lr.range->smallest, 0);
  EXPECT_EQ(lr.range->largest, std::nextafter(1.0, 0.0));
  EXPECT_STREQ(lr.range->requirement, "must be from 0 to below 1");

  EXPECT_EQ(tables.programs[HS_INIT].entry_count, 0u);
  const hs_program &micro = tables.programs[HS_MICRO];
  ASSERT_EQ(micro.entry_count, 5u); // the alias is none
  uint32_t kinds[] = {HS_LAUNCH, HS_LAUNCH, HS_LAUNCH, HS_FILL, HS_COPY};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(micro.entries[i].kind, kinds[i]);
  EXPECT_STREQ(micro.entries[0].name, "product");
  EXPECT_STREQ(micro.entries[0].nodes, "fc/MatMul, fc/Add");
  EXPECT_STREQ(micro.entries[2].name, "also_double");
  EXPECT_EQ(micro.entries[1].slice_count, 1u); // in place: one buffer
  EXPECT_EQ(micro.entries[4].slices[0].offset, 128u);
  EXPECT_EQ(micro.entries[4].slices[1].offset, 0u);
  auto launchOf = [&](int i) { return *static_cast<const hs_launch *>(micro.entries[i].detail); };
  EXPECT_EQ(launchOf(1).kernel, launchOf(2).kernel) << "the same code";

  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b(12, 1), c(8);
  void *buffers[] = {a.data(), b.data(), c.data()};
  launchOf(0).kernel(buffers, 0, launchOf(0).units);
  void *inPlace[] = {c.data()};
  launchOf(1).kernel(inPlace, 0, launchOf(1).units);
  EXPECT_EQ(c, (std::vector<float>{12, 12, 12, 12, 30, 30, 30, 30}));

  ASSERT_EQ(tables.programs[HS_INFER].entry_count, 2u);
  const hs_entry &call = tables.programs[HS_INFER].entries[0];
  ASSERT_EQ(call.kind, HS_GEMM);
  const auto &gemm = *static_cast<const hs_gemm *>(call.detail);
  EXPECT_EQ(gemm.c_type, HS_F32);
  EXPECT_EQ(gemm.transpose_a, 0u);
  EXPECT_EQ(gemm.transpose_b, 1u);
  EXPECT_EQ(Numbers({gemm.batch, gemm.m, gemm.n, gemm.k}), Numbers({5, 2, 4, 3}));
  EXPECT_EQ(Numbers({gemm.a_stride, gemm.b_stride, gemm.c_stride}), Numbers({6, 0, 8}));
  EXPECT_EQ(Numbers({gemm.lda, gemm.ldb, gemm.ldc}), Numbers({3, 3, 4}));
  EXPECT_EQ(gemm.has_bias, 0u);
  const hs_entry &biased = tables.programs[HS_INFER].entries[1];
  EXPECT_EQ(static_cast<const hs_gemm *>(biased.detail)->has_bias, 1u);
  ASSERT_EQ(biased.slice_count, 4u);
  EXPECT_EQ(biased.slices[2].offset, 128u);
}

// A use as "TYPE read written gradient".
static std::vector<std::string> usesOf(const hs_entry &entry) {
  std::vector<std::string> uses;
  for (uint32_t i = 0; i < entry.slice_count; ++i) {
    const hs_use &use = entry.uses[i];
    uses.push_back(std::to_string(use.type) + (use.is_read ? " read" : "") +
                   (use.is_written ? " written" : "") + (use.is_gradient ? " gradient" : ""));
  }
  return uses;
}

TEST_F(TableTest, SaysWhatEntriesDoWithTheirSlices) {
  // The kernel's first result is of the forward pass, its second of the backward pass, its third,
  // which it computes in place, too; the copy is of what it copies.
  auto artefact = load(parse(withSizes(R"mlir(
  kernel.group @both [8](%x: f16[1], %g: f32[1]) -> (f32[1], f16[1], %g) {
    %y = arith.addf %x, %x : f32 loc("forward")
    %dy = arith.mulf %x, %x : f32 loc(fused<"gradient">["forward"])
    %sum = arith.addf %g, %dy : f32 loc(fused["other", fused<"gradient">["accumulate"]])
    kernel.yield %y, %dy, %sum : f32, f32, f32
  }
  func.func @micro(%x: tensor<8xf16>, %g: tensor<8xf32>) {
    %y:3 = table.launch @both(%x, %g) {slices = [#table.slice<0, 0, 16>, #table.slice<0, 64, 32>, #table.slice<1, 0, 32>, #table.slice<1, 64, 16>, #table.slice<0, 64, 32>]}
      : (tensor<8xf16>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf16>, tensor<8xf32>)
      loc(fused["forward", fused<"gradient">["forward"]])
    %dy = table.alias %y#1 : (tensor<8xf16>) -> tensor<2x4xf16>
    %copy = table.copy %dy {slices = [#table.slice<1, 64, 16>, #table.slice<0, 128, 16>]}
      : (tensor<2x4xf16>) -> tensor<2x4xf16>
    %z = table.zero {slices = [#table.slice<1, 128, 8>]} : tensor<8xi1>
    return
  }
)mlir")));
  ASSERT_TRUE(artefact);
  const hs_program &micro = artefact->tables().programs[HS_MICRO];
  ASSERT_EQ(micro.entry_count, 3u);
  using Texts = std::vector<std::string>;
  EXPECT_EQ(usesOf(micro.entries[0]),
            Texts({"2 read", "0 read written gradient", "0 written", "2 written gradient"}));
  EXPECT_EQ(usesOf(micro.entries[1]), Texts({"2 written gradient", "2 read"}));
  EXPECT_EQ(usesOf(micro.entries[2]), Texts({"4 written"}));
}

static Numbers three(const int64_t (&numbers)[3]) { return Numbers(numbers, numbers + 3); }

TEST_F(TableTest, DescribesWindows) {
  auto artefact = load(parse(withSizes(R"mlir(
  func.func @infer(%dy: tensor<2x6x5x9xf16>, %x: tensor<2x4x9x8xf16>) {
    %w = table.conv weight_gradient %dy, %x {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads = array<i64: 1, 0, 1, 3>, groups = 2 : i64, slices = [#table.slice<0, 0, 1080>, #table.slice<0, 1088, 1152>, #table.slice<1, 0, 864>]}
      : (tensor<2x6x5x9xf16>, tensor<2x4x9x8xf16>) -> tensor<3x6x2x3x2xf32>
    %y = table.pool average %x {kernel = array<i64: 3, 2>, strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 2, 1>, countedPads = array<i64: 1, 0, 1, 0>, slices = [#table.slice<0, 1088, 1152>, #table.slice<1, 1024, 240>]}
      : (tensor<2x4x9x8xf16>) -> tensor<2x4x5x3xf16>
    return
  }
)mlir")));
  ASSERT_TRUE(artefact);
  const hs_program &program = artefact->tables().programs[HS_INFER];
  ASSERT_EQ(program.entry_count, 2u);
  ASSERT_EQ(program.entries[0].kind, HS_CONV);
  const auto &conv = *static_cast<const hs_conv *>(program.entries[0].detail);
  EXPECT_EQ(conv.kind, HS_CONV_WEIGHT_GRADIENT);
  EXPECT_EQ(conv.channels_last, 0u);
  EXPECT_EQ(Numbers({conv.a_type, conv.b_type, conv.c_type}), Numbers({HS_F16, HS_F16, HS_F32}));
  EXPECT_EQ(Numbers({conv.batch, conv.groups, conv.input_channels, conv.output_channels}),
            Numbers({2, 2, 2, 3}));
  EXPECT_EQ(conv.parts, 3);
  EXPECT_EQ(three(conv.window.kernel), Numbers({1, 3, 2}));
  EXPECT_EQ(three(conv.window.stride), Numbers({1, 2, 1}));
  EXPECT_EQ(three(conv.window.dilation), Numbers({1, 1, 2}));
  EXPECT_EQ(three(conv.window.pad), Numbers({0, 1, 0}));
  EXPECT_EQ(three(conv.window.input), Numbers({1, 9, 8}));
  EXPECT_EQ(three(conv.window.output), Numbers({1, 5, 9}));

  ASSERT_EQ(program.entries[1].kind, HS_POOL);
  const auto &pool = *static_cast<const hs_pool *>(program.entries[1].detail);
  EXPECT_EQ(pool.kind, HS_POOL_AVERAGE);
  EXPECT_EQ(pool.type, HS_F16);
  EXPECT_EQ(Numbers({pool.batch, pool.channels}), Numbers({2, 4}));
  EXPECT_EQ(three(pool.window.output), Numbers({1, 5, 3}));
  EXPECT_EQ(three(pool.counted_front), Numbers({0, 1, 0}));
  EXPECT_EQ(three(pool.counted_behind), Numbers({0, 1, 0}));
}

TEST_F(TableTest, DescribesWindowsWithChannelsLast) {
  auto artefact = load(parse(withSizes(R"mlir(
  func.func @infer(%x: tensor<2x9x8x4xf16>, %w: tensor<6x3x2x2xf16>) {
    %y = table.conv forward %x, %w {channelsLast, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads = array<i64: 1, 0, 1, 3>, groups = 2 : i64, slices = [#table.slice<0, 0, 1152>, #table.slice<0, 1152, 144>, #table.slice<1, 0, 1080>]}
      : (tensor<2x9x8x4xf16>, tensor<6x3x2x2xf16>) -> tensor<2x5x9x6xf16>
    %p = table.pool max %x {channelsLast, kernel = array<i64: 3, 2>, strides = array<i64: 2, 3>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 2, 1>, countedPads = array<i64: 0, 0, 0, 0>, slices = [#table.slice<0, 0, 1152>, #table.slice<1, 1088, 240>]}
      : (tensor<2x9x8x4xf16>) -> tensor<2x5x3x4xf16>
    return
  }
)mlir")));
  ASSERT_TRUE(artefact);
  const hs_program &program = artefact->tables().programs[HS_INFER];
  ASSERT_EQ(program.entry_count, 2u);
  const auto &conv = *static_cast<const hs_conv *>(program.entries[0].detail);
  EXPECT_EQ(conv.channels_last, 1u);
  EXPECT_EQ(Numbers({conv.batch, conv.groups, conv.input_channels, conv.output_channels}),
            Numbers({2, 2, 2, 3}));
  EXPECT_EQ(three(conv.window.kernel), Numbers({1, 3, 2}));
  EXPECT_EQ(three(conv.window.input), Numbers({1, 9, 8}));
  EXPECT_EQ(three(conv.window.output), Numbers({1, 5, 9}));
  const auto &pool = *static_cast<const hs_pool *>(program.entries[1].detail);
  EXPECT_EQ(Numbers({pool.channels_last, pool.batch, pool.channels}), Numbers({1, 2, 4}));
  EXPECT_EQ(three(pool.window.input), Numbers({1, 9, 8}));
  EXPECT_EQ(three(pool.window.output), Numbers({1, 5, 3}));
}

TEST_F(TableTest, ReportsWhatIsMissing) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto replaced = [&](StringRef from, StringRef to) {
    std::string text = planned;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    OwningOpRef<ModuleOp> module = parse(text.replace(at, from.size(), to.str()));
    EXPECT_TRUE(module);
    EXPECT_TRUE(failed(compileToObject(*module, target)));
    return message;
  };
  for (StringRef attribute :
       {table::attr::kStateBytes, table::attr::kArenaBytes, table::attr::kScratchBytes,
        table::attr::kInputSlots, table::attr::kMicroBatches, table::attr::kRecipe,
        table::attr::kGraphHash})
    EXPECT_EQ(replaced(attribute, "halfstep.other"), ("lacks the attribute " + attribute).str());
  EXPECT_EQ(replaced("{trainable, slice = #table.slice<0, 64, 48>}", ""),
            "'table.tensor' op has no slice: the memory phase has not run");
  EXPECT_EQ(replaced("{slices = [#table.slice<1, 64, 32>]}", ""),
            "'table.zero' op needs a slice for each operand and result: has the memory phase run?");
  EXPECT_EQ(replaced("#table.slice<3, 0, 16>", "#table.slice<4, 0, 16>"),
            "has no input in buffer 3");
  EXPECT_EQ(replaced("@double(%flat) {slices = [#table.slice<1, 0, 32>, #table.slice<1, 0, 32>]}",
                     "@double(%flat) {slices = [#table.slice<1, 0, 32>, #table.slice<1, 64, 32>]}"),
            "'table.launch' op has a result in place of argument 0 in another slice");
  const StringRef once = "@double(%flat) {slices = [#table.slice<1, 0, 32>, #table.slice<1, 0, "
                         "32>]}\n      : (tensor<8xf32>)";
  EXPECT_EQ(replaced(once, "@double(%flat, %flat) {slices = [#table.slice<1, 0, 32>, #table.slice<"
                           "1, 0, 32>, #table.slice<1, 0, 32>]} : (tensor<8xf32>, tensor<8xf32>)"),
            "'table.launch' op has 3 slices for 2 values");
  EXPECT_EQ(replaced("table.launch @product(", "table.launch @infer("),
            "'table.launch' op launches @infer, which is no kernel");
  EXPECT_EQ(replaced("%z = table.zero {slices = [#table.slice<1, 64, 32>]} : tensor<8xf32>",
                     "%z = arith.constant {slices = [#table.slice<1, 64, 32>]} dense<0.0> : "
                     "tensor<8xf32>"),
            "'arith.constant' op is not an entry of a program");
  EXPECT_EQ(replaced("tensor<2xi64> {class", "tensor<2xi16> {class"),
            "'table.tensor' op has no storage type for 'i16'");
  EXPECT_EQ(replaced("{trainable,", "{fileType = i16, trainable,"),
            "'table.tensor' op has no storage type for 'i16'");
  EXPECT_EQ(replaced("#table.slice<1, 64, 32>]} : tensor<8xf32>",
                     "#table.slice<1, 64, 32>]} : tensor<16xi16>"),
            "'table.zero' op has no storage type for 'i16'");
}

TEST_F(TableTest, ReportsWhatADeviceCannotDo) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  Target cuda(target);
  cuda.cuda = llvm::cantFail(CudaTarget::get("sm_80"));
  /// Of a kernel of one tensor, whose space is `space` and whose body is `body`.
  auto refused = [&](const std::string &space, const std::string &strides, const std::string &type,
                     const std::string &count, const std::string &body) {
    std::string buffer = type + strides, tensor = "tensor<" + count + "x" + type + ">";
    OwningOpRef<ModuleOp> module = parse(withSizes(
        "kernel.group @k " + space + "(%x: " + buffer + ") -> (" + buffer + ") {\n" + body +
        "kernel.yield %y : " + type + "\n}\nfunc.func @micro(%x: " + tensor +
        ") {\n%y = table.launch @k(%x) {slices = [#table.slice<0, 0, 64>, #table.slice<1, 0, "
        "64>]} : (" +
        tensor + ") -> " + tensor + "\nreturn\n}\n"));
    EXPECT_TRUE(module);
    EXPECT_TRUE(failed(compileToObject(*module, cuda)));
    return message;
  };
  EXPECT_EQ(refused("[1, 4294967296]", "[4294967296, 1]", "f64", "4294967296",
                    "%s = kernel.reduce add %x over last : f64\n%y = arith.divf %x, %s : f64\n"),
            "'kernel.group' op needs 65664 bytes of a block's shared memory, of which there are "
            "49152; shorter rows, or fewer reductions of them, need less");
  EXPECT_EQ(refused("[8796093022208]", "[1]", "f32", "8796093022208", "%y = arith.negf %x : f32\n"),
            "needs 8589934592 blocks, more than a device launches");

  const std::string library = testing::TempDir() + "libdevice.ll";
  const std::string exponential = "%y = math.exp %x : f64\n";
  auto withLibrary = [&](const std::string &text) {
    std::ofstream(library) << text;
    cuda.cuda->libdevice = library;
    return refused("[8]", "[1]", "f64", "8", exponential);
  };
  EXPECT_EQ(withLibrary("; nothing\n"), "kernels call __nv_exp, which libdevice has not");
  EXPECT_EQ(withLibrary("!llvm.module.flags = !{!0}\n"
                        "!0 = !{i32 1, !\"Debug Info Version\", i32 4}\n"),
            library +
                " cannot be linked with the kernels: linking module flags 'Debug Info "
                "Version': IDs have conflicting behaviors in '" +
                library + "' and 'halfstep'");
}
