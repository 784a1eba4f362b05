//===- FusedConvCases.h - convolutions that a loss follows ----------------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_FUSEDCONVCASES_H
#define HALFSTEP_TESTS_CODEGEN_FUSEDCONVCASES_H

#include "codegen/EmitCuda.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <string>
#include <vector>

namespace halfstep::tests {

enum class LossKind { Squared, Absolute, Huber };

/// y = conv(x, w) + bias and a sum of losses of y - label, with everything down to the gradients.
struct FusedConvCase {
  const char *name;
  int64_t batch, inputs, outputs; // channels
  std::array<int64_t, 2> input, kernel;
  const char *type = "f16", *label = "f16";
  LossKind loss = LossKind::Squared;
  bool hasBias = true, channelsLast = false;
  bool hasForeignLabel = false; // in the other layout than the convolution's
  std::array<int64_t, 2> stride = {1, 1}, dilation = {1, 1};
  std::array<int64_t, 4> pads = {0, 0, 0, 0}; // in front, then behind
  bool hasGradient = true;                    // else there is the loss alone

  std::array<int64_t, 2> output() const;
  int64_t positions() const { return output()[0] * output()[1]; }
  /// A number in y, or in the label.
  int64_t offsetInOutput(int64_t image, int64_t channel, int64_t position, bool isLabel) const;

  /// A function @micro(%x, %w, %bias, %label, %scale) of the entries as form-kernels leaves them,
  /// to the sum of losses, the gradient of w in f32, and that of the bias: in f32, with elements
  /// that have yet to be added up.
  std::string text() const;
};

void PrintTo(const FusedConvCase &fused, std::ostream *os);

const std::vector<FusedConvCase> &fusedConvCases();

/// Parses the case; with `fuse`, its entries become one, and what sums up after it.
mlir::OwningOpRef<mlir::ModuleOp> programOf(const FusedConvCase &fused, bool fuse,
                                            mlir::MLIRContext &context);

/// Emits all kernels of a program. Those that are entries by themselves are called entry0, ...
struct EmittedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> code;
  llvm::StringMap<codegen::Grid> grids;
  std::vector<std::pair<mlir::Operation *, std::string>> entries; // in order, with their kernels
};
EmittedProgram emitProgram(mlir::ModuleOp program);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_FUSEDCONVCASES_H
