//===- Hyperparameter.h - Numbers that can be set while running -----------===//

#ifndef HALFSTEP_PASSES_HYPERPARAMETER_H
#define HALFSTEP_PASSES_HYPERPARAMETER_H

#include "ir/TableDialect.h"
#include "passes/Recipe.h"

namespace halfstep {

/// A scalar of the step with a default, and the values that it may have: here and, by the
/// artefact's directory, in a run.
struct Hyperparameter {
  std::string name;
  double initial;
  table::Range range;
};

/// The hyperparameter `name` whose default option `key` gives; a value outside its range is
/// rejected.
inline Hyperparameter readHyperparameter(SpecReader &options, llvm::StringRef key,
                                         table::Range range, llvm::StringRef name) {
  double value = options.number(key);
  if (table::Bounds bounds = boundsOf(range); !bounds.contain(value))
    options.reject(key, bounds.requirement);
  return {name.str(), value, range};
}
inline Hyperparameter readHyperparameter(SpecReader &options, llvm::StringRef key,
                                         table::Range range) {
  return readHyperparameter(options, key, range, key);
}

} // namespace halfstep

#endif
