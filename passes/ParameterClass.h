//===- ParameterClass.h - Full and low parameters -------------------------===//

#ifndef HALFSTEP_PASSES_PARAMETERCLASS_H
#define HALFSTEP_PASSES_PARAMETERCLASS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Pins.h"
#include "llvm/ADT/DenseSet.h"
#include <string>

namespace halfstep {

/// The parameters that some op reads otherwise than in f32. A parameter all of whose uses, in all
/// programs, are Full ops or pinned to f32 is *full*: it needs no 16-bit copy and its gradient is
/// f32.
llvm::DenseSet<mlir::StringAttr> findLowParameters(mlir::ModuleOp module, Pins &pins);

} // namespace halfstep

#endif
