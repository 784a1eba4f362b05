//===- WindowCases.h - convolutions and poolings of many shapes -----------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_WINDOWCASES_H
#define HALFSTEP_TESTS_CODEGEN_WINDOWCASES_H

#include "codegen/EmitCuda.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace halfstep::tests {

/// A window over images; one number for each spatial dimension.
struct WindowCase {
  const char *name;
  int64_t batch, groups, inputChannels, outputChannels; // channels of one group
  std::vector<int64_t> input, kernel;
  std::vector<int64_t> strides = {}, dilations = {}; // none: ones
  std::vector<int64_t> pads = {};                    // in front, then behind; none: zeros
  int64_t parts = 3;                                 // of a weight gradient

  table::ConvOp createConv(mlir::OpBuilder &builder, table::ConvKind kind, mlir::Type type,
                           bool channelsLast) const;
  /// Of all channels of the input. `countsPads`: an average is over the padding too.
  table::PoolOp createPool(mlir::OpBuilder &builder, table::PoolKind kind, mlir::Type type,
                           bool channelsLast, bool countsPads) const;
};

/// For messages.
void PrintTo(const WindowCase &window, std::ostream *os);

/// Sizes that no tile divides, groups, windows that leave gaps or lie in padding alone.
const std::vector<WindowCase> &windowCases();

/// "forward f16 channels last" and the like: what says all about an entry of a case but its sizes.
std::string describeEntry(mlir::Operation *entry);

/// Emits the kernel of a table.conv or table.pool.
mlir::FailureOr<codegen::Grid> emitEntry(mlir::OpBuilder &builder, mlir::Operation *entry,
                                         llvm::StringRef name);

/// The entries of a case: every kind, in every type and layout, in a function of the module.
mlir::OwningOpRef<mlir::ModuleOp> entriesOf(const WindowCase &window, mlir::MLIRContext &context);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_WINDOWCASES_H
