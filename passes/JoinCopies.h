//===- JoinCopies.h - One entry for several small copies ------------------===//

#ifndef HALFSTEP_PASSES_JOINCOPIES_H
#define HALFSTEP_PASSES_JOINCOPIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace halfstep {

/// Copies of single elements that follow each other, come from one node and do not depend on each
/// other become one launch, in a planned program: on a device each entry costs more than its bytes.
///
///   table.copy %a : f64      =>      table.launch @update_copies(%a, %b)
///   table.copy %b : f64              kernel.group @update_copies [1](%a, %b) -> (f64, f64)
void joinCopies(mlir::func::FuncOp program);

} // namespace halfstep

#endif
