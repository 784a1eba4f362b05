//===- Suggestion.cpp - Errors about names that do not exist ----------------------------------===//

#include "runtime/Suggestion.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

namespace halfstep::runtime {

namespace {

std::string lowerCase(std::string text) {
  for (char &c : text)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Insertions, deletions and replacements of one letter, and exchanges of two neighbours, that turn
/// `a` into `b` (optimal string alignment).
size_t editDistance(const std::string &a, const std::string &b) {
  // rows[0] belongs to the prefix of `a` at hand, rows[1] and rows[2] to the two before it.
  std::array<std::vector<size_t>, 3> rows;
  rows.fill(std::vector<size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::rotate(rows.begin(), rows.end() - 1, rows.end());
    rows[0][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      rows[0][j] =
          std::min({rows[1][j] + 1, rows[0][j - 1] + 1, rows[1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[0][j] = std::min(rows[0][j], rows[2][j - 2] + 1);
    }
  }
  return rows[0].back();
}

} // namespace

const std::string *closest(const std::string &name, const std::vector<std::string> &known) {
  const std::string *result = nullptr;
  size_t least = SIZE_MAX;
  for (const std::string &candidate : known) {
    size_t distance = editDistance(lowerCase(name), lowerCase(candidate));
    if (3 * distance <= std::max(name.size(), candidate.size()) && distance < least) {
      result = &candidate;
      least = distance;
    }
  }
  return result;
}

Error unknownName(const std::string &option, const std::string &kind, const std::string &name,
                  const std::vector<std::string> &known) {
  Error error(option, "no " + kind + " is called '" + name + "'");
  std::string list;
  for (const std::string &candidate : known)
    list += (list.empty() ? "" : ", ") + candidate;
  error.detail(list.empty() ? "there are none" : "there are: " + list);
  if (const std::string *meant = closest(name, known))
    error.help("did you mean " + *meant + "?");
  return error.exitWith(2);
}

} // namespace halfstep::runtime
