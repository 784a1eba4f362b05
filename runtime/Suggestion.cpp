//===- Suggestion.cpp - Errors about names that do not exist ----------------------------------===//

#include "runtime/Suggestion.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace halfstep::runtime {

namespace {

/// Insertions, deletions and replacements of one letter that turn `a` into `b`.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

} // namespace

Error unknownName(const std::string &option, const std::string &kind, const std::string &name,
                  const std::vector<std::string> &known) {
  Error error(option, "no " + kind + " is called '" + name + "'");
  std::string list, closest;
  size_t closestDistance = 0;
  for (const std::string &candidate : known) {
    list += (list.empty() ? "" : ", ") + candidate;
    size_t distance = editDistance(name, candidate);
    if (3 * distance <= std::max(name.size(), candidate.size()) &&
        (closest.empty() || distance < closestDistance)) {
      closest = candidate;
      closestDistance = distance;
    }
  }
  error.detail(list.empty() ? "there are none" : "there are: " + list);
  if (!closest.empty())
    error.help("did you mean " + closest + "?");
  return error.exitWith(2);
}

} // namespace halfstep::runtime
