//===- TensorProto.cpp - Element types and contents of ONNX tensors -------===//

#include "frontend/TensorProto.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;

namespace halfstep {

StringRef safetensorsType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return "BOOL";
    case 8:
      return integer.isUnsigned() ? "U8" : "I8";
    case 16:
      return integer.isUnsigned() ? "U16" : "I16";
    case 32:
      return integer.isUnsigned() ? "U32" : "I32";
    case 64:
      return integer.isUnsigned() ? "U64" : "I64";
    }
    return "";
  }
  return TypeSwitch<Type, StringRef>(type)
      .Case([](Float64Type) { return "F64"; })
      .Case([](Float32Type) { return "F32"; })
      .Case([](Float16Type) { return "F16"; })
      .Case([](BFloat16Type) { return "BF16"; })
      .Default([](Type) { return ""; });
}

Type elementType(MLIRContext *context, int onnxType) {
  Builder b(context);
  switch (onnxType) {
  case onnx::TensorProto::DOUBLE:
    return b.getF64Type();
  case onnx::TensorProto::FLOAT:
    return b.getF32Type();
  case onnx::TensorProto::FLOAT16:
    return b.getF16Type();
  case onnx::TensorProto::BFLOAT16:
    return b.getBF16Type();
  case onnx::TensorProto::BOOL:
    return b.getI1Type();
  case onnx::TensorProto::INT8:
    return b.getI8Type();
  case onnx::TensorProto::INT16:
    return b.getI16Type();
  case onnx::TensorProto::INT32:
    return b.getI32Type();
  case onnx::TensorProto::INT64:
    return b.getI64Type();
  case onnx::TensorProto::UINT8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case onnx::TensorProto::UINT16:
    return b.getIntegerType(16, /*isSigned=*/false);
  case onnx::TensorProto::UINT32:
    return b.getIntegerType(32, /*isSigned=*/false);
  case onnx::TensorProto::UINT64:
    return b.getIntegerType(64, /*isSigned=*/false);
  }
  return nullptr;
}

bool isComputeType(Type type) {
  return isa<FloatType>(type) || type.isSignlessInteger(1) || type.isSignlessInteger(8) ||
         type.isSignlessInteger(32) || type.isSignlessInteger(64);
}

std::string onnxTypeName(int onnxType) {
  if (onnx::TensorProto::DataType_IsValid(onnxType))
    return onnx::TensorProto::DataType_Name(onnx::TensorProto::DataType(onnxType));
  return "number " + std::to_string(onnxType);
}

unsigned storedBytes(Type type) { return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }

FailureOr<RankedTensorType> tensorType(const onnx::TensorProto &tensor, Location loc) {
  Type element = elementType(loc.getContext(), tensor.data_type());
  if (!element)
    return emitError(loc) << "has element type " << onnxTypeName(tensor.data_type())
                          << ", which is not supported";
  int64_t bytes = storedBytes(element);
  for (int64_t dim : tensor.dims())
    if (dim < 0 || llvm::MulOverflow(bytes, dim, bytes))
      return emitError(loc) << "has an impossible shape: dimension " << dim
                            << (dim < 0 ? " is negative" : " makes it too large");
  return RankedTensorType::get(ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()),
                               element);
}

/// Converts a typed field element by element, keeping the low bits: that is how ONNX stores narrow
/// types and 16-bit float patterns in its wider fields.
template <typename Stored, typename Field>
static void append(std::string &bytes, const Field &field) {
  bytes.reserve(field.size() * sizeof(Stored));
  for (auto wide : field) {
    auto element = static_cast<Stored>(wide);
    bytes.append(reinterpret_cast<const char *>(&element), sizeof element);
  }
}

/// The contents of whichever typed field holds elements of the tensor's type.
static std::string typedFieldBytes(const onnx::TensorProto &tensor) {
  std::string bytes;
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    append<float>(bytes, tensor.float_data());
    break;
  case onnx::TensorProto::DOUBLE:
    append<double>(bytes, tensor.double_data());
    break;
  case onnx::TensorProto::INT64:
    append<int64_t>(bytes, tensor.int64_data());
    break;
  case onnx::TensorProto::UINT64:
    append<uint64_t>(bytes, tensor.uint64_data());
    break;
  case onnx::TensorProto::UINT32:
    append<uint32_t>(bytes, tensor.uint64_data());
    break;
  case onnx::TensorProto::INT32:
    append<int32_t>(bytes, tensor.int32_data());
    break;
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    append<uint16_t>(bytes, tensor.int32_data());
    break;
  default:
    append<uint8_t>(bytes, tensor.int32_data());
    break;
  }
  return bytes;
}

FailureOr<Weight> readTensor(std::shared_ptr<const onnx::TensorProto> tensor,
                             ExternalData &externalData, Location loc) {
  FailureOr<RankedTensorType> type = tensorType(*tensor, loc);
  if (failed(type))
    return failure();
  uint64_t size = type->getNumElements() * storedBytes(type->getElementType());
  Weight weight{tensor->name(), *type, {}, tensor};

  if (tensor->data_location() == onnx::TensorProto::EXTERNAL) {
    FailureOr<ExternalData::Range> range = externalData.read(*tensor, size, loc);
    if (failed(range))
      return failure();
    weight.bytes = range->bytes;
    weight.storage = range->storage;
  } else if (tensor->has_raw_data()) {
    weight.bytes = ArrayRef<char>(tensor->raw_data().data(), tensor->raw_data().size());
  } else {
    auto bytes = std::make_shared<std::string>(typedFieldBytes(*tensor));
    weight.bytes = ArrayRef<char>(bytes->data(), bytes->size());
    weight.storage = bytes;
  }
  if (weight.bytes.size() != size)
    return emitError(loc) << "has " << weight.bytes.size() << " bytes of data where its type "
                          << *type << " needs " << size;

  if (type->getElementType().isInteger(1)) {
    auto normal = std::make_shared<std::string>();
    for (char byte : weight.bytes)
      normal->push_back(byte != 0);
    weight.bytes = ArrayRef<char>(normal->data(), normal->size());
    weight.storage = normal;
  }
  return weight;
}

DenseElementsAttr toAttribute(const Weight &weight) {
  if (weight.type.getElementType().isInteger(1))
    return DenseElementsAttr::get(
        weight.type, llvm::map_to_vector(weight.bytes, [](char byte) { return byte != 0; }));
  return DenseElementsAttr::getFromRawBuffer(weight.type, weight.bytes);
}

} // namespace halfstep
