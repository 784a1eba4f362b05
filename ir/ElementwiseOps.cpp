//===- ElementwiseOps.cpp - Maps, and the long rules of elementwise ops ---===//

#include "ir/TrainDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace halfstep::train;

SmallVector<Expr> halfstep::train::buildMap(
    ImplicitLocOpBuilder &b, ValueRange operands, Precision category, ArrayRef<int64_t> sizes,
    ArrayRef<Type> elementTypes,
    llvm::function_ref<SmallVector<Expr>(ArrayRef<Expr>)> formulas) {
  auto types = llvm::map_to_vector(elementTypes, [&](Type element) -> Type {
    return RankedTensorType::get(sizes, element);
  });
  auto map = b.create<MapOp>(types, operands, uint32_t(category));
  Block *body = b.createBlock(&map.getBody());
  SmallVector<Expr> arguments;
  for (Value operand : operands)
    arguments.push_back(
        {body->addArgument(computeType(getElementTypeOrSelf(operand.getType())), b.getLoc()), &b});
  SmallVector<Value> yielded;
  for (Expr result : formulas(arguments))
    yielded.push_back(result.value);
  b.create<YieldOp>(yielded);
  b.setInsertionPointAfter(map);
  for (unsigned i = body->getNumArguments(); i-- > 0;)
    if (body->getArgument(i).use_empty()) {
      body->eraseArgument(i);
      map->eraseOperand(i);
    }
  return llvm::map_to_vector(map->getResults(), [&](Value result) { return Expr{result, &b}; });
}

SmallVector<Expr> halfstep::train::elementwiseGradient(ExprBuilder &e, Operation *op, Expr dy,
                                                       ScalarGradient formulas) {
  Value y = op->getResult(0);
  Precision category = categoryOf(op);
  SmallVector<Value> operands(op->getOperands());
  operands.append({y, dy.value});
  unsigned count = op->getNumOperands();

  // One map per operand: the adjoints of two operands seldom live equally long. The formulas are
  // built once per map; what belongs to the other operands is dead and removed.
  SmallVector<Expr> adjoints(count);
  for (unsigned i = 0; i < count; ++i) {
    Type element = getElementTypeOrSelf(op->getOperand(i).getType());
    if (!isa<FloatType>(element))
      continue;
    bool isInactive = false, isIdentity = false;
    Expr adjoint = buildMap(e.builder, operands, category, dy.sizes(), dy.elementType(),
                            [&](ArrayRef<Expr> arguments) -> SmallVector<Expr> {
                              auto all = formulas(arguments.take_front(count), arguments[count],
                                                  arguments[count + 1]);
                              isInactive = !all[i];
                              isIdentity = all[i].value == arguments[count + 1].value;
                              return {isInactive ? arguments[count + 1] : all[i]};
                            })
                       .front();
    auto map = adjoint.value.getDefiningOp<MapOp>();
    if (isInactive || isIdentity) {
      map.erase();
      adjoints[i] = isInactive ? inactive : dy;
      continue;
    }
    for (Operation &dead : llvm::make_early_inc_range(llvm::reverse(map.getBody().front())))
      if (!dead.hasTrait<OpTrait::IsTerminator>() && dead.use_empty())
        dead.erase();
    for (unsigned a = map.getBody().getNumArguments(); a-- > 0;)
      if (map.getBody().getArgument(a).use_empty()) {
        map.getBody().eraseArgument(a);
        map->eraseOperand(a);
      }
    adjoints[i] = adjoint;
  }
  return adjoints;
}

SmallVector<Expr> CastOp::gradient(ExprBuilder &e, Expr dy) {
  Type from = getElementTypeOrSelf(getX().getType());
  if (!isa<FloatType>(from) || !isa<FloatType>(getTo()))
    return {inactive};
  return {convert(dy, from)};
}

/// Whether every number of `narrow` is one of `wide`.
static bool holds(FloatType wide, FloatType narrow) {
  const llvm::fltSemantics &w = wide.getFloatSemantics(), &n = narrow.getFloatSemantics();
  return APFloat::semanticsPrecision(w) >= APFloat::semanticsPrecision(n) &&
         APFloat::semanticsMaxExponent(w) >= APFloat::semanticsMaxExponent(n) &&
         APFloat::semanticsMinExponent(w) <= APFloat::semanticsMinExponent(n);
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  // There and back, where nothing is lost on the way.
  auto inner = getX().getDefiningOp<CastOp>();
  if (!inner || inner.getX().getType() != getType())
    return {};
  auto between = dyn_cast<FloatType>(inner.getTo()), type = dyn_cast<FloatType>(getTo());
  return between && type && holds(between, type) ? inner.getX() : Value();
}

Precision MapOp::precision() { return Precision(getCategory()); }

LogicalResult MapOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("has ") << getNumOperands() << " operands but a body of "
                               << body.getNumArguments() << " arguments";
  for (auto [operand, argument] : llvm::zip(getOperands(), body.getArguments()))
    if (argument.getType() != computeType(getElementTypeOrSelf(operand.getType())))
      return emitOpError("computes an operand of type ")
             << operand.getType() << " in " << argument.getType();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield->getNumOperands() != getNumResults())
    return emitOpError("has ") << getNumResults() << " results but yields "
                               << yield->getNumOperands();
  SmallVector<RankedTensorType> types;
  for (Type type : getOperandTypes())
    types.push_back(cast<RankedTensorType>(type));
  auto sizes = ShapeBuilder(getLoc(), getOperationName()).broadcast(types);
  if (failed(sizes))
    return failure();
  for (auto [result, value] : llvm::zip(getResultTypes(), yield.getOperands())) {
    auto type = cast<RankedTensorType>(result);
    if (value.getType() != computeType(type.getElementType()))
      return emitOpError("yields ") << value.getType() << " for a result of type " << type;
    if (failed(ShapeBuilder(getLoc(), getOperationName())
                   .broadcast(RankedTensorType::get(*sizes, type.getElementType()),
                              type.getShape())))
      return failure();
  }
  return success();
}
