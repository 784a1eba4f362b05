//===- OpBinder.h - What an import rule sees of its node ------------------===//
//
// Rules read operands and attributes through a binder, create train ops and bind results.
// Everything may fail softly: the binder reports at the node's location, the rule returns failure,
// and the importer goes on, so that one run names every node that cannot be imported.
//
// An ONNX value is known at import (a constant: shapes, axes, scalars of formulas) or computed by
// the step. A rule asks for what it needs: `operand` gives a value and turns a constant into one,
// `constant` gives the numbers and fails for what is computed.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_OPBINDER_H
#define HALFSTEP_FRONTEND_OPBINDER_H

#include "frontend/Weight.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <deque>

namespace halfstep {

/// What an ONNX name stands for.
struct Binding {
  mlir::Value value;                // computed by the step
  mlir::DenseElementsAttr constant; // known at import
  const Weight *weight = nullptr;   // a parameter: `value`, but its numbers can be read

  static Binding ofValue(mlir::Value value) { return {value, {}}; }
  static Binding ofConstant(mlir::DenseElementsAttr constant) { return {{}, constant}; }
  static Binding ofWeight(mlir::Value value, const Weight &weight) { return {value, {}, &weight}; }

  /// Neither computed nor known: its node was refused.
  bool isBlocked() const { return !value && !constant; }
  mlir::RankedTensorType type() const {
    return mlir::cast<mlir::RankedTensorType>(constant ? constant.getType() : value.getType());
  }
};

/// The names bound so far, and the function that is being built.
class GraphScope {
public:
  GraphScope(mlir::OpBuilder &builder, mlir::Block &entry, std::deque<Weight> &weights)
      : builder(builder), entry(entry), weights(weights) {}

  Binding *lookup(llvm::StringRef name);
  void bind(llvm::StringRef name, Binding binding) { bindings[name] = std::move(binding); }

  /// The value of `binding`. Constants that are not one number repeated become parameters that are
  /// not trainable.
  mlir::Value materialize(llvm::StringRef name, Binding &binding, mlir::Location loc);

  mlir::OpBuilder &builder;
  /// Elements that folding may still produce. Bounds the memory that a hostile shape can ask for.
  int64_t foldBudget = int64_t(1) << 24;
  /// Nodes that seem to fix the batch that the model was exported with.
  llvm::SmallVector<std::string> bakedBatch;
  /// Streams of random numbers that nodes draw from: the first so many, in the nodes' order.
  uint32_t streams = 0;
  /// Weights that stay as they are: running statistics, bounds.
  llvm::StringSet<> untrained;
  /// The size of the leading dimension of the graph inputs.
  int64_t batch = 0;

private:
  mlir::Block &entry;
  std::deque<Weight> &weights; // grows with materialised constants
  llvm::StringMap<Binding> bindings;
};

class OpBinder {
public:
  OpBinder(const onnx::NodeProto &node, int64_t opset, mlir::Location loc, GraphScope &scope)
      : opset(opset), loc(loc), node(node), scope(scope) {}

  mlir::InFlightDiagnostic error() const { return mlir::emitError(loc); }

  //===--------------------------------------------------------------------===//
  // Operands. An absent optional operand keeps its position.
  //===--------------------------------------------------------------------===//

  /// The number of operands, without absent ones at the end.
  unsigned size() const;
  bool has(unsigned i) const { return i < size() && !node.input(i).empty(); }
  /// Null after a report when operand `i` is absent.
  mlir::Value operand(unsigned i);
  /// All operands; fails when one is absent.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> operands();
  /// All operands, which must have one element type, a float or signed integer one.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> numbers();
  mlir::RankedTensorType type(unsigned i);
  /// The numbers of operand `i`; null when it is absent or computed by the step.
  mlir::DenseElementsAttr constant(unsigned i);
  /// Operand `i` is a number of the model that no optimizer changes, even if it is a weight.
  void keepConstant(unsigned i);
  /// The integers of operand `i` (`what` in messages), which must be known at import.
  llvm::FailureOr<llvm::SmallVector<int64_t>> integers(unsigned i, llvm::StringRef what);

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  const onnx::AttributeProto *attribute(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  double number(llvm::StringRef name, double otherwise) const;
  /// `name` as an attribute or, in newer operator sets, as operand `i`; nothing when in neither.
  llvm::FailureOr<std::optional<llvm::SmallVector<int64_t>>>
  attributeOrOperand(llvm::StringRef name, unsigned i);
  /// `axis` of a tensor of rank `rank`, negative ones counted from the end.
  llvm::FailureOr<int64_t> axis(int64_t axis, int64_t rank) const;
  /// `axes` the same way, ascending and without repetition.
  llvm::FailureOr<llvm::SmallVector<int64_t>> axes(llvm::ArrayRef<int64_t> axes,
                                                   int64_t rank) const;

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Creates a train op with inferred result type; null after a report when its shape rule fails.
  template <typename Op>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    using Properties = typename mlir::PropertiesSelector<Op>::type;
    auto dictionary = mlir::DictionaryAttr::get(loc.getContext(), attributes);
    Properties properties{};
    llvm::SmallVector<mlir::Type> types;
    if (llvm::is_contained(operands, mlir::Value()))
      return {};
    if constexpr (!std::is_same_v<Properties, mlir::EmptyProperties>)
      if (failed(Op::setPropertiesFromAttr(properties, dictionary, [&] { return error(); })))
        return {};
    if (failed(Op::inferReturnTypes(loc.getContext(), loc, operands, dictionary, &properties, {},
                                    types)))
      return {};
    return scope.builder.create<Op>(loc, types, operands, attributes).getResult();
  }
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return scope.builder.getNamedAttr(name, value);
  }
  /// `number` in the element type of `like`, of rank 0, which broadcasts.
  mlir::Value scalar(mlir::Value like, double number);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> sizes);
  mlir::Value convert(mlir::Value x, mlir::Type elementType);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> sizes);

  /// Binds result `i`, if the graph uses it. A null value is the failure that was reported before.
  llvm::LogicalResult bind(unsigned i, mlir::Value value);
  llvm::LogicalResult bind(unsigned i, mlir::DenseElementsAttr constant);
  /// Binds result `i` to a tensor of `type`, which has no elements. It is known, since there is
  /// nothing to compute; shapes and Concat take such tensors, a step does not.
  llvm::LogicalResult bindEmpty(unsigned i, mlir::RankedTensorType type);
  bool uses(unsigned i) const {
    return i < unsigned(node.output_size()) && !node.output(i).empty();
  }
  /// Lets result 0 stand for whatever operand 0 stands for.
  llvm::LogicalResult forward();

  /// Asks for the memory of `elements` folded elements.
  llvm::LogicalResult reserve(int64_t elements);

  const int64_t opset;
  const mlir::Location loc;
  const onnx::NodeProto &node;
  GraphScope &scope;

private:
  Binding *binding(unsigned i);
};

inline llvm::ArrayRef<int64_t> sizesOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_OPBINDER_H
