//===- GroupCases.h - groups of every form, for the kernel tests ----------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_GROUPCASES_H
#define HALFSTEP_TESTS_CODEGEN_GROUPCASES_H

#include "Harness.h"

#include <random>

namespace halfstep::tests {

/// A group to check, as text in which @R, @C and products like @RC stand for sizes, @H for a
/// storage type and @T for its compute type.
struct GroupCase {
  const char *name;
  std::vector<std::string> types;
  std::vector<std::pair<int, int>> sizes;
  std::string text;

  /// The group for every size, with `type` as its storage type.
  std::string instantiate(const std::string &type) const;
};

void PrintTo(const GroupCase &groupCase, std::ostream *os);

std::vector<GroupCase> groupCases();

/// What a group is run on: arguments at random, results of bytes that no kernel writes.
Buffers randomBuffers(kernel::GroupOp group, std::mt19937 &random);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_GROUPCASES_H
