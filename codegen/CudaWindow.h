//===- CudaWindow.h - sliding windows in grid kernels --------------------------------------===//
//
// Points of a window that lie in padding are read all the same, from the tensor's first element,
// and then not taken: no thread leaves its warp's path, and loads can be issued together.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDAWINDOW_H
#define HALFSTEP_CODEGEN_CUDAWINDOW_H

#include "codegen/CudaGroupEmitter.h"
#include "runtime/step_abi.h"

namespace halfstep::codegen {

/// Numbers of the three spatial dimensions.
using Position = std::array<Value, 3>;

inline int64_t volumeOf(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

/// How far apart in memory, in elements, neighbours lie in a tensor [images, channels, sizes...],
/// or [images, sizes..., channels].
struct ImageStrides {
  ImageStrides(int64_t channels, const int64_t (&sizes)[3], bool channelsLast);

  int64_t image, channel, position[3];
};

/// An element of a tensor; `isThere` is null where it always is.
struct Element {
  Value offset, isThere;
};

class CudaWindow {
public:
  CudaWindow(CudaBuilder &b, const hs_window &window, Type indexType)
      : b(b), window(window), indexType(indexType) {}

  /// The position that is `number` in row-major order.
  Position split(Value number, const int64_t (&sizes)[3]);
  struct Place {
    Value image, channel;
    Position at;
  };
  /// Where an element of a tensor of images is, which has that many channels.
  Place splitElement(Value element, int64_t channels, const int64_t (&sizes)[3], bool channelsLast);
  /// `position` must be there.
  Value offset(const ImageStrides &strides, Value image, Value channel, const Position &position);

  struct Read {
    Position at;
    Value isInside; // null: always
  };
  /// What an output reads with a point of its window.
  Read inputOf(const Position &output, const Position &point);
  /// The output that reads an input with a point of its window.
  Read outputOf(const Position &input, const Position &point);

  /// With which point of its window the first output reads an input.
  Read pointOf(const Position &input);

  /// Points of the window at an output that lie in [-front, input + behind), in one dimension.
  Value countPoints(int dimension, Value output, int64_t front, int64_t behind);

  /// values = body(point, values) for every point of the window, row-major.
  template <typename Body> SmallVector<Value> foldPoints(SmallVector<Value> values, Body body) {
    Position point;
    return foldPoints(0, point, std::move(values), body);
  }

private:
  template <typename Body>
  SmallVector<Value> foldPoints(int dimension, Position &point, SmallVector<Value> values,
                                Body &body) {
    if (dimension == 3)
      return body(point, values);
    auto inner = [&](Value k, SmallVector<Value> carried) {
      point[dimension] = k;
      return foldPoints(dimension + 1, point, std::move(carried), body);
    };
    Value zero = b.constant(indexType, 0);
    if (window.kernel[dimension] == 1)
      return inner(zero, values);
    return b.fold(zero, b.constant(indexType, window.kernel[dimension]), 1, values, inner);
  }

  CudaBuilder &b;
  const hs_window &window;
  Type indexType;
};

/// The type to count in for the tensors of `entry` and the positions that its window comes to,
/// padding included.
Type indexTypeFor(CudaBuilder &b, const hs_window &window, mlir::Operation *entry);

/// `element` in its compute type, zero where it is not there.
Value loadElement(CudaBuilder &b, Value pointer, Type storage, const Element &element);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDAWINDOW_H
