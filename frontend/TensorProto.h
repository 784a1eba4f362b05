//===- TensorProto.h - Element types and contents of ONNX tensors ---------===//
//
// ONNX stores a tensor in one of seven fields or outside the file. Here all become bytes, with
// every count checked: sizes that overflow, too few or too many elements are errors.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_TENSORPROTO_H
#define HALFSTEP_FRONTEND_TENSORPROTO_H

#include "frontend/ExternalData.h"
#include "frontend/Weight.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "onnx/onnx_pb.h"

namespace halfstep {

/// The element type that stands for onnx::TensorProto_DataType `onnxType`; null for the types that
/// the compiler does not have (strings, complex numbers, 8-bit floats and narrower).
mlir::Type elementType(mlir::MLIRContext *context, int onnxType);

/// True for the element types that a training step computes with; the others exist in constants
/// only.
bool isComputeType(mlir::Type elementType);

/// ONNX's own name of a data type, such as "FLOAT16".
std::string onnxTypeName(int onnxType);

/// Bytes of one stored element; booleans take a whole byte.
unsigned storedBytes(mlir::Type elementType);

/// The type of a tensor with checked, non-negative dimensions whose size in bytes fits 63 bits.
llvm::FailureOr<mlir::RankedTensorType> tensorType(const onnx::TensorProto &tensor,
                                                   mlir::Location loc);

/// The whole tensor. Bytes that the file stores as needed are shared with `tensor`, not copied.
llvm::FailureOr<Weight> readTensor(std::shared_ptr<const onnx::TensorProto> tensor,
                                   ExternalData &externalData, mlir::Location loc);

/// A weight as an attribute. Copies the bytes into the context: for small tensors.
mlir::DenseElementsAttr toAttribute(const Weight &weight);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_TENSORPROTO_H
