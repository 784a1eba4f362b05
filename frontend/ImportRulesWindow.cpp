//===- ImportRulesWindow.cpp - Convolution and pooling --------------------===//
//
// Automatic padding and ceil_mode say how many windows there are; explicit pads say the same, so
// that is what becomes of them.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportRules.h"
#include "frontend/ShapeOperands.h"
#include "ir/TrainDialect.h"

#include <cassert>

using namespace mlir;

namespace halfstep {
namespace {

/// A node's window, with explicit pads.
struct Window {
  SmallVector<int64_t> kernel, strides, dilations, pads;
  /// Of the pads, what is not there only to complete a last window (ceil_mode).
  SmallVector<int64_t> ownPads;

  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

/// The integers of attribute `name`: one for each of `count`, `otherwise` where it is absent.
Sizes integersOf(OpBinder &b, StringRef name, size_t count, int64_t otherwise) {
  const onnx::AttributeProto *found = b.attribute(name);
  if (!found)
    return SmallVector<int64_t>(count, otherwise);
  if (size_t(found->ints_size()) != count)
    return b.error() << "has " << found->ints_size() << " " << name << ", but needs " << count;
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

bool areBetween(int64_t least, ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [&](int64_t n) { return n >= least && n < int64_t(1) << 31; });
}

/// As many windows as steps of the stride in the input; what is odd is padded behind (SAME_UPPER)
/// or in front.
void padToSame(Window &window, ArrayRef<int64_t> input, bool isUpper) {
  size_t rank = input.size();
  for (size_t i = 0; i < rank; ++i) {
    int64_t count = (input[i] + window.strides[i] - 1) / window.strides[i];
    int64_t needed = (count - 1) * window.strides[i] + window.extent(i) - input[i];
    int64_t total = std::max<int64_t>(0, needed), half = total / 2;
    window.pads[i] = isUpper ? half : total - half;
    window.pads[rank + i] = total - window.pads[i];
  }
}

/// A last window may reach beyond the padding, but starts in the input or in front of it.
LogicalResult completeLastWindow(OpBinder &b, Window &window, ArrayRef<int64_t> input) {
  size_t rank = input.size();
  for (size_t i = 0; i < rank; ++i) {
    int64_t front = window.pads[i], &behind = window.pads[rank + i], stride = window.strides[i];
    int64_t room = input[i] + front + behind - window.extent(i);
    if (room < 0)
      continue; // the shape rule refuses it
    int64_t count = (room + stride - 1) / stride + 1;
    if ((count - 1) * stride >= input[i] + front) {
      if (b.opset < 22)
        return b.error() << "has a last window that starts behind its input, which PyTorch and "
                            "newer operator sets leave out; export it with operator set 22";
      --count;
    }
    if (count != room / stride + 1)
      behind = (count - 1) * stride + window.extent(i) - input[i] - front;
  }
  return success();
}

/// The window of a node that slides `kernel` over `input`.
FailureOr<Window> windowOf(OpBinder &b, ArrayRef<int64_t> input, ArrayRef<int64_t> kernel) {
  size_t rank = input.size();
  Sizes strides = integersOf(b, "strides", rank, 1);
  Sizes dilations = integersOf(b, "dilations", rank, 1);
  Sizes pads = integersOf(b, "pads", 2 * rank, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  if (kernel.size() != rank)
    return b.error() << "has a kernel of " << kernel.size() << " dimensions for an input of "
                     << rank << " spatial dimensions";
  if (!areBetween(1, kernel) || !areBetween(1, *strides) || !areBetween(1, *dilations) ||
      !areBetween(0, *pads) || !areBetween(1, input))
    return b.error() << "needs kernel, strides and dilations of 1 or more and pads of 0 or more, "
                        "below 2^31";
  Window window{SmallVector<int64_t>(kernel), *strides, *dilations, *pads, {}};

  const onnx::AttributeProto *found = b.attribute("auto_pad");
  std::string autoPad = found ? found->s() : "NOTSET";
  bool isUpper = autoPad == "SAME_UPPER";
  if (isUpper || autoPad == "SAME_LOWER")
    padToSame(window, input, isUpper);
  else if (autoPad == "VALID")
    window.pads.assign(2 * rank, 0);
  else if (autoPad != "NOTSET" && !autoPad.empty())
    return b.error() << "has an auto_pad '" << autoPad << "', which ONNX does not know";
  window.ownPads = window.pads;
  if (b.integer("ceil_mode", 0) && failed(completeLastWindow(b, window, input)))
    return failure();
  return window;
}

SmallVector<NamedAttribute> slidingAttributes(OpBinder &b, const Window &window) {
  Builder &builder = b.scope.builder;
  return {b.named("strides", builder.getDenseI64ArrayAttr(window.strides)),
          b.named("dilations", builder.getDenseI64ArrayAttr(window.dilations)),
          b.named("pads", builder.getDenseI64ArrayAttr(window.pads))};
}

/// Operand `i`, a float tensor with spatial dimensions; null after a report.
Value spatialOperand(OpBinder &b, unsigned i) {
  Value x = b.operand(i);
  if (!x)
    return {};
  if (!isa<FloatType>(getElementTypeOrSelf(x))) {
    b.error() << "is supported on floats only, not on " << x.getType();
    return {};
  }
  if (sizesOf(x).size() < 3) {
    b.error() << "needs an operand of rank 3 or more (batch, channels, sizes), not " << x.getType();
    return {};
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

LogicalResult conv(OpBinder &b) {
  Value x = spatialOperand(b, 0), w = spatialOperand(b, 1);
  if (!x || !w)
    return failure();
  ArrayRef<int64_t> input = sizesOf(x).drop_front(2), kernel = sizesOf(w).drop_front(2);
  Sizes stated = integersOf(b, "kernel_shape", kernel.size(), 0);
  if (failed(stated))
    return failure();
  if (b.attribute("kernel_shape") && ArrayRef(*stated) != kernel)
    return b.error() << "has a kernel_shape that is not that of its filters, " << w.getType();
  FailureOr<Window> window = windowOf(b, input, kernel);
  if (failed(window))
    return failure();
  SmallVector<NamedAttribute> attributes = slidingAttributes(b, *window);
  attributes.push_back(b.named("groups", b.scope.builder.getI64IntegerAttr(b.integer("group", 1))));
  Value y = b.create<train::ConvOp>({x, w}, attributes);
  if (!y || !b.has(2))
    return b.bind(0, y);

  Value bias = b.operand(2);
  int64_t channels = sizesOf(y)[1];
  if (!bias)
    return failure();
  if (sizesOf(bias) != ArrayRef(channels))
    return b.error() << "has a bias of type " << bias.getType() << " for " << channels
                     << " output channels";
  SmallVector<int64_t> sizes(sizesOf(y).size() - 1, 1);
  sizes[0] = channels;
  return b.bind(0, addBias(b, y, b.reshape(bias, sizes)));
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

FailureOr<Window> pooledWindow(OpBinder &b, Value x) {
  const onnx::AttributeProto *kernel = b.attribute("kernel_shape");
  assert(kernel && "required, as onnx's checker knows");
  FailureOr<Window> window =
      windowOf(b, sizesOf(x).drop_front(2),
               SmallVector<int64_t>(kernel->ints().begin(), kernel->ints().end()));
  if (failed(window))
    return failure();
  for (auto [i, pad] : llvm::enumerate(window->ownPads))
    if (pad >= window->extent(i % window->kernel.size()))
      return b.error() << "has pads as large as its window: some windows would hold no number";
  return window;
}

/// The attributes of max_pool; average_pool has one more.
SmallVector<NamedAttribute> poolAttributes(OpBinder &b, const Window &window) {
  SmallVector<NamedAttribute> attributes = slidingAttributes(b, window);
  attributes.push_back(b.named("kernel", b.scope.builder.getDenseI64ArrayAttr(window.kernel)));
  return attributes;
}

LogicalResult maxPool(OpBinder &b) {
  Value x = spatialOperand(b, 0);
  if (!x)
    return failure();
  if (b.uses(1))
    return b.error() << "its second output, the indices of the maxima, is not supported";
  FailureOr<Window> window = pooledWindow(b, x);
  if (failed(window))
    return failure();
  return b.bind(0, b.create<train::MaxPoolOp>(x, poolAttributes(b, *window)));
}

LogicalResult averagePool(OpBinder &b) {
  Value x = spatialOperand(b, 0);
  if (!x)
    return failure();
  FailureOr<Window> window = pooledWindow(b, x);
  if (failed(window))
    return failure();
  SmallVector<int64_t> counted(window->pads.size(), 0);
  if (b.integer("count_include_pad", 0))
    for (auto [i, pad] : llvm::enumerate(window->ownPads))
      counted[i] = std::min(pad, window->pads[i]);
  SmallVector<NamedAttribute> attributes = poolAttributes(b, *window);
  attributes.push_back(b.named("countedPads", b.scope.builder.getDenseI64ArrayAttr(counted)));
  return b.bind(0, b.create<train::AveragePoolOp>(x, attributes));
}

LogicalResult globalAveragePool(OpBinder &b) {
  Value x = spatialOperand(b, 0);
  if (!x)
    return failure();
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, sizesOf(x).size()));
  return b.bind(
      0, b.create<train::MeanOp>(x, b.named("axes", b.scope.builder.getDenseI64ArrayAttr(axes))));
}

/// One window over everything and not a reduction, whose adjoint ties would share: as in PyTorch,
/// the first maximum has it.
LogicalResult globalMaxPool(OpBinder &b) {
  Value x = spatialOperand(b, 0);
  if (!x)
    return failure();
  SmallVector<int64_t> sizes(sizesOf(x));
  int64_t count = *elementCount(ArrayRef(sizes).drop_front(2));
  Value flat = b.reshape(x, {sizes[0], sizes[1], count});
  Value y =
      b.create<train::MaxPoolOp>(flat, poolAttributes(b, {{count}, {1}, {1}, {0, 0}, {0, 0}}));
  std::fill(sizes.begin() + 2, sizes.end(), 1);
  return b.bind(0, b.reshape(y, sizes));
}

constexpr RuleCategory Low = RuleCategory::Low, Widest = RuleCategory::Widest;

const ImportRule rules[] = {
    {"AveragePool", 1, averagePool, Widest},
    {"Conv", 1, conv, Low},
    {"GlobalAveragePool", 1, globalAveragePool, Widest},
    {"GlobalMaxPool", 1, globalMaxPool, Widest},
    {"MaxPool", 1, maxPool, Widest},
};

} // namespace

ArrayRef<ImportRule> windowRules() { return rules; }

} // namespace halfstep
