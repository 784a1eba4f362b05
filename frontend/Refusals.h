//===- Refusals.h - The nodes that cannot be imported, in one report ------===//

#ifndef HALFSTEP_FRONTEND_REFUSALS_H
#define HALFSTEP_FRONTEND_REFUSALS_H

#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace halfstep {

class Refusals {
public:
  /// `nodes` are all that matter, refused or not.
  explicit Refusals(llvm::ArrayRef<const onnx::NodeProto *> nodes);

  /// `isMissing`: there is no rule for the op, whatever its operands.
  void add(const onnx::NodeProto &node, mlir::Location loc, std::string reason, bool isMissing);

  /// Fails with one diagnostic when anything was refused: at the node when it is the only one, else
  /// at `file`. `parameters` are the names of the weights that a gradient could go to; `note` is a
  /// further detail, or empty.
  llvm::LogicalResult report(mlir::Location file, const llvm::StringSet<> &parameters,
                             llvm::StringRef note) const;

private:
  struct Refusal {
    const onnx::NodeProto *node;
    mlir::Location loc;
    std::string reason;
    bool isMissing;
  };
  std::string parametersBehind(const onnx::NodeProto &node,
                               const llvm::StringSet<> &parameters) const;

  llvm::StringMap<const onnx::NodeProto *> producers;
  std::vector<Refusal> refusals;
};

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_REFUSALS_H
