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

/// The one of `known` that is closest to `name`, null if none is close: if more than a third of the
/// letters differ (optimal string alignment, in which upper and lower case are one).
const std::string *closest(const std::string &name, const std::vector<std::string> &known);

/// Wrong usage: `OPTION: no KIND is called NAME`, with all that exist and, where one is close to
/// `name`, a suggestion.
Error unknownName(const std::string &option, const std::string &kind, const std::string &name,
                  const std::vector<std::string> &known);

} // namespace halfstep::runtime

#endif
