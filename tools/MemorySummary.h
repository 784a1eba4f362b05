//===- MemorySummary.h - The memory plan for people -----------------------===//

#ifndef HALFSTEP_TOOLS_MEMORYSUMMARY_H
#define HALFSTEP_TOOLS_MEMORYSUMMARY_H

#include "passes/MemoryReport.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// "484 B", "12.3 KiB", ...
std::string sizeText(uint64_t bytes);

/// What each class takes, and the peak: a few lines.
void printClasses(const MemoryReport &report, llvm::raw_ostream &os);

/// The scratch memory of a thread, and the values that are live where the arena is busiest, largest
/// first.
void printPeak(const MemoryReport &report, llvm::raw_ostream &os);

} // namespace halfstep

#endif
