//===- KernelForm.cpp - how a group's space is walked --------------------------------------===//

#include "codegen/KernelForm.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

bool halfstep::codegen::isElementaryFunction(Operation &op) {
  return isa<math::CosOp, math::ErfOp, math::ExpOp, math::LogOp, math::PowFOp, math::SinOp,
             math::TanhOp>(op);
}

KernelForm::KernelForm(GroupOp group) : group(group), values(group) {
  int64_t reduced = group.getReducedDimension();
  if (reduced >= 0)
    form = reduced + 1 == int64_t(group.getSpace().size()) ? Form::Rows : Form::Columns;
  normalise();
  if (form == Form::Map)
    findTransposition();
  for (int64_t size : outer)
    rows *= size;
}

namespace {
/// A dimension of the normalised space: the group's dimensions that it is made of.
struct Dimension {
  int64_t size;
  SmallVector<int64_t> strides; // a buffer each, then a kernel.index each
  SmallVector<unsigned> origins;
};
} // namespace

/// Whether everything steps through `outer` and `inner` as through one dimension.
static bool isOneDimension(const Dimension &outer, const Dimension &inner) {
  return llvm::all_of(llvm::zip(outer.strides, inner.strides), [&](auto strides) {
    return std::get<0>(strides) == std::get<1>(strides) * inner.size;
  });
}

void KernelForm::normalise() {
  ArrayRef<int64_t> space = group.getSpace();
  SmallVector<Dimension> dimensions;
  SmallVector<IndexOp> indexOps(group.getBlock().getOps<IndexOp>());
  size_t views = group.getNumBuffers() + indexOps.size();
  // The trailing dimensions that the reductions give a meaning to stay what they are.
  size_t structural = form == Form::Map ? 0 : form == Form::Rows ? 1 : 2;
  for (auto [d, size] : llvm::enumerate(space)) {
    if (size == 1 && d + structural < space.size())
      continue;
    Dimension dimension{size, {}, {unsigned(d)}};
    for (unsigned i = 0; i < group.getNumBuffers(); ++i)
      dimension.strides.push_back(group.getBufferStrides(i)[d]);
    for (IndexOp index : indexOps)
      dimension.strides.push_back(index.getStrides()[d]);
    dimensions.push_back(dimension);
  }
  // A map may be walked in any order: in that of its first result's memory.
  if (form == Form::Map && !group.getOuts().empty())
    llvm::sort(dimensions, [&](const Dimension &a, const Dimension &b) {
      int64_t out = group.getOuts()[0];
      return a.strides[out] > b.strides[out];
    });
  for (size_t i = 0; i + 1 + structural < dimensions.size();) {
    Dimension &first = dimensions[i], &second = dimensions[i + 1];
    if (!isOneDimension(first, second)) {
      ++i;
      continue;
    }
    second.size *= first.size;
    second.origins.append(first.origins);
    dimensions.erase(&first);
  }
  if (dimensions.empty())
    dimensions.push_back({1, SmallVector<int64_t>(views), {}});

  places.assign(space.size(), Nowhere);
  auto put = [&](const Dimension &dimension, int place) {
    for (unsigned origin : dimension.origins)
      places[origin] = place;
  };
  auto makeView = [&](Type storage, size_t i) {
    ArrayRef<Dimension> rest = dimensions;
    View view{storage, {}, 0, rest.back().strides[i]};
    rest = rest.drop_back();
    if (form == Form::Columns) {
      view.depth = rest.back().strides[i];
      rest = rest.drop_back();
    }
    for (const Dimension &dimension : rest)
      view.outer.push_back(dimension.strides[i]);
    return view;
  };
  for (unsigned i = 0; i < group.getNumBuffers(); ++i)
    buffers.push_back(makeView(group.getStorageType(i), i));
  for (auto [i, index] : llvm::enumerate(indexOps))
    indices[index] = makeView(Type(), group.getNumBuffers() + i);
  columns = dimensions.back().size;
  put(dimensions.back(), Column);
  dimensions.pop_back();
  if (form == Form::Columns) {
    depth = dimensions.back().size;
    put(dimensions.back(), Depth);
    dimensions.pop_back();
  }
  for (auto [i, dimension] : llvm::enumerate(dimensions)) {
    outer.push_back(dimension.size);
    put(dimension, int(i));
  }
}

/// Recognises a transposed buffer and makes the dimension along which it is contiguous the last
/// outer one. Below 16 x 16 elements a transposition is not worth its own loops.
void KernelForm::findTransposition() {
  constexpr int64_t smallest = 16;
  if (columns < smallest)
    return;
  for (View &view : buffers) {
    auto contiguous = llvm::find(view.outer, 1);
    if (view.inner < 2 || contiguous == view.outer.end())
      continue;
    size_t from = contiguous - view.outer.begin(), to = outer.size() - 1;
    if (outer[from] < smallest)
      continue;
    std::swap(outer[from], outer[to]);
    for (View &other : buffers)
      std::swap(other.outer[from], other.outer[to]);
    for (View &other : llvm::make_second_range(indices))
      std::swap(other.outer[from], other.outer[to]);
    for (int &place : places)
      place = place == int(from) ? int(to) : place == int(to) ? int(from) : place;
    form = Form::Transpose;
    return;
  }
}

/// Whether a value varies along one of the group's dimensions that are found at `place`.
static bool variesAt(const KernelForm &form, Value value, int place) {
  for (auto [d, found] : llvm::enumerate(form.places))
    if (found == place && form.values.varies(value, d))
      return true;
  return false;
}

bool KernelForm::isElement(Value value) const {
  return (form == Form::Columns && values.phase(value) > 0) || variesAt(*this, value, Column);
}

bool KernelForm::variesAlongDepth(Value value) const { return variesAt(*this, value, Depth); }

bool KernelForm::isUniform(Value value) const {
  for (size_t d = 0; d < places.size(); ++d)
    if (values.varies(value, d))
      return false;
  return values.phase(value) == 0;
}

SmallVector<ReduceOp> KernelForm::reductions(unsigned walk) const {
  SmallVector<ReduceOp> found;
  GroupOp op = group;
  for (auto reduce : op.getBlock().getOps<ReduceOp>())
    if (values.phase(reduce.getInput()) == walk)
      found.push_back(reduce);
  return found;
}

SmallVector<KernelForm::Store> KernelForm::elementStores(unsigned walk) const {
  SmallVector<Store> found;
  GroupOp op = group;
  for (auto [i, value] : llvm::enumerate(op.getYield().getValues())) {
    unsigned buffer = op.getOuts()[i];
    const View &view = buffers[buffer];
    // What has an element for each depth belongs to the leaves, the rest to the epilogue.
    bool isLeaf = values.phase(value) == 0 && (view.depth != 0 || depth == 1);
    if (form == Form::Columns ? isLeaf == (walk == 0)
                              : isElementStore({value, buffer}) && values.storeWalk(i) == walk)
      found.push_back({value, buffer});
  }
  return found;
}

SmallVector<KernelForm::Store> KernelForm::rowStores() const {
  SmallVector<Store> found;
  GroupOp op = group;
  if (form == Form::Columns)
    return found;
  for (auto [value, buffer] : llvm::zip(op.getYield().getValues(), op.getOuts()))
    if (!isElementStore({value, unsigned(buffer)}))
      found.push_back({value, unsigned(buffer)});
  return found;
}

bool KernelForm::isElementStore(Store store) const {
  GroupOp op = group;
  bool byChunk = op.getPartial() && values.phase(store.value) > 0;
  return buffers[store.buffer].inner && columns > 1 && !byChunk;
}
