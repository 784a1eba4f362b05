//===- NormaliseForKernels.cpp - Before fusion ----------------------------===//
//
// Brings a program into the few forms that fusion knows:
//
//   - a reduction is over one run of adjacent dimensions (the last run first, so that the values
//     left are few early); one over dimensions of size 1 is the identity;
//   - a run is cut where an operand of the addends begins to repeat: a loss of `y + bias` is summed
//     up row by row in the kernel that makes its addends, which never are in memory;
//   - a transposition of a matrix product's operand is a flag of the product, and a batch that
//     only one operand has joins the rows: [b, m, k] x [k, n] is [b m, k] x [k, n];
//   - parts of a whole (concat, pad) are written straight into it, one `insert` after the other;
//   - a widening cast belongs to each of its readers: what is kept in memory is the narrow value;
//     and so does what follows from positions and scalars: random numbers are drawn again by the
//     backward pass, and no memory holds them;
//   - what is computed at many points reads a copy of a scalar of state that the program updates:
//     its new value can then be computed in the old one's place;
//   - what strides cannot express, and what is needed in memory as it stands (operands of entries
//     of their own, results), is the result of a copy: a `train.map` that yields its operand.
//
//===----------------------------------------------------------------------===//

#include "passes/FusionGroup.h"
#include "passes/Passes.h"
#include "passes/ScalarState.h"

namespace halfstep {
#define GEN_PASS_DEF_NORMALISEFORKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
/// The runs of adjacent `axes`, dimensions of size 1 aside.
SmallVector<SmallVector<int64_t>> runs(ArrayRef<int64_t> sizes, ArrayRef<int64_t> axes) {
  SmallVector<SmallVector<int64_t>> result;
  bool adjacent = false;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size == 1)
      continue;
    bool reduced = llvm::is_contained(axes, int64_t(i));
    if (reduced && !adjacent)
      result.emplace_back();
    if (reduced)
      result.back().push_back(i);
    adjacent = reduced;
  }
  return result;
}

/// The last dimension in [begin, end) from which on an operand that `value` is computed from,
/// elementwise, repeats although it does not before, or the other way round; `begin` if there is
/// none. No kernel can walk such an operand through both as one dimension.
int64_t lastChange(Value value, int64_t begin, int64_t end, DenseSet<Value> &visited) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<ScalarOpInterface, MapOp>(op) || !visited.insert(value).second)
    return begin;
  ArrayRef<int64_t> sizes = typeOf(value).getShape();
  int64_t change = begin;
  for (Value operand : op->getOperands()) {
    Access access = resolve(operand);
    Sizes strides(sizes.size() - access.strides.size(), 0);
    llvm::append_range(strides, access.strides);
    std::optional<bool> repeats;
    for (int64_t i = begin; i < end; ++i) {
      if (sizes[i] == 1)
        continue;
      bool isRepeated = strides[i] == 0;
      if (repeats && *repeats != isRepeated)
        change = std::max(change, i);
      repeats = isRepeated;
    }
    if (isContiguous(access, sizes))
      change = std::max(change, lastChange(access.root, begin, end, visited));
  }
  return change;
}

/// Cuts the last run of dimensions that `value` is reduced over, as the header says.
void cutLastRun(Value value, SmallVector<SmallVector<int64_t>> &runs) {
  // Shorter rows cost more than a pass over memory: their trees have as many accumulators.
  constexpr int64_t leastRow = 256;
  if (runs.empty())
    return;
  SmallVector<int64_t> &last = runs.back();
  DenseSet<Value> visited;
  int64_t change = lastChange(value, last.front(), last.back() + 1, visited);
  ArrayRef<int64_t> row = typeOf(value).getShape().slice(change, last.back() + 1 - change);
  if (change == last.front() || ShapedType::getNumElements(row) < leastRow)
    return;
  SmallVector<int64_t> rest(llvm::find(last, change), last.end());
  last.truncate(last.size() - rest.size());
  runs.push_back(rest);
}

void splitReduction(ReductionOpInterface reduction) {
  Operation *op = reduction;
  Value x = op->getOperand(0);
  OpBuilder b(op);
  auto allRuns = runs(typeOf(x).getShape(), reduction.getAxes());
  cutLastRun(x, allRuns);
  for (auto &run : llvm::reverse(allRuns)) {
    IRMapping mapping;
    mapping.map(op->getOperand(0), x);
    auto part = cast<ReductionOpInterface>(b.clone(*op, mapping));
    SmallVector<int64_t> sizes(typeOf(x).getShape());
    for (int64_t axis : run)
      sizes[axis] = 1;
    part.setAxes(run);
    part->getResult(0).setType(typeOf(op->getResult(0)).clone(sizes));
    x = part->getResult(0);
  }
  op->getResult(0).replaceAllUsesWith(x);
  op->erase();
}

/// If `value` is a transposition of its last two dimensions, its operand.
Value untransposed(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return {};
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(typeOf(value).getRank()));
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  return transpose.getPermutation() == ArrayRef(swap) ? transpose.getX() : Value();
}

void simplifyProduct(MatmulOp op) {
  if (Value a = untransposed(op.getA())) {
    op.getAMutable().set(a);
    op.setTransA(!op.getTransA());
  }
  if (Value b = untransposed(op.getB())) {
    op.getBMutable().set(b);
    op.setTransB(!op.getTransB());
  }
  RankedTensorType a = typeOf(op.getA()), c = typeOf(op.getY());
  if (a.getRank() == 2 || op.getTransA() || typeOf(op.getB()).getRank() != 2)
    return;
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  ExprBuilder e{builder};
  int64_t k = a.getShape().back();
  Expr rows = reshape(e(op.getA()), {a.getNumElements() / std::max<int64_t>(k, 1), k});
  Expr product = matmul(rows, e(op.getB()), false, op.getTransB());
  op.replaceAllUsesWith(reshape(product, c.getShape()).value);
  op.erase();
}

/// A batch of a product repeats one matrix or has a matrix for every product.
void broadcastBatch(MatmulOp op) {
  ArrayRef<int64_t> batch = typeOf(op.getY()).getShape().drop_back(2);
  ImplicitLocOpBuilder b(op.getLoc(), op);
  for (OpOperand &operand : op->getOpOperands()) {
    ArrayRef<int64_t> own = typeOf(operand.get()).getShape().drop_back(2);
    if (ShapedType::getNumElements(own) == 1 || own == batch)
      continue;
    SmallVector<int64_t> sizes(batch);
    llvm::append_range(sizes, typeOf(operand.get()).getShape().take_back(2));
    operand.set(b.create<BroadcastOp>(operand.get(), sizes));
  }
}

bool isWidening(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  if (!cast)
    return false;
  Type from = getElementTypeOrSelf(cast.getX().getType());
  return isa<FloatType>(from) && isa<FloatType>(cast.getTo()) &&
         from.getIntOrFloatBitWidth() < cast.getTo().getIntOrFloatBitWidth();
}

/// Whether the op reads nothing but positions and scalars, as a random number does.
bool isOfPosition(Operation *op) {
  auto isPosition = [](Value operand) {
    return bool(resolve(operand).root.getDefiningOp<IotaOp>());
  };
  auto isScalar = [](Value operand) { return typeOf(operand).getNumElements() == 1; };
  return isa<ScalarOpInterface>(op) && llvm::any_of(op->getOperands(), isPosition) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isPosition(operand) || isScalar(operand); });
}

void duplicate(Operation *op) {
  if (!isWidening(op) && !isOfPosition(op))
    return;
  OpBuilder b(op);
  bool isFirst = true;
  for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
    if (!std::exchange(isFirst, false))
      use.set(b.clone(*op)->getResult(0));
}

/// The copy is one scalar more for the kernel that computes the new value.
void copyUpdatedScalars(func::FuncOp program) {
  for (BlockArgument argument : program.getArguments()) {
    if (scalarStateOf(argument) != ScalarState::Updated)
      continue;
    ImplicitLocOpBuilder b(program.getLoc(), &program.front(), program.front().begin());
    Value copy;
    for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
      bool isScalar = llvm::all_of(use.getOwner()->getResultTypes(), [](Type type) {
        return cast<RankedTensorType>(type).getNumElements() == 1;
      });
      if (isScalar)
        continue;
      if (!copy)
        copy = createCopy(b, argument);
      use.set(copy);
    }
  }
}

void insertPadded(PadOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value repeated = b.create<BroadcastOp>(op.getValue(), op.getSizes());
  Value filled = createCopy(b, repeated);
  op.replaceAllUsesWith(
      b.create<InsertOp>(op.getX(), filled, op.getOffsets(), op.getStrides(), op.getSizes())
          .getResult());
  op.erase();
}

/// Parts are inserted in the order in which they are computed: each kernel that computes one can
/// write it, and waits for none that comes later.
void insertParts(ConcatOp op) {
  ArrayRef<int64_t> sizes = typeOf(op.getY()).getShape();
  SmallVector<std::pair<Value, int64_t>> parts; // with their offsets
  int64_t offset = 0;
  for (Value x : op.getXs()) {
    parts.push_back({x, offset});
    offset += typeOf(x).getDimSize(op.getAxis());
  }
  llvm::stable_sort(parts, [](auto &a, auto &b) {
    Operation *first = resolve(a.first).root.getDefiningOp(),
              *second = resolve(b.first).root.getDefiningOp();
    return second && (!first || first->isBeforeInBlock(second));
  });
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value whole;
  for (auto [x, offset] : parts) {
    SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
    offsets[op.getAxis()] = offset;
    whole = b.create<InsertOp>(x, whole, offsets, strides, sizes);
  }
  op.replaceAllUsesWith(whole);
  op.erase();
}

/// `isWhole`: not as a range of something larger either. Ranges are for entries of their own.
void materialise(OpOperand &operand, bool isWhole) {
  Value value = operand.get();
  ArrayRef<int64_t> sizes = typeOf(value).getShape();
  Access access = resolve(value);
  bool isStored = !access.root.getDefiningOp<IotaOp>() && !isComputedByReaders(value);
  if (isStored && (isWhole ? isContiguous(access, sizes)
                           : isRange(access, sizes) && isAligned(access, typeOf(value))))
    return;
  ImplicitLocOpBuilder b(value.getLoc(), operand.getOwner());
  operand.set(createCopy(b, value));
}

struct NormaliseForKernels : halfstep::impl::NormaliseForKernelsPassBase<NormaliseForKernels> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      function.walk([](Operation *op) { duplicate(op); });
      copyUpdatedScalars(function);
      function.walk([](ReductionOpInterface op) { splitReduction(op); });
      function.walk([](MatmulOp op) { broadcastBatch(op); });
      function.walk([](MatmulOp op) { simplifyProduct(op); });
      function.walk([](PadOp op) { insertPadded(op); });
      function.walk([](ConcatOp op) { insertParts(op); });
      // In program order: an operand of a reshape is in memory before the reshape is looked at.
      function.walk([](Operation *op) {
        if (op->hasTrait<OwnEntry>() || isa<func::ReturnOp>(op))
          for (OpOperand &operand : op->getOpOperands())
            materialise(operand, /*isWhole=*/isa<func::ReturnOp>(op));
        bool isStuck = isa<ReshapeOp>(op) && resolve(op->getResult(0)).root == op->getResult(0);
        if (isStuck || (isa<ReductionOpInterface>(op) && !FusionGroup::of(op).isValid()))
          materialise(op->getOpOperand(0), /*isWhole=*/true);
      });
    }
  }
};
} // namespace
