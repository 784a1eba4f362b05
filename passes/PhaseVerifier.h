//===- PhaseVerifier.h - What each phase promises -------------------------===//
//
// One function a phase: it fails, with an error, at the first promise that the module breaks. They
// look at the module alone, so that a planner and its verifier cannot share a mistake.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_PHASEVERIFIER_H
#define HALFSTEP_PASSES_PHASEVERIFIER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace halfstep {

/// Reports, at `location`, that `phase` left `what`, with `detail` for the developer.
llvm::LogicalResult brokenPromise(mlir::Location location, llvm::StringRef phase,
                                  const llvm::Twine &what, const llvm::Twine &detail);

/// One block in every function; constants are one number, categories known. Holds behind every phase.
llvm::LogicalResult verifyBodies(mlir::ModuleOp, llvm::StringRef phase);
/// Each argument and result of @forward, @evaluate and @micro says what it is, and arguments have
/// static shapes. Holds until the update phase, whose directory knows all values.
llvm::LogicalResult verifySignatures(mlir::ModuleOp, llvm::StringRef phase);

/// Static shapes; only train ops and constants; a place in the ONNX file for each.
llvm::LogicalResult verifyImport(mlir::ModuleOp);
/// A scalar loss of 32 bits or more, and a gradient of its shape for what is trained.
llvm::LogicalResult verifyGrad(mlir::ModuleOp);
/// No op but casts mixes float types; no adjoint is left; gradients as behind the grad phase.
llvm::LogicalResult verifyPrecision(mlir::ModuleOp);
/// The entry functions, all of whose arguments and results the directory knows; what the optimizer
/// keeps is f32 or f64.
llvm::LogicalResult verifyUpdate(mlir::ModuleOp);
/// Only table ops, whose tensors hold all that their kernels touch.
llvm::LogicalResult verifyKernels(mlir::ModuleOp);
/// Slices everywhere, and every read finds the value that it names.
llvm::LogicalResult verifyMemory(mlir::ModuleOp);

} // namespace halfstep

#endif
