//===- Passes.h - Every pass of the phases --------------------------------===//

#ifndef HALFSTEP_PASSES_PASSES_H
#define HALFSTEP_PASSES_PASSES_H

#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace halfstep {

/// Which layout `assign-layout` gives a region.
enum class Layout { ByCost, ChannelsFirst, ChannelsLast };

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace halfstep

#endif
