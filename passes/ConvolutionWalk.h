//===- ConvolutionWalk.h - A group, walked by a convolution's axes --------===//
//
// Fusion chooses a group's space by what its buffers have in common: the output of a convolution
// may be walked as [images, channels, positions], as [images * positions, channels], or as one run.
// Here the dimensions are cut and joined to the three that a convolution has.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_CONVOLUTIONWALK_H
#define HALFSTEP_PASSES_CONVOLUTIONWALK_H

#include "ir/KernelDialect.h"
#include <array>

namespace halfstep {

enum Axis : unsigned { kImage, kPosition, kChannel };

struct ConvolutionWalk {
  using ByAxis = std::array<int64_t, 3>;

  /// Of a group, by the axes of its argument number `output`, which is all of an output `y` of a
  /// convolution. nullopt if it walks that, or anything beside it, in another manner.
  static std::optional<ConvolutionWalk> of(kernel::GroupOp group, unsigned output,
                                           mlir::RankedTensorType y, bool channelsLast);

  ByAxis sizes;
  llvm::SmallVector<ByAxis> buffers;                 ///< strides of the group's
  llvm::DenseMap<mlir::Operation *, ByAxis> indices; ///< likewise, a kernel.index each
  std::array<bool, 3> isReduced{}; ///< whether the group's reductions are over the axis
};

} // namespace halfstep

#endif
