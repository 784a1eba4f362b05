//===- Describe.cpp - What messages and reports call ops and types --------===//

#include "ir/Describe.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// The nodes' names once each, in the order in which they stand.
static llvm::SmallSetVector<StringRef, 4> namesIn(Location location) {
  llvm::SmallSetVector<StringRef, 4> names;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part))
      names.insert(named.getName());
    return WalkResult::advance();
  });
  return names;
}

std::string halfstep::nodeName(Location location) {
  auto names = namesIn(location);
  return names.empty() ? "" : names.front().str();
}

std::string halfstep::nodeNames(Location location) { return llvm::join(namesIn(location), ", "); }

std::vector<std::string> halfstep::nodeNameList(Location location) {
  std::vector<std::string> names;
  for (StringRef name : namesIn(location))
    names.push_back(name.str());
  return names;
}

std::string halfstep::typeText(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : type.getShape())
    os << size << 'x';
  os << type.getElementType();
  return text;
}
