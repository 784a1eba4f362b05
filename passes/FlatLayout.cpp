//===- FlatLayout.cpp - Trained parameters as one tensor ------------------===//

#include "passes/FlatLayout.h"
#include "ir/TrainDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace halfstep;

std::vector<FlatLayout> halfstep::layOutParameters(func::FuncOp function) {
  constexpr int64_t kAlignment = 256; // bytes: rows of any vector or coalesced access
  std::vector<FlatLayout> layouts;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (!function.getArgAttr(i, train::attr::kTrainable))
      continue;
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    auto layout = llvm::find_if(layouts, [&](const FlatLayout &l) {
      return l.elementType == type.getElementType();
    });
    if (layout == layouts.end()) {
      std::string suffix;
      if (!layouts.empty())
        llvm::raw_string_ostream(suffix) << "." << type.getElementType();
      layout = layouts.insert(layouts.end(), {type.getElementType(), suffix, {}, 0});
    }
    auto name = function.getArgAttrOfType<StringAttr>(i, train::attr::kParameter);
    layout->entries.push_back({name.str(), type, layout->elements});
    layout->elements += int64_t(llvm::alignTo(type.getNumElements(),
                                              kAlignment / layout->elementBytes()));
  }
  return layouts;
}
