//===- FlatLayout.cpp - Trained parameters as one tensor ------------------===//

#include "passes/FlatLayout.h"
#include "ir/TrainDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

std::vector<FlatRegion> FlatLayout::regions(ArrayRef<std::string> slots) const {
  std::vector<FlatRegion> result;
  result.push_back({"parameters" + suffix, table::Role::Parameter, "", parameterType});
  if (copyType)
    result.push_back({"copies" + suffix, table::Role::Copy, "", copyType});
  result.push_back({"gradients" + suffix, table::Role::Gradient, "", accumulatorType});
  for (const std::string &slot : slots) // optimizer state is never narrower than f32
    result.push_back({slot + suffix, table::Role::Optimizer, slot + "/", computeType(parameterType)});
  return result;
}

/// The type of the gradient that `micro` returns for a parameter.
static Type gradientType(func::FuncOp micro, StringAttr name) {
  for (unsigned i = 0; i < micro.getNumResults(); ++i)
    if (micro.getResultAttrOfType<StringAttr>(i, attr::kGradient) == name)
      return getElementTypeOrSelf(micro.getResultTypes()[i]);
  return {};
}

std::vector<FlatLayout> halfstep::layOutParameters(func::FuncOp micro, bool widenSums) {
  constexpr int64_t kAlignment = 256; // bytes: rows of any vector or coalesced access
  std::vector<FlatLayout> layouts;
  for (unsigned i = 0; i < micro.getNumArguments(); ++i) {
    if (!micro.getArgAttr(i, attr::kTrainable))
      continue;
    auto type = cast<RankedTensorType>(micro.getArgumentTypes()[i]);
    auto copied = micro.getArgAttrOfType<StringAttr>(i, attr::kCopy);
    auto name = copied ? copied : micro.getArgAttrOfType<StringAttr>(i, attr::kParameter);
    FlatLayout wanted;
    wanted.copyType = copied ? type.getElementType() : Type();
    wanted.parameterType = copied ? computeType(type.getElementType()) : type.getElementType();
    wanted.gradientType = gradientType(micro, name);
    wanted.accumulatorType =
        widenSums ? computeType(wanted.gradientType) : wanted.gradientType;
    auto layout = llvm::find_if(layouts, [&](const FlatLayout &l) {
      return l.parameterType == wanted.parameterType && l.copyType == wanted.copyType &&
             l.gradientType == wanted.gradientType;
    });
    if (layout == layouts.end()) {
      if (!layouts.empty())
        wanted.suffix = "." + std::to_string(layouts.size());
      layout = layouts.insert(layouts.end(), wanted);
    }
    layout->entries.push_back({name.str(), llvm::to_vector(type.getShape()), layout->elements});
    int64_t narrowest = 8; // bytes
    for (Type element : {layout->parameterType, layout->copyType, layout->gradientType})
      if (element)
        narrowest = std::min<int64_t>(narrowest, element.getIntOrFloatBitWidth() / 8);
    layout->elements += int64_t(llvm::alignTo(type.getNumElements(), kAlignment / narrowest));
  }
  return layouts;
}
