//===- Pins.h - Types that the user gives to ops --------------------------===//

#ifndef HALFSTEP_PASSES_PINS_H
#define HALFSTEP_PASSES_PINS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include <regex>
#include <string>

namespace halfstep {

/// `--pin REGEX=fp32|fp16|bf16`: ECMAScript, searched in the names of an op's node and of the op
/// itself. The first pin that matches holds.
class Pins {
public:
  /// Reports the first text that is no pin.
  static mlir::FailureOr<Pins>
  parse(llvm::ArrayRef<std::string> texts, mlir::MLIRContext *context,
        llvm::function_ref<mlir::InFlightDiagnostic(const llvm::Twine &)> emitError);

  /// What `op` is pinned to, or null.
  mlir::Type typeOf(mlir::Operation *op);

  /// The pins that `typeOf` never chose.
  llvm::SmallVector<std::string> unused() const;

private:
  struct Pin {
    std::string text;
    std::regex pattern;
    mlir::Type type;
    bool isUsed = false;
  };
  llvm::SmallVector<Pin> pins;
};

} // namespace halfstep

#endif
