//===- TargetAbility.h - Which 16-bit products a target has ---------------===//

#ifndef HALFSTEP_PASSES_TARGETABILITY_H
#define HALFSTEP_PASSES_TARGETABILITY_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

namespace halfstep {

struct TargetAbility {
  llvm::StringLiteral target;
  bool multipliesF16, multipliesBF16;

  bool multiplies(mlir::Type element) const {
    return element.isF16() ? multipliesF16 : !element.isBF16() || multipliesBF16;
  }

  /// Of cpu, sm_75, sm_80...; null for other names.
  static const TargetAbility *of(llvm::StringRef target) {
    // A CPU without instructions for a type widens blocks on their way into the product, see
    // runtime/WidenedProduct.h: it is able to do both. Tensor cores multiply bf16 from sm_80 on
    // (CUDA C++ Programming Guide, "Element Types and Matrix Sizes").
    static constexpr TargetAbility abilities[] = {{"cpu", true, true},   {"sm_75", true, false},
                                                  {"sm_80", true, true}, {"sm_86", true, true},
                                                  {"sm_89", true, true}, {"sm_90", true, true}};
    auto *found =
        llvm::find_if(abilities, [&](const TargetAbility &each) { return each.target == target; });
    return found == std::end(abilities) ? nullptr : found;
  }
};

} // namespace halfstep

#endif
