//===- Passes.h - code generation, step by step --------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_PASSES_H
#define HALFSTEP_CODEGEN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace halfstep::codegen {

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_PASSES_H
