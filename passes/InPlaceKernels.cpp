//===- InPlaceKernels.cpp - Kernels that write where they read ------------===//

#include "passes/InPlaceKernels.h"

using namespace mlir;
using namespace halfstep;
using kernel::GroupOp;
using table::LaunchOp;

static GroupOp groupOf(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<GroupOp>(launch, launch.getKernelAttr());
}

bool halfstep::canShare(Operation *op, Sharing sharing, const Sharings &existing) {
  auto launch = dyn_cast<LaunchOp>(op);
  auto group = launch ? groupOf(launch) : GroupOp();
  if (!group)
    return false;
  bool taken = llvm::any_of(existing.lookup(op), [&](const Sharing &other) {
    return other.argument == sharing.argument || other.result == sharing.result;
  });
  return !taken && kernel::canShare(group, sharing.argument, sharing.result);
}

/// Drops the buffers of the shared results and numbers the others anew.
static void makeInPlace(GroupOp group, ArrayRef<Sharing> sharings) {
  unsigned arguments = group.getBlock().getNumArguments();
  SmallVector<Attribute> types(group.getTypes().getValue().take_front(arguments)),
      strides(group.getStrides().getValue().take_front(arguments));
  SmallVector<int64_t> offsets(group.getOffsets().take_front(arguments)), outs(group.getOuts());
  for (auto [result, out] : llvm::enumerate(outs)) {
    auto shared = llvm::find_if(sharings, [&, result = result](const Sharing &sharing) {
      return sharing.result == result;
    });
    if (shared != sharings.end())
      out = shared->argument;
    if (out < int64_t(arguments))
      continue;
    types.push_back(group.getTypes()[out]);
    strides.push_back(group.getStrides()[out]);
    offsets.push_back(group.getBufferOffset(out));
    out = types.size() - 1;
  }
  Builder builder(group.getContext());
  group.setTypesAttr(builder.getArrayAttr(types));
  group.setStridesAttr(builder.getArrayAttr(strides));
  group.setOffsets(offsets);
  group.setOuts(outs);
}

void halfstep::makeKernelsInPlace(ModuleOp module, const Sharings &sharings) {
  llvm::MapVector<Operation *, SmallVector<LaunchOp>> launches; // by kernel
  module.walk([&](LaunchOp launch) {
    if (GroupOp group = groupOf(launch))
      launches[group].push_back(launch);
  });
  SymbolTable symbols(module);
  for (auto &[op, users] : launches) {
    auto group = cast<GroupOp>(op);
    SmallVector<std::pair<SmallVector<Sharing>, SmallVector<LaunchOp>>> variants;
    for (LaunchOp launch : users) {
      SmallVector<Sharing> shared = sharings.lookup(launch);
      llvm::sort(shared, [](auto &a, auto &b) { return a.result < b.result; });
      auto *alike = llvm::find_if(variants, [&](auto &variant) { return variant.first == shared; });
      if (alike == variants.end()) {
        variants.push_back({shared, {}});
        alike = &variants.back();
      }
      alike->second.push_back(launch);
    }
    // The first variant is the kernel itself; the others are copies, made before it changes.
    GroupOp last = group;
    for (auto &[shared, alike] : llvm::drop_begin(variants)) {
      GroupOp copy = group.clone();
      symbols.insert(copy, std::next(last->getIterator()));
      makeInPlace(copy, shared);
      for (LaunchOp launch : alike)
        launch.setKernel(copy.getSymName());
      last = copy;
    }
    makeInPlace(group, variants.front().first);
  }
}
