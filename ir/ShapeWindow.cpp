//===- ShapeWindow.cpp - Shape rules of what slides a window --------------===//

#include "ir/Shape.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace halfstep::train;
using Shape = ShapeBuilder::Shape;

/// No size, stride, dilation or pad beyond it, so that none of the formulas below can overflow.
static constexpr int64_t largest = (int64_t(1) << 31) - 1;

Shape ShapeBuilder::slide(ArrayRef<int64_t> sizes, ArrayRef<int64_t> kernel,
                          const Sliding &sliding) {
  size_t rank = sizes.size();
  auto areBetween = [](int64_t least, ArrayRef<int64_t> numbers) {
    return llvm::all_of(numbers, [&](int64_t n) { return n >= least && n <= largest; });
  };
  if (rank < 1 || rank > 3)
    return error("slides over one to three spatial dimensions, not " + Twine(rank));
  if (kernel.size() != rank || sliding.strides.size() != rank || sliding.dilations.size() != rank ||
      sliding.pads.size() != 2 * rank)
    return error("needs a kernel size, a stride, a dilation and two pads for each of " +
                 Twine(rank) + " spatial dimensions");
  if (!areBetween(1, sizes) || !areBetween(1, kernel) || !areBetween(1, sliding.strides) ||
      !areBetween(1, sliding.dilations) || !areBetween(0, sliding.pads))
    return error("needs sizes, strides and dilations of 1 or more and pads of 0 or more, below "
                 "2^31");
  SmallVector<int64_t> result;
  for (size_t i = 0; i < rank; ++i) {
    int64_t padded = sizes[i] + sliding.pads[i] + sliding.pads[rank + i];
    int64_t extent = (kernel[i] - 1) * sliding.dilations[i] + 1;
    if (extent > padded)
      return error("has a window of " + Twine(extent) + " points for a padded size of " +
                   Twine(padded));
    result.push_back((padded - extent) / sliding.strides[i] + 1);
  }
  return result;
}

ArrayRef<int64_t> halfstep::train::spatialSizes(RankedTensorType type, bool channelsLast) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() < 3)
    return {};
  return channelsLast ? shape.drop_front().drop_back() : shape.drop_front(2);
}

RankedTensorType halfstep::train::channelsFirst(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  if (shape.size() > 2)
    std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return type.clone(shape);
}

/// The rule for channels first, where the layout is another.
static Sliding inPlanes(Sliding sliding) {
  sliding.channelsLast = false;
  return sliding;
}
static Shape channelsLast(Shape shape) {
  if (succeeded(shape))
    std::rotate(shape->begin() + 1, shape->begin() + 2, shape->end());
  return shape;
}

Shape ShapeBuilder::convolution(Tensor x, Tensor w, const Sliding &sliding, int64_t groups) {
  if (sliding.channelsLast)
    return channelsLast(convolution(channelsFirst(x), channelsFirst(w), inPlanes(sliding), groups));
  if (x.getRank() < 3 || w.getRank() != x.getRank())
    return error("needs x and w of one rank, 3 or more, not " + Twine(x.getRank()) + " and " +
                 Twine(w.getRank()));
  int64_t channels = x.getDimSize(1), outputs = w.getDimSize(0);
  if (groups < 1 || channels % groups || outputs % groups || w.getDimSize(1) * groups != channels)
    return error("cannot share " + Twine(channels) + " channels out to " + Twine(outputs) +
                 " filters of " + Twine(w.getDimSize(1)) + " channels in " + Twine(groups) +
                 " groups");
  Shape spatial = slide(x.getShape().drop_front(2), w.getShape().drop_front(2), sliding);
  if (succeeded(spatial))
    spatial->insert(spatial->begin(), {x.getDimSize(0), outputs});
  return spatial;
}

/// `result`, if the op that it is the operand of gives the shape of dy.
static bool fits(const Shape &forward, ShapeBuilder::Tensor dy) {
  return succeeded(forward) && ArrayRef(*forward) == dy.getShape();
}

Shape ShapeBuilder::convolutionInput(Tensor dy, Tensor w, ArrayRef<int64_t> sizes,
                                     const Sliding &sliding, int64_t groups) {
  if (sliding.channelsLast)
    return channelsLast(
        convolutionInput(channelsFirst(dy), channelsFirst(w), sizes, inPlanes(sliding), groups));
  if (dy.getRank() < 3 || w.getRank() < 3)
    return error("needs dy and w of rank 3 or more");
  SmallVector<int64_t> x{dy.getDimSize(0), w.getDimSize(1) * groups};
  llvm::append_range(x, sizes);
  if (!fits(convolution(Tensor::get(x, dy.getElementType()), w, sliding, groups), dy))
    return error("has a dy that is not of the shape of the convolution");
  return x;
}

Shape ShapeBuilder::convolutionWeight(Tensor dy, Tensor x, ArrayRef<int64_t> kernel,
                                      const Sliding &sliding, int64_t groups) {
  if (sliding.channelsLast)
    return channelsLast(
        convolutionWeight(channelsFirst(dy), channelsFirst(x), kernel, inPlanes(sliding), groups));
  if (dy.getRank() < 3 || x.getRank() < 3 || groups < 1)
    return error("needs dy and x of rank 3 or more and at least one group");
  SmallVector<int64_t> w{dy.getDimSize(1), x.getDimSize(1) / groups};
  llvm::append_range(w, kernel);
  if (!fits(convolution(x, Tensor::get(w, x.getElementType()), sliding, groups), dy))
    return error("has a dy that is not of the shape of the convolution");
  return w;
}

Shape ShapeBuilder::pool(Tensor x, ArrayRef<int64_t> kernel, const Sliding &sliding) {
  if (sliding.channelsLast)
    return channelsLast(pool(channelsFirst(x), kernel, inPlanes(sliding)));
  if (x.getRank() < 3)
    return error("needs x of rank 3 or more");
  Shape spatial = slide(x.getShape().drop_front(2), kernel, sliding);
  if (succeeded(spatial))
    spatial->insert(spatial->begin(), {x.getDimSize(0), x.getDimSize(1)});
  return spatial;
}

Shape ShapeBuilder::averagePool(Tensor x, ArrayRef<int64_t> kernel, const Sliding &sliding,
                                ArrayRef<int64_t> countedPads) {
  Shape result = pool(x, kernel, sliding);
  if (failed(result))
    return failure();
  if (countedPads.size() != sliding.pads.size() ||
      llvm::any_of(llvm::zip(countedPads, sliding.pads), [](auto pair) {
        auto [counted, pad] = pair;
        return counted < 0 || counted > pad;
      }))
    return error("counts padding that it does not have");
  return result;
}

Shape ShapeBuilder::poolInput(Tensor dy, ArrayRef<int64_t> sizes, ArrayRef<int64_t> kernel,
                              const Sliding &sliding) {
  if (sliding.channelsLast)
    return channelsLast(poolInput(channelsFirst(dy), sizes, kernel, inPlanes(sliding)));
  if (dy.getRank() < 3)
    return error("needs dy of rank 3 or more");
  SmallVector<int64_t> x{dy.getDimSize(0), dy.getDimSize(1)};
  llvm::append_range(x, sizes);
  if (!fits(pool(Tensor::get(x, dy.getElementType()), kernel, sliding), dy))
    return error("has a dy that is not of the shape of the pooling");
  return x;
}
