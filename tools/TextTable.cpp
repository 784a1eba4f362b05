//===- TextTable.cpp - Reports as columns of text -------------------------===//

#include "tools/TextTable.h"

#include "llvm/ADT/STLExtras.h"

namespace halfstep {

void printTable(llvm::ArrayRef<TextRow> rows, llvm::raw_ostream &os,
                llvm::function_ref<bool(size_t column)> endsAligned) {
  std::vector<size_t> widths;
  for (const TextRow &row : rows)
    for (auto [i, cell] : llvm::enumerate(row)) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], cell.size());
    }
  for (const TextRow &row : rows) {
    std::string line;
    for (auto [i, cell] : llvm::enumerate(row)) {
      std::string space(widths[i] - cell.size(), ' ');
      line += (i ? "  " : "") + (endsAligned(i) ? space + cell : cell + space);
    }
    os << llvm::StringRef(line).rtrim() << '\n';
  }
}

} // namespace halfstep
