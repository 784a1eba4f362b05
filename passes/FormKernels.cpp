//===- FormKernels.cpp - Values to kernels and library calls --------------===//
//
// FusionPlan decides what is computed together (the greedy growing of groups over one space is that
// of XLA's and TVM's fusion, with row reductions inside a group as in their softmax emitters); this
// pass writes each group down as a `kernel.group` with its launch, and everything else as library
// calls, generated products and aliases.
//
//===----------------------------------------------------------------------===//

#include "passes/BiasedProduct.h"
#include "passes/FusionPlan.h"
#include "passes/GroupWriter.h"
#include "passes/Passes.h"
#include "passes/WindowEntries.h"

namespace halfstep {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
struct FormKernels : halfstep::impl::FormKernelsPassBase<FormKernels> {
  using Base::Base;

  DenseMap<Value, Value> memory; // what holds a value, by the value
  unsigned kernels = 0;

  Value stored(Value root) { return isa<BlockArgument>(root) ? root : memory.lookup(root); }

  /// The value in memory, under its own type: contiguous views are aliases.
  Value materialised(OpBuilder &b, Value value) { return materialised(b, value, value.getType()); }
  Value materialised(OpBuilder &b, Value value, Type type) {
    Access access = resolve(value);
    Value root = stored(access.root);
    if (root.getType() == type)
      return root;
    return b.create<table::AliasOp>(value.getLoc(), type, root, access.offset);
  }

  std::string symbol(func::FuncOp function, StringRef name) {
    return (function.getSymName() + "_" + Twine(kernels++) + name).str();
  }

  void launch(OpBuilder &b, const WrittenGroup &group) {
    const auto &[kernel, location, inputs, results] = group;
    auto operands = llvm::map_to_vector(inputs, [&](Value input) { return stored(input); });
    auto types = llvm::map_to_vector(results, [](Value v) { return v.getType(); });
    auto op = createLaunch(b, location, types, kernel, operands);
    for (auto [result, value] : llvm::zip(results, op.getResults()))
      memory[result] = value;
  }

  /// What a product of `elements` sums of `depth` terms may use on a device. Few sums do not fill
  /// one, so that cuBLASLt splits deep ones into parts and adds up their sums in f32; many sums, or
  /// short ones, need none. NVIDIA recommends 32 MiB for all products of Hopper and 4 MiB for
  /// those of other devices: the bound is the larger one, since live ranges hardly ever stack up.
  Type workspace(int64_t elements, int64_t depth) {
    constexpr int64_t kMostElements = 1 << 21; // 128 tiles of 128x128, as many as an H100 has SMs
    constexpr int64_t kLeastDepth = 256, kMostParts = 16, kMostBytes = 32 << 20;
    int64_t parts = std::min(depth / kLeastDepth, kMostParts);
    if (target == "cpu" || parts < 2 || elements > kMostElements)
      return Type();
    int64_t bytes = std::min(int64_t(sizeof(float)) * elements * parts, kMostBytes);
    return RankedTensorType::get(bytes, IntegerType::get(&getContext(), 8));
  }

  /// Tiny products, and all in f64, are generated loops: a library call costs more than they do.
  Value product(OpBuilder &b, OpBuilder &symbols, func::FuncOp function, Location location,
                MatmulOp op, Value bias) {
    constexpr int64_t kTiny = 32768; // multiplications
    RankedTensorType a = typeOf(op.getA()), c = typeOf(op.getY());
    int64_t rank = c.getRank(), m = c.getDimSize(rank - 2), n = c.getDimSize(rank - 1);
    int64_t k = a.getDimSize(a.getRank() - (op.getTransA() ? 2 : 1));
    int64_t batch = ShapedType::getNumElements(c.getShape().drop_back(2));
    Value x = materialised(b, op.getA()), y = materialised(b, op.getB());
    Type element = c.getElementType();
    if (bias)
      bias = materialised(b, bias, RankedTensorType::get(n, element));
    if (!element.isF64() && batch * m * n * k > kTiny)
      return b
          .create<table::GemmOp>(location, c, workspace(batch * m * n, k), x, y, bias,
                                 op.getTransA(), op.getTransB(), ArrayAttr())
          .getC();
    auto repeats = [&](Value v) {
      return batch > 1 && ShapedType::getNumElements(typeOf(v).getShape().drop_back(2)) == 1;
    };
    auto contract = kernel::ContractOp::create(
        symbols, location, symbol(function, bias ? "_matmul_add" : "_matmul"), element,
        {batch, m, n, k}, op.getTransA(), op.getTransB(), repeats(x), repeats(y), bool(bias));
    SmallVector<Value> operands{x, y};
    if (bias)
      operands.push_back(bias);
    return b
        .create<table::LaunchOp>(location, c, FlatSymbolRefAttr::get(contract.getSymNameAttr()),
                                 operands, ArrayAttr())
        .getResult(0);
  }

  /// Convolutions and pooling.
  void windowEntry(OpBuilder &b, OpBuilder &symbols, func::FuncOp function, Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(materialised(b, operand));
    Value result = op->getResult(0), computed = createWindowEntry(b, op, operands);
    bool isPartial = typeOf(computed).getRank() != typeOf(result).getRank();
    memory[result] =
        isPartial ? sumOfParts(b, symbols, function, computed, typeOf(result)) : computed;
  }

  /// The sum over the first dimension, rounded once.
  Value sumOfParts(OpBuilder &b, OpBuilder &symbols, func::FuncOp function, Value parts,
                   RankedTensorType type) {
    int64_t count = typeOf(parts).getDimSize(0), elements = type.getNumElements();
    if (count == 1 && typeOf(parts).getElementType() == type.getElementType())
      return b.create<table::AliasOp>(parts.getLoc(), type, parts);
    auto group = kernel::GroupOp::create(
        symbols, parts.getLoc(), symbol(function, "_sum_of_parts"), {count, elements},
        kernel::Buffer{typeOf(parts).getElementType(), {elements, 1}},
        {kernel::Buffer{type.getElementType(), {0, 1}}},
        [](OpBuilder &b, Location l, ValueRange elements) -> SmallVector<Value> {
          return {b.create<kernel::ReduceOp>(l, elements[0].getType(), kernel::ReduceKind::Add,
                                             elements[0], kernel::ReduceOver::Rows)};
        });
    return b
        .create<table::LaunchOp>(parts.getLoc(), type,
                                 FlatSymbolRefAttr::get(group.getSymNameAttr()), parts, ArrayAttr())
        .getResult(0);
  }

  void formKernels(func::FuncOp function) {
    FusionPlan plan(function, fuse);
    Operation *terminator = function.front().getTerminator();
    OpBuilder entries(terminator), symbols(function);
    SmallVector<Operation *> old;
    for (Operation &op : function.front().without_terminator())
      old.push_back(&op);
    for (const FusionPlan::Step &step : plan.steps()) {
      if (step.group) {
        launch(entries, writeGroup(symbols, symbol(function, ""), *step.group));
      } else if (auto biased = biasedProduct(step.op)) {
        auto location = FusedLoc::get(&getContext(), {biased->matmul.getLoc(), step.op->getLoc()});
        memory[step.op->getResult(0)] =
            product(entries, symbols, function, location, biased->matmul, biased->bias);
      } else if (auto matmul = dyn_cast<MatmulOp>(step.op); matmul && !isFinishedByReader(matmul)) {
        memory[matmul.getY()] =
            product(entries, symbols, function, matmul.getLoc(), matmul, Value());
      } else if (step.op->hasTrait<OwnEntry>() && !isa<MatmulOp>(step.op)) {
        windowEntry(entries, symbols, function, step.op);
      }
    }
    for (OpOperand &operand : terminator->getOpOperands())
      operand.set(materialised(entries, operand.get()));
    for (Operation *op : llvm::reverse(old))
      op->erase();
  }

  void runOnOperation() override {
    kernels = 0;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      memory.clear();
      formKernels(function);
    }
  }
};
} // namespace
