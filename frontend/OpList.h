//===- OpList.h - Which ONNX ops are supported, and how -------------------===//
//
// Read off the tables that do the work, so that the list cannot be wrong.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_OPLIST_H
#define HALFSTEP_FRONTEND_OPLIST_H

#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace halfstep {

enum class Support {
  No,       // refused
  Constant, // computed while compiling, where its operands are known then
  Yes,
};

struct OpSupport {
  std::string op; // with its domain in front when it is not a standard op
  /// Operator sets from the oldest that is imported directly to the newest known one.
  int64_t firstOpset, lastOpset;
  Support forward;
  bool gradient;
  /// The autocast category: low, full, widest or none.
  std::string category;
  /// Nodes of the model, where one was asked about.
  int64_t nodes = 0;
};

/// Every op of the standard operator set, by name.
std::vector<OpSupport> supportedOps();

/// The ops of the nodes that the outputs of the model in `path` depend on. An op that is Constant
/// or No may still block the model or not: importing it tells.
llvm::FailureOr<std::vector<OpSupport>> opsOfModel(mlir::MLIRContext &context, llvm::StringRef path,
                                                   llvm::StringRef externalData = "");

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_OPLIST_H
