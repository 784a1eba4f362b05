//===- Describe.h - What messages and reports call ops and types ----------===//

#ifndef HALFSTEP_IR_DESCRIBE_H
#define HALFSTEP_IR_DESCRIBE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include <string>
#include <vector>

namespace halfstep {

/// The name of the ONNX node that an op comes from: of the first of several; "" if of none.
std::string nodeName(mlir::Location location);

/// The names of all ONNX nodes that an op comes from, once each: "fc1, relu".
std::string nodeNames(mlir::Location location);
std::vector<std::string> nodeNameList(mlir::Location location);

/// "16x10xf32".
std::string typeText(mlir::RankedTensorType type);

} // namespace halfstep

#endif
