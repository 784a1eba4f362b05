//===- WindowCases.cpp - convolutions and poolings of many shapes ---------------------------===//

#include "WindowCases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::tests;

using Sizes = SmallVector<int64_t>;

static Sizes orElse(const std::vector<int64_t> &given, size_t count, int64_t missing) {
  return given.empty() ? Sizes(count, missing) : Sizes(given.begin(), given.end());
}

static RankedTensorType imagesOf(int64_t batch, int64_t channels, ArrayRef<int64_t> sizes,
                                 Type type, bool channelsLast) {
  Sizes shape{batch};
  shape.append(sizes.begin(), sizes.end());
  shape.insert(channelsLast ? shape.end() : shape.begin() + 1, channels);
  return RankedTensorType::get(shape, type);
}

static Value operand(OpBuilder &builder, Type type) {
  return builder.create<table::ZeroOp>(builder.getUnknownLoc(), type, ArrayAttr());
}

static Sizes outputsOf(const WindowCase &window) {
  size_t rank = window.input.size();
  Sizes strides = orElse(window.strides, rank, 1), dilations = orElse(window.dilations, rank, 1),
        pads = orElse(window.pads, 2 * rank, 0), sizes;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = (window.kernel[i] - 1) * dilations[i] + 1;
    sizes.push_back((window.input[i] + pads[i] + pads[rank + i] - extent) / strides[i] + 1);
  }
  return sizes;
}

table::ConvOp WindowCase::createConv(OpBuilder &builder, table::ConvKind kind, Type type,
                                     bool channelsLast) const {
  size_t rank = input.size();
  auto x = imagesOf(batch, groups * inputChannels, input, type, channelsLast),
       y = imagesOf(batch, groups * outputChannels, outputsOf(*this), type, channelsLast),
       w = imagesOf(groups * outputChannels, inputChannels, kernel, type, channelsLast);
  Sizes partSizes(w.getShape());
  partSizes.insert(partSizes.begin(), parts);
  auto sums = RankedTensorType::get(partSizes, kernel::computeType(type));
  auto create = [&](Type result, Type a, Type b) {
    return builder.create<table::ConvOp>(builder.getUnknownLoc(), result, kind, operand(builder, a),
                                         operand(builder, b), orElse(strides, rank, 1),
                                         orElse(dilations, rank, 1), orElse(pads, 2 * rank, 0),
                                         groups, channelsLast, ArrayAttr());
  };
  switch (kind) {
  case table::ConvKind::Forward:
    return create(y, x, w);
  case table::ConvKind::InputGradient:
    return create(x, y, w);
  case table::ConvKind::WeightGradient:
    return create(sums, y, x);
  }
  llvm_unreachable("kind of convolution");
}

table::PoolOp WindowCase::createPool(OpBuilder &builder, table::PoolKind kind, Type type,
                                     bool channelsLast, bool countsPads) const {
  size_t rank = input.size();
  auto x = imagesOf(batch, groups * inputChannels, input, type, channelsLast),
       y = imagesOf(batch, groups * inputChannels, outputsOf(*this), type, channelsLast);
  bool isAdjoint = kind == table::PoolKind::MaxGradient || kind == table::PoolKind::AverageGradient;
  SmallVector<Value> operands;
  if (kind != table::PoolKind::AverageGradient)
    operands.push_back(operand(builder, x));
  if (isAdjoint)
    operands.push_back(operand(builder, y));
  Sizes allPads = orElse(pads, 2 * rank, 0), counted(2 * rank, 0);
  if (countsPads)
    counted = allPads;
  return builder.create<table::PoolOp>(builder.getUnknownLoc(), isAdjoint ? x : y, kind, operands,
                                       kernel, orElse(strides, rank, 1), orElse(dilations, rank, 1),
                                       allPads, counted, channelsLast, ArrayAttr());
}

const std::vector<WindowCase> &tests::windowCases() {
  static const std::vector<WindowCase> cases = {
      {"ofOne", 1, 1, 1, 1, {1}, {1}},
      {"whole", 3, 1, 5, 2, {6, 7}, {6, 7}},
      {"oneWindow", 2, 1, 3, 2, {5, 8}, {3, 3}, {9, 9}, {2, 3}, {1, 0, 0, 0}},
      {"row", 2, 1, 3, 5, {37}, {4}, {}, {}, {2, 1}},
      {"square", 2, 1, 8, 17, {9, 11}, {3, 3}, {}, {}, {1, 1, 1, 1}},
      {"cube", 1, 1, 3, 4, {5, 4, 6}, {2, 3, 3}, {1, 2, 1}, {}, {1, 0, 1, 0, 1, 1}},
      {"strided", 2, 1, 5, 8, {12, 11}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}},
      {"gaps", 2, 1, 4, 5, {9, 9}, {2, 1}, {3, 4}},
      {"dilated", 1, 1, 3, 6, {12, 13}, {3, 3}, {1, 2}, {2, 3}, {2, 3, 1, 4}},
      {"asymmetric", 2, 1, 1, 5, {6, 7}, {2, 4}, {}, {}, {1, 0, 0, 3}},
      {"cropped", 1, 1, 3, 2, {9, 8}, {3, 2}, {}, {}, {-1, 1, 1, -2}},
      {"padsBeyondTheWindow", 1, 1, 2, 3, {4, 3}, {2, 2}, {2, 1}, {}, {3, 2, 4, 3}},
      {"groups", 2, 3, 2, 4, {7, 6}, {3, 3}, {}, {}, {1, 1, 1, 1}},
      {"depthwise", 2, 9, 1, 1, {8, 7}, {3, 3}, {2, 1}, {}, {1, 1, 1, 1}},
      {"depthwiseTwo", 1, 5, 1, 2, {8}, {3}},
      {"depthwiseWide",
       1,
       35,
       1,
       1,
       {3, 9, 8},
       {2, 1, 3},
       {1, 1, 2},
       {1, 2, 2},
       {0, 1, 1, 1, 0, 0}},
      {"manyRows", 1, 1, 66, 70, {5, 4}, {1, 1}},
      {"stridedBeyondTheWindow", 1, 1, 3, 4, {11, 13}, {2, 4}, {3, 3}, {}, {-1, 4, 2, 1}},
      // Channels that tensor cores take.
      {"eightsStrided", 2, 1, 16, 8, {9, 10}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}},
      {"eights", 2, 1, 8, 24, {7, 9}, {3, 3}, {}, {}, {1, 1, 1, 1}},
      {"eightsInGroups", 1, 2, 16, 8, {6, 5}, {2, 3}, {2, 1}, {1, 2}, {0, 2, 1, 1}},
      {"eightsRow", 3, 1, 24, 72, {50}, {1}, {2}},
      {"eightsCube", 1, 1, 8, 40, {4, 5, 3}, {2, 1, 2}, {}, {}, {1, 0, 0, 0, -1, 1}},
      {"eightsWide", 1, 1, 136, 160, {6, 7}, {1, 2}},
      {"emptyParts", 1, 1, 2, 3, {2, 2}, {2, 2}, {}, {}, {}, 5},
  };
  return cases;
}

void tests::PrintTo(const WindowCase &window, std::ostream *os) { *os << window.name; }

std::string tests::describeEntry(Operation *entry) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto say = [&](auto op, StringRef kind) {
    stream << kind << " " << getElementTypeOrSelf(op->getOperand(0).getType())
           << (op.getChannelsLast() ? " channels last" : "");
  };
  if (auto conv = dyn_cast<table::ConvOp>(entry))
    say(conv, table::stringifyConvKind(conv.getKind()));
  else
    say(cast<table::PoolOp>(entry), table::stringifyPoolKind(cast<table::PoolOp>(entry).getKind()));
  return text;
}

FailureOr<codegen::Grid> tests::emitEntry(OpBuilder &builder, Operation *entry, StringRef name) {
  if (auto conv = dyn_cast<table::ConvOp>(entry))
    return codegen::emitCudaKernel(builder, conv, name);
  return codegen::emitCudaKernel(builder, cast<table::PoolOp>(entry), name);
}

OwningOpRef<ModuleOp> tests::entriesOf(const WindowCase &window, MLIRContext &context) {
  context.loadDialect<func::FuncDialect, table::TableDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(builder.getUnknownLoc(), "entries",
                                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  for (Type type :
       {builder.getF32Type(), builder.getF64Type(), builder.getF16Type(), builder.getBF16Type()})
    for (bool channelsLast : {false, true}) {
      for (auto kind : {table::ConvKind::Forward, table::ConvKind::InputGradient,
                        table::ConvKind::WeightGradient})
        window.createConv(builder, kind, type, channelsLast);
      for (auto kind : {table::PoolKind::Max, table::PoolKind::MaxGradient})
        window.createPool(builder, kind, type, channelsLast, false);
      for (auto kind : {table::PoolKind::Average, table::PoolKind::AverageGradient})
        for (bool countsPads : {false, true})
          window.createPool(builder, kind, type, channelsLast, countsPads);
    }
  builder.create<func::ReturnOp>(builder.getUnknownLoc());
  return module;
}
