//===- Weight.h - Tensors of an ONNX file ---------------------------------===//
//
// What of an ONNX tensor leaves the frontend: its name, type and bytes. Nothing of onnx or protobuf
// is seen here, so that the compiler's other parts can hold weights.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_WEIGHT_H
#define HALFSTEP_FRONTEND_WEIGHT_H

#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <string>

namespace halfstep {

/// Names that checkpoints keep for what is no weight.
inline constexpr llvm::StringLiteral kReservedPrefix = "halfstep/";
inline bool isReservedName(llvm::StringRef name) { return name.starts_with(kReservedPrefix); }

/// A tensor under its ONNX name. The bytes are row-major and little-endian, booleans one byte each
/// (0 or 1): the form that a safetensors file stores. They need not be aligned to the element.
struct Weight {
  std::string name;
  mlir::RankedTensorType type;
  llvm::ArrayRef<char> bytes;
  /// Keeps `bytes` alive: a mapped file or a buffer.
  std::shared_ptr<const void> storage;
};

/// The safetensors spelling of an element type ("F32", "BF16", "BOOL", ...); empty when it has
/// none.
llvm::StringRef safetensorsType(mlir::Type elementType);

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_WEIGHT_H
