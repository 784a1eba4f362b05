//===- FusedConvProgram.cpp - a convolution and its loss, as entries ------------------------===//

#include "FusedConvCases.h"

#include "codegen/LowerToLlvm.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::tests;

std::array<int64_t, 2> FusedConvCase::output() const {
  std::array<int64_t, 2> sizes;
  for (size_t i = 0; i < 2; ++i)
    sizes[i] =
        (input[i] + pads[i] + pads[2 + i] - (kernel[i] - 1) * dilation[i] - 1) / stride[i] + 1;
  return sizes;
}

int64_t FusedConvCase::offsetInOutput(int64_t image, int64_t channel, int64_t position,
                                      bool isLabel) const {
  bool isLast = channelsLast != (isLabel && hasForeignLabel);
  return image * outputs * positions() +
         (isLast ? position * outputs + channel : channel * positions() + position);
}

static std::string list(ArrayRef<int64_t> numbers, StringRef separator = ", ") {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(numbers, stream, separator);
  return text;
}

/// [batch, channels, sizes...] in a layout, as a tensor type.
static std::string tensor(int64_t batch, int64_t channels, ArrayRef<int64_t> sizes, bool isLast,
                          StringRef type) {
  SmallVector<int64_t> shape{batch};
  shape.append(sizes.begin(), sizes.end());
  shape.insert(isLast ? shape.end() : shape.begin() + 1, channels);
  return "tensor<" + list(shape, "x") + "x" + type.str() + ">";
}

static const char *lossText(LossKind kind) {
  switch (kind) {
  case LossKind::Squared:
    return R"(
  %l = arith.mulf %d, %d : f32
  %g = arith.addf %d, %d : f32)";
  case LossKind::Absolute:
    return R"(
  %l = math.absf %d : f32
  %one = arith.constant 1.0 : f32
  %g = math.copysign %one, %d : f32)";
  case LossKind::Huber:
    return R"(
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %a = math.absf %d : f32
  %near = arith.cmpf olt, %a, %one : f32
  %sq = arith.mulf %d, %d : f32
  %quadratic = arith.mulf %half, %sq : f32
  %linear = arith.subf %a, %half : f32
  %l = arith.select %near, %quadratic, %linear : f32
  %sign = math.copysign %one, %d : f32
  %g = arith.select %near, %d, %sign : f32)";
  }
  llvm_unreachable("kind of loss");
}

std::string FusedConvCase::text() const {
  int64_t p = positions(), k = outputs, all = batch * k * p,
          points = inputs * kernel[0] * kernel[1];
  std::string half = type, y, t, bias, space, sums, losses, over = channelsLast ? "rows" : "last";
  // As fusion does: dimensions that all buffers step through as one are one.
  if (!channelsLast && (hasBias || hasForeignLabel)) {
    space = list({batch, k, p}), y = list({k * p, p, 1}),
    t = hasForeignLabel ? list({k * p, 1, k}) : y;
    bias = "0, 1, 0", sums = list({k, 1, 0}), losses = std::to_string(batch * k);
  } else if (!channelsLast) {
    space = list({all}), y = t = "1", sums = "0", losses = "1";
  } else if (hasForeignLabel) {
    space = list({batch, p, k}), y = list({k * p, k, 1}), t = list({k * p, 1, p});
    bias = "0, 0, 1", sums = list({k, 0, 1}), losses = std::to_string(batch * k);
  } else {
    space = list({batch * p, k}), y = t = list({k, 1}), bias = sums = "0, 1";
    losses = std::to_string(k);
  }
  std::string scale = list(SmallVector<int64_t>(llvm::count(space, ',') + 1, 0));
  std::string forward = "tensor<" + losses + "xf32>",
              out = tensor(batch, k, output(), channelsLast, type),
              x = tensor(batch, inputs, input, channelsLast, type),
              w = tensor(k, inputs, kernel, channelsLast, type),
              target = tensor(batch, k, output(), channelsLast != hasForeignLabel, label),
              parts = tensor(k, inputs, kernel, channelsLast, "f32");
  parts.insert(strlen("tensor<"), "3x");
  std::string window = "{strides = array<i64: " + list(stride) +
                       ">, dilations = array<i64: " + list(dilation) +
                       ">, pads = array<i64: " + list(pads) + ">, groups = 1 : i64" +
                       (channelsLast ? ", channelsLast}" : "}");
  std::string text = "kernel.group @loss [" + space + "](%t: " + label + "[" + t +
                     "], %scale: f32[" + scale + "], %y: " + half + "[" + y + "]";
  if (hasBias)
    text += ", %b: " + half + "[" + bias + "]";
  const bool hasBiasGradient = hasBias && hasGradient;
  text += ") -> (f32[" + sums + "]" + (hasGradient ? ", " + half + "[" + y + "]" : "") +
          (hasBiasGradient ? ", f32[" + sums + "]" : "") + ") {";
  if (hasBias)
    text += "\n  %sum = arith.addf %y, %b : f32\n  %r = arith.truncf %sum : f32 to " + half +
            "\n  %z = arith.extf %r : " + half + " to f32";
  text +=
      "\n  %d = arith.subf " + std::string(hasBias ? "%z" : "%y") + ", %t : f32" + lossText(loss);
  text += "\n  %scaled = arith.mulf %g, %scale : f32\n  %narrow = arith.truncf %scaled : f32 to " +
          half + "\n  %dy = arith.extf %narrow : " + half +
          " to f32\n  %s = kernel.reduce add %l over " + over + " : f32\n";
  if (hasBiasGradient)
    text += "  %db = kernel.reduce add %dy over " + over + " : f32\n";
  text += hasBiasGradient ? "  kernel.yield %s, %dy, %db : f32, f32, f32\n}\n"
          : hasGradient   ? "  kernel.yield %s, %dy : f32, f32\n}\n"
                          : "  kernel.yield %s : f32\n}\n";
  std::string elements = std::to_string(k * points);
  text += "kernel.group @sum_of_parts [3, " + elements + "](%p: f32[" + elements +
          ", 1]) -> (f32[0, 1]) {\n  %s = kernel.reduce add %p over rows : f32\n  kernel.yield %s "
          ": f32\n}\n";
  std::string vector = "tensor<" + std::to_string(k) + "x" + half + ">",
              flat = "tensor<" + elements + "xf32>";
  text += "func.func @micro(%x: " + x + ", %w: " + w + ", %b: " + vector + ", %t: " + target +
          ", %scale: tensor<f32>) -> (" + forward + (hasGradient ? ", " + flat : "") +
          (hasBiasGradient ? ", " + forward : "") + ") {\n";
  text +=
      "  %y = table.conv forward %x, %w " + window + " : (" + x + ", " + w + ") -> " + out + "\n";
  text += "  %r:" + std::to_string(1 + hasGradient + hasBiasGradient) +
          " = table.launch @loss(%t, %scale, %y" + (hasBias ? ", %b" : "") + ") : (" + target +
          ", tensor<f32>, " + out + (hasBias ? ", " + vector : "") + ") -> (" + forward +
          (hasGradient ? ", " + out : "") + (hasBiasGradient ? ", " + forward : "") + ")\n";
  if (!hasGradient)
    return text + "  return %r#0 : " + forward + "\n}\n";
  text += "  %p = table.conv weight_gradient %r#1, %x " + window + " : (" + out + ", " + x +
          ") -> " + parts + "\n";
  text += "  %dw = table.launch @sum_of_parts(%p) : (" + parts + ") -> " + flat + "\n";
  text += "  return %r#0, %dw" + std::string(hasBias ? ", %r#2" : "") + " : " + forward + ", " +
          flat + (hasBias ? ", " + forward : "") + "\n}\n";
  return text;
}

OwningOpRef<ModuleOp> tests::programOf(const FusedConvCase &fused, bool fuse,
                                       MLIRContext &context) {
  codegen::loadKernelDialects(context);
  context.loadDialect<arith::ArithDialect, func::FuncDialect, kernel::KernelDialect,
                      math::MathDialect, table::TableDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(fused.text(), &context);
  EXPECT_TRUE(module) << fused.text();
  PassManager pm(&context);
  if (fuse)
    pm.addPass(createFuseFirstConvolutionPass());
  pm.addPass(createSplitReductionsPass());
  EXPECT_TRUE(succeeded(pm.run(*module)));
  return module;
}

EmittedProgram tests::emitProgram(ModuleOp program) {
  EmittedProgram emitted;
  emitted.code = ModuleOp::create(program.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(emitted.code->getBody());
  program.lookupSymbol<func::FuncOp>("micro").walk([&](Operation *entry) {
    std::string name = "entry" + std::to_string(emitted.entries.size());
    FailureOr<codegen::Grid> grid = failure();
    if (auto launch = dyn_cast<table::LaunchOp>(entry)) {
      name = launch.getKernel();
      grid = codegen::emitCudaKernel(builder, program.lookupSymbol<kernel::GroupOp>(name));
    } else if (auto conv = dyn_cast<table::ConvOp>(entry)) {
      grid = codegen::emitCudaKernel(builder, conv, name);
    } else if (auto conv = dyn_cast<table::FusedConvOp>(entry)) {
      auto group = program.lookupSymbol<kernel::GroupOp>(conv.getKernel());
      grid = codegen::emitCudaKernel(builder, conv, group, name);
    } else {
      return;
    }
    ASSERT_TRUE(succeeded(grid));
    emitted.grids[name] = *grid;
    emitted.entries.push_back({entry, name});
  });
  return emitted;
}
