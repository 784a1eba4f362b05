//===- Reference.h - what a group means -----------------------------------------------------===//
//
// Interprets a group element by element in extended precision, and carries along how far a kernel
// may be from that: the rounding errors of each operation, to first order, added up. A kernel is
// right if it stays within the bound, so no tolerance has to be chosen.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_REFERENCE_H
#define HALFSTEP_TESTS_CODEGEN_REFERENCE_H

#include "ir/KernelDialect.h"

#include <vector>

namespace halfstep::tests {

struct Number {
  long double value = 0, error = 0;
};

long double readElement(mlir::Type storage, const void *buffer, int64_t index);
void writeElement(mlir::Type storage, void *buffer, int64_t index, long double value);
unsigned bytesOf(mlir::Type storage);
/// Elements from the first to the last that the group reads or writes.
int64_t extentOf(kernel::GroupOp group, unsigned buffer);

/// The results, in the order of the group's, each by the offset of its elements; what is not
/// written has an error of -1. `buffers` are the arguments' contents.
std::vector<std::vector<Number>> interpret(kernel::GroupOp group,
                                           const std::vector<std::vector<char>> &buffers);

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_REFERENCE_H
