//===- TextTable.h - Reports as columns of text ---------------------------===//

#ifndef HALFSTEP_TOOLS_TEXTTABLE_H
#define HALFSTEP_TOOLS_TEXTTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace halfstep {

using TextRow = std::vector<std::string>;

/// Prints rows, each column as wide as its widest cell, two spaces between. Cells of the columns
/// for which `endsAligned` holds end below each other, others begin so. Rows may be of different
/// lengths.
void printTable(
    llvm::ArrayRef<TextRow> rows, llvm::raw_ostream &os,
    llvm::function_ref<bool(size_t column)> endsAligned = [](size_t) { return false; });

} // namespace halfstep

#endif
