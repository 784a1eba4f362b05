//===- SelectParameters.cpp - Which parameters the optimizer trains -------===//
//
// A parameter is trained if it is a float tensor, matches a `train` pattern (or there is none) and
// matches no `freeze` pattern: freeze beats train. A pattern that matches nothing is a mistake in
// the pattern, so it is an error, and every pattern's count is reported as a remark.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include <regex>

namespace halfstep {
#define GEN_PASS_DEF_SELECTPARAMETERSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
namespace attr = train::attr;

namespace {
struct Pattern {
  std::regex regex;
  unsigned matches = 0;
};

struct SelectParameters : halfstep::impl::SelectParametersPassBase<SelectParameters> {
  using Base::Base;

  /// One pattern for each text; nullopt, after an error, if one does not parse.
  std::optional<SmallVector<Pattern>> compile(ArrayRef<std::string> texts, StringRef option) {
    SmallVector<Pattern> patterns;
    for (const std::string &text : texts)
      try {
        patterns.push_back({std::regex(text, std::regex::ECMAScript)});
      } catch (const std::regex_error &error) {
        auto diagnostic = emitError(getOperation().getLoc())
                          << "--" << option << " " << text << ": not a regular expression";
        diagnostic.attachNote() << error.what();
        diagnostic.attachNote() << "help: patterns are ECMAScript regular expressions, searched in "
                                   "parameter names; escape ( ) [ ] . * + ? with a backslash";
        return std::nullopt;
      }
    return patterns;
  }

  static bool search(MutableArrayRef<Pattern> patterns, StringRef name) {
    bool found = false;
    for (Pattern &pattern : patterns)
      if (std::regex_search(name.begin(), name.end(), pattern.regex)) {
        ++pattern.matches;
        found = true;
      }
    return found;
  }

  LogicalResult report(ArrayRef<Pattern> patterns, ArrayRef<std::string> texts, StringRef option,
                       ArrayRef<StringRef> names) {
    for (auto [pattern, text] : llvm::zip(patterns, texts)) {
      if (pattern.matches == 0) {
        auto diagnostic = emitError(getOperation().getLoc())
                          << "--" << option << " " << text << " matches no parameter";
        diagnostic.attachNote() << "help: the parameters are " << llvm::join(names, ", ");
        return diagnostic;
      }
      emitRemark(getOperation().getLoc())
          << "--" << option << " " << text << ": " << pattern.matches << " of " << names.size()
          << " parameters";
    }
    return success();
  }

  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    auto trains = compile(train, "train"), freezes = compile(freeze, "freeze");
    if (!forward || !trains || !freezes)
      return signalPassFailure();

    SmallVector<StringRef> names;
    bool any = false;
    for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
      auto name = forward.getArgAttrOfType<StringAttr>(i, attr::kParameter);
      if (!name || !forward.getArgAttr(i, attr::kTrainable))
        continue;
      names.push_back(name);
      bool wanted = search(*trains, name) || train.empty();
      if (search(*freezes, name) || !wanted)
        forward.removeArgAttr(i, attr::kTrainable);
      else
        any = true;
    }
    if (failed(report(*trains, train, "train", names)) ||
        failed(report(*freezes, freeze, "freeze", names)))
      return signalPassFailure();
    if (!any) {
      auto diagnostic = emitError(getOperation().getLoc());
      if (names.empty()) {
        diagnostic << "the model has no float parameter: there is nothing to train";
        diagnostic.attachNote() << "help: export the model with its weights inside "
                                   "(export_params=True), as initializers";
      } else {
        diagnostic << "every parameter is frozen: there is nothing to train";
        diagnostic.attachNote() << "help: loosen --freeze or --train; the parameters are "
                                << llvm::join(names, ", ");
      }
      signalPassFailure();
    }
  }
};
} // namespace
