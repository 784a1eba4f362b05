//===- Suggestion.h - Errors about names that do not exist --------------------------*- C++ -*-===//
//
// Errors about names that do not exist.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_SUGGESTION_H
#define HALFSTEP_RUNTIME_SUGGESTION_H

#include "runtime/Error.h"

#include <string>
#include <vector>

namespace halfstep::runtime {

/// Wrong usage: `OPTION: no KIND is called NAME`, with all that exist and, where one is close to
/// `name`, a suggestion. Close: at most a third of its letters differ (optimal string alignment).
Error unknownName(const std::string &option, const std::string &kind, const std::string &name,
                  const std::vector<std::string> &known);

} // namespace halfstep::runtime

#endif
