//===- VerifyFunctions.cpp - What functions say of their values -----------===//
//
// Passes ask arguments and results what they are, by attribute and name, and trust the answer. A
// module that was read from a file may have been edited, so every value must have one answer, of
// the kind that its function can have.
//
//===----------------------------------------------------------------------===//

#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/PhaseVerifier.h"

using namespace mlir;
using namespace halfstep;
namespace attr = halfstep::train::attr;

namespace {
/// Something that a value can be; with a name, or as the only one.
struct Meaning {
  StringLiteral attribute;
  bool hasName = true;

  bool holds(DictionaryAttr attributes) const {
    Attribute value = attributes ? attributes.get(attribute) : Attribute();
    return hasName ? isa_and_nonnull<StringAttr>(value) : isa_and_nonnull<UnitAttr>(value);
  }
};

/// What the arguments and results of a function can be.
struct Signature {
  StringLiteral function;
  ArrayRef<Meaning> arguments, results;
};
} // namespace

static constexpr Meaning kForwardArguments[] = {{attr::kInput}, {attr::kParameter}, {attr::kCopy}},
                         kForwardResults[] = {{attr::kOutput}},
                         kEvaluateArguments[] = {{attr::kInput},
                                                 {attr::kLabel, /*hasName=*/false},
                                                 {attr::kParameter},
                                                 {attr::kCopy}},
                         kEvaluateResults[] = {{attr::kMetric}},
                         kMicroArguments[] = {{attr::kInput},
                                              {attr::kLabel, /*hasName=*/false},
                                              {attr::kSeed, /*hasName=*/false},
                                              {attr::kParameter},
                                              {attr::kCopy}},
                         kMicroResults[] = {{attr::kMetric}, {attr::kGradient}};

// Until the directory exists, which then knows all values.
static constexpr Signature kSignatures[] = {{"forward", kForwardArguments, kForwardResults},
                                            {"evaluate", kEvaluateArguments, kEvaluateResults},
                                            {"micro", kMicroArguments, kMicroResults}};

static LogicalResult verifyMeaning(func::FuncOp function, StringRef phase, const Twine &what,
                                   ArrayRef<Meaning> meanings, DictionaryAttr attributes) {
  if (llvm::count_if(meanings, [&](const Meaning &m) { return m.holds(attributes); }) == 1)
    return success();
  std::string names = llvm::join(
      llvm::map_range(meanings, [](const Meaning &m) { return m.attribute.str(); }), ", ");
  return brokenPromise(function.getLoc(), phase, "a value that does not say what it is",
                       what + " of @" + function.getSymName() + " must have one of " + names);
}

LogicalResult halfstep::verifySignatures(ModuleOp module, StringRef phase) {
  for (const Signature &signature : kSignatures) {
    auto function = module.lookupSymbol<func::FuncOp>(signature.function);
    if (!function)
      continue;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Type type = function.getArgumentTypes()[i];
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape()) {
        std::string detail;
        llvm::raw_string_ostream(detail)
            << "argument " << i << " of @" << function.getSymName() << " is " << type;
        return brokenPromise(function.getLoc(), phase, "a shape that is not static", detail);
      }
      DictionaryAttr attributes = function.getArgAttrDict(i);
      if (failed(verifyMeaning(function, phase, "argument " + Twine(i), signature.arguments,
                               attributes)))
        return failure();
      bool isParameter =
          Meaning{attr::kParameter}.holds(attributes) || Meaning{attr::kCopy}.holds(attributes);
      if (!isParameter && function.getArgAttr(i, attr::kTrainable))
        return brokenPromise(function.getLoc(), phase, "a trained value that is no parameter",
                             "argument " + Twine(i) + " of @" + function.getSymName());
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(verifyMeaning(function, phase, "result " + Twine(i), signature.results,
                               function.getResultAttrDict(i))))
        return failure();
  }
  return success();
}

LogicalResult halfstep::verifyBodies(ModuleOp module, StringRef phase) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!llvm::hasSingleElement(function.getBody()))
      return brokenPromise(function.getLoc(), phase, "a function that is no list of ops",
                           "@" + function.getSymName() + " must have one block");
    for (Operation &op : function.front().without_terminator()) {
      auto constant = dyn_cast<arith::ConstantOp>(op);
      if (constant && !isa<SplatElementsAttr>(constant.getValue()))
        return brokenPromise(op.getLoc(), phase, "a constant that is not one number",
                             "constants must be splats");
      Attribute category = op.getAttr(train::attr::kCategory);
      auto number = dyn_cast_or_null<IntegerAttr>(category);
      if (category &&
          (!number || number.getInt() < 0 || number.getInt() > int64_t(train::Precision::Mixed)))
        return brokenPromise(op.getLoc(), phase, "an op of a precision category that is none",
                             "train.category must be 0 to 4");
    }
  }
  return success();
}
