//===- WeightFile.cpp - Weights as safetensors, and back ------------------===//

#include "tools/WeightFile.h"

#include "mlir/IR/Builders.h"
#include "runtime/Types.h"

using namespace mlir;

namespace halfstep {

std::string toSafetensors(llvm::ArrayRef<Weight> weights) {
  std::vector<runtime::NamedTensor> tensors;
  for (const Weight &weight : weights)
    tensors.push_back(
        {weight.name,
         *runtime::typeOfSafetensorsName(safetensorsType(weight.type.getElementType())),
         weight.type.getShape().vec(), weight.bytes.data(), weight.bytes.size()});
  runtime::sortForStorage(tensors);
  std::string file = runtime::safetensorsHeader("the model's weights", tensors, {});
  for (const runtime::NamedTensor &tensor : tensors)
    file.append(static_cast<const char *>(tensor.data), tensor.bytes);
  return file;
}

static Type elementType(MLIRContext &context, hs_type type) {
  Builder b(&context);
  switch (type) {
  case HS_F32:
    return b.getF32Type();
  case HS_F64:
    return b.getF64Type();
  case HS_F16:
    return b.getF16Type();
  case HS_BF16:
    return b.getBF16Type();
  case HS_BOOL:
    return b.getI1Type();
  case HS_I8:
    return b.getIntegerType(8);
  case HS_U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case HS_I32:
    return b.getIntegerType(32);
  case HS_I64:
    return b.getIntegerType(64);
  }
  llvm_unreachable("a checked file has no other type");
}

std::vector<Weight> parametersOf(MLIRContext &context, const runtime::Safetensors &checkpoint) {
  std::vector<Weight> weights;
  for (const runtime::NamedTensor &tensor : checkpoint.tensors())
    if (!isReservedName(tensor.name))
      weights.push_back({tensor.name,
                         RankedTensorType::get(tensor.shape, elementType(context, tensor.type)),
                         {static_cast<const char *>(tensor.data), tensor.bytes},
                         nullptr});
  return weights;
}

} // namespace halfstep
