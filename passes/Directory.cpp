//===- Directory.cpp - What functions say about the module's named memory -===//

#include "passes/Directory.h"
#include "ir/TrainDialect.h"

using namespace mlir;
namespace attr = halfstep::train::attr;

namespace halfstep {
using table::RegionOp;
using table::Role;
using table::TensorOp;

Directory::Directory(ModuleOp module) {
  for (auto tensor : module.getOps<TensorOp>()) {
    tensors[{unsigned(tensor.getRole()), tensor.getName()}] = tensor;
    if (tensor.getRole() == Role::Label)
      label = tensor;
  }
  for (auto region : module.getOps<RegionOp>())
    regions[region.getName()] = region;
}

Operation *Directory::lookup(DictionaryAttr attributes) const {
  if (!attributes)
    return nullptr;
  auto tensor = [&](StringRef attribute, ArrayRef<Role> roles) -> Operation * {
    if (auto name = attributes.getAs<StringAttr>(attribute))
      for (Role role : roles)
        if (TensorOp op = tensors.lookup({unsigned(role), name.getValue()}))
          return op;
    return nullptr;
  };
  auto region = [&](StringRef attribute) -> Operation * {
    auto name = attributes.getAs<StringAttr>(attribute);
    return name ? regions.lookup(name.getValue()).getOperation() : nullptr;
  };
  // A parameter may be called "lr": the names of state are a space of their own.
  constexpr Role state[] = {Role::Counter, Role::Hyperparameter, Role::Optimizer};
  if (attributes.get(attr::kLabel))
    return label;
  for (Operation *found :
       {tensor(attr::kInput, Role::Input), tensor(attr::kParameter, Role::Parameter),
        tensor(attr::kCopy, Role::Copy), tensor(attr::kState, state), tensor(attr::kUpdates, state),
        tensor(attr::kRecord, Role::Record), tensor(attr::kUpdatesRecord, Role::Record),
        tensor(attr::kGradient, Role::Gradient), region(attr::kRegion),
        region(attr::kUpdatesRegion), tensor(attr::kOutput, Role::Output),
        tensor(attr::kMetric, Role::Metric)})
    if (found)
      return found;
  return nullptr;
}

Operation *Directory::argument(func::FuncOp function, unsigned number) const {
  return lookup(function.getArgAttrDict(number));
}

bool Directory::isUpdate(func::FuncOp function, unsigned result) {
  constexpr StringLiteral updates[] = {attr::kGradient, attr::kUpdates, attr::kUpdatesRecord,
                                       attr::kUpdatesRegion};
  return llvm::any_of(updates,
                      [&](StringRef name) { return function.getResultAttr(result, name); });
}

Operation *Directory::updatedBy(func::FuncOp function, unsigned result) const {
  return isUpdate(function, result) ? lookup(function.getResultAttrDict(result)) : nullptr;
}

table::SliceAttr sliceOf(Operation *named) {
  if (auto tensor = dyn_cast<TensorOp>(named))
    return tensor.getSliceAttr();
  return cast<RegionOp>(named).getSliceAttr();
}

RankedTensorType typeOf(Operation *named) {
  if (auto tensor = dyn_cast<TensorOp>(named))
    return cast<RankedTensorType>(tensor.getType());
  return cast<RankedTensorType>(cast<RegionOp>(named).getType());
}

Value viewed(Value value) {
  while (auto alias = value.getDefiningOp<table::AliasOp>())
    value = alias.getSource();
  return value;
}

table::SliceAttr sliceWithin(table::SliceAttr slice, Value alias) {
  uint64_t bytes = bytesOf(alias), offset = 0;
  unsigned element = table::storageBytes(RankedTensorType::get({}, getElementTypeOrSelf(alias)));
  for (; auto op = alias.getDefiningOp<table::AliasOp>(); alias = op.getSource())
    offset += op.getOffset() * element;
  return slice ? table::SliceAttr::get(slice.getContext(), slice.getBuffer(),
                                       slice.getOffset() + offset, bytes)
               : slice;
}

Value storageOf(Value value) {
  while (true) {
    value = viewed(value);
    auto launch = value.getDefiningOp<table::LaunchOp>();
    Value updated = launch ? launch.getUpdated(cast<OpResult>(value).getResultNumber()) : Value();
    if (!updated)
      return value;
    value = updated;
  }
}

/// Adds the ops that read `value` or an alias of it and, `throughUpdates`, what it becomes.
static void addReaders(Value value, llvm::SmallSetVector<Operation *, 4> &readers,
                       bool throughUpdates) {
  SmallVector<Value> views{value};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (auto alias = dyn_cast<table::AliasOp>(user)) {
        views.push_back(alias.getView());
        continue;
      }
      readers.insert(user);
      if (auto launch = dyn_cast<table::LaunchOp>(user); launch && throughUpdates)
        for (OpResult result : launch->getResults())
          if (launch.getUpdated(result.getResultNumber()) == view)
            views.push_back(result);
    }
  }
}

SmallVector<Operation *> readersOf(Value value) {
  llvm::SmallSetVector<Operation *, 4> readers;
  addReaders(value, readers, /*throughUpdates=*/false);
  return readers.takeVector();
}

SmallVector<Operation *> readersOfStorage(Value storage) {
  llvm::SmallSetVector<Operation *, 4> readers;
  addReaders(storage, readers, /*throughUpdates=*/true);
  return readers.takeVector();
}

uint64_t bytesOf(Value value) {
  return table::storageBytes(cast<RankedTensorType>(value.getType()));
}

bool overlap(table::SliceAttr a, table::SliceAttr b) {
  return a.getBuffer() == b.getBuffer() && a.getOffset() < b.getOffset() + b.getBytes() &&
         b.getOffset() < a.getOffset() + a.getBytes();
}

} // namespace halfstep
