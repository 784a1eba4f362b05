//===- GroupApart.h - What a group computes at positions, and the rest ----===//

#ifndef HALFSTEP_PASSES_GROUPAPART_H
#define HALFSTEP_PASSES_GROUPAPART_H

#include "passes/ConvolutionWalk.h"

namespace halfstep {

/// A group in two; numbers are those of the original's arguments and results.
struct GroupApart {
  /// Over [images, positions, channels]: from `positionArguments`, y first, to a value for each
  /// reduction, of `valueTypes`, and dy.
  kernel::GroupOp positions;
  llvm::SmallVector<unsigned> positionArguments;
  llvm::SmallVector<mlir::Type> valueTypes;
  /// Results that are a reduction's values already, and which one's.
  llvm::SmallVector<std::pair<unsigned, unsigned>> finished;
  /// From all reductions' values and `sumArguments` to `sumResults`; null if nothing is left.
  kernel::GroupOp sums;
  llvm::SmallVector<unsigned> sumArguments, sumResults;
};

/// Takes apart a group on argument `output`, the output of a convolution. All of its results are
/// made of its reductions, which are over positions among others, but for `dy`, if there is one,
/// which waits for none of them. The group itself stays as it is.
GroupApart takeApart(kernel::GroupOp group, unsigned output, std::optional<unsigned> dy,
                     const ConvolutionWalk &walk, mlir::SymbolTable &kernels);

} // namespace halfstep

#endif
