//===- MemorySummary.cpp - The memory plan for people ---------------------===//

#include "tools/MemorySummary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

namespace halfstep {

std::string sizeText(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double size = double(bytes) / 1024;
  const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto unit = std::begin(units);
  for (; size >= 1024 && unit + 1 != std::end(units); ++unit)
    size /= 1024;
  return llvm::formatv("{0:f1} {1}", size, *unit);
}

void printClasses(const MemoryReport &report, llvm::raw_ostream &os) {
  os << "memory: " << sizeText(report.peakBytes) << '\n';
  for (const auto &[name, bytes] : report.classes)
    if (bytes)
      os << "  " << llvm::left_justify(name, 14) << llvm::right_justify(sizeText(bytes), 12)
         << '\n';
}

void printPeak(const MemoryReport &report, llvm::raw_ostream &os) {
  if (report.scratchBytes)
    os << "scratch: " << sizeText(report.scratchBytes) << " for each of " << report.threads
       << (report.threads == 1 ? " thread" : " threads") << '\n';
  os << "arena: " << sizeText(report.arenaBytes);
  if (report.fragmentation)
    os << ", " << sizeText(report.fragmentation) << " of it lost between values";
  os << "; live where it is busiest:\n";
  std::vector<unsigned> order = report.liveAtPeak;
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return report.slices[a].bytes > report.slices[b].bytes;
  });
  for (unsigned index : order) {
    const MemorySlice &slice = report.slices[index];
    os << "  " << llvm::right_justify(sizeText(slice.bytes), 11) << "  " << slice.type << "  "
       << slice.name;
    if (!slice.node.empty())
      os << "  (" << slice.node << ')';
    os << '\n';
  }
}

} // namespace halfstep
