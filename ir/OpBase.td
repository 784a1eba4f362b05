//===- OpBase.td - One op is one entry ------------------------------------===//
//
// The base classes of the train dialect. An entry states, next to the op's operands:
//
//   shape     an expression over the operands' types (ir/Shape.h); builders infer with it and the
//             verifier checks with it
//   category  the precision category; there is no default, an op without one does not build
//   grad      one expression per operand over the operands' names, the result `y` and its adjoint
//             `dy` (ir/Expr.h); empty means that a C++ method `gradient` is written by hand.
//             An op without derivative says so with `differentiable = 0`
//   body      elementwise ops: the scalar formula
//   expansion composite ops: the formula in terms of other train ops
//
// The formulas are C++ pasted into the generated class: stock mlir-tblgen needs no back end of ours.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_OP_BASE
#define HALFSTEP_IR_OP_BASE

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/Interfaces.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::halfstep::train";
  let summary = "tensor values of a training step";
  let description = [{
    Pure ops on statically shaped tensors: no aliasing, no implicit promotion. Casts are ops, and no
    others mix float types. Functions carry meaning in argument and result attributes: `train.input`, `train.label`, `train.parameter`, `train.state`, `train.output`,
    `train.updates`. The location of an op is the ONNX node that it came from.
  }];
  let hasConstantMaterializer = 0;
}

class PrecisionKind<string name_> { string name = name_; }
def Low : PrecisionKind<"Low">;       // 16 bits under autocast: contractions
def Full : PrecisionKind<"Full">;     // always f32: exp, log, pow, softmax, losses, sums
def Widest : PrecisionKind<"Widest">; // the widest type among the operands
def Mixed : PrecisionKind<"Mixed">;   // f32 inside, the result in the type of the first operand
def Unrounded : PrecisionKind<"Unrounded">; // f32 in every mode, results too: losses, metrics

// A trait, not an absence: nobody forgot the rule.
def NotDifferentiable : NativeOpTrait<"NotDifferentiable"> {
  let cppNamespace = "::halfstep::train";
}

// An entry of the table of its own instead of a part of a kernel: operands and result lie in memory,
// row-major.
def OwnEntry : NativeOpTrait<"OwnEntry"> { let cppNamespace = "::halfstep::train"; }

// One C++ local per operand, named as in the entry; `from` yields operand $i. An operand that may be
// missing or several has none.
class Locals<dag operands, string from> {
  string text = !interleave(
      !foreach(i, !range(!size(operands)),
               !if(!or(!isa<Optional>(!getdagarg<TypeConstraint>(operands, i)),
                       !isa<Variadic>(!getdagarg<TypeConstraint>(operands, i))), "",
                   "[[maybe_unused]] auto " # !getdagname(operands, i) # " = " #
                   !subst("$i", !repr(i), from) # ";\n  ")), "");
}

// One C++ local per number among the attributes, named as in the entry.
class Numbers<dag attributes> {
  string text = !interleave(
      !foreach(i, !range(!size(attributes)),
               !if(!eq(!cast<string>(!getdagarg<AttrConstraint>(attributes, i)), "F64Attr"),
                   "[[maybe_unused]] double " # !getdagname(attributes, i) # " = get" #
                   !toupper(!substr(!getdagname(attributes, i), 0, 1)) #
                   !substr(!getdagname(attributes, i), 1) # "().convertToDouble();\n  ", "")), "");
}

class Train_Op<string mnemonic, dag operands_, dag attributes_ = (ins), bit differentiable = 1,
               list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, traits # [Pure, InferTypeOpAdaptor,
         DeclareOpInterfaceMethods<PrecisionOpInterface>] #
         !if(differentiable, [DeclareOpInterfaceMethods<GradientOpInterface>],
                             [NotDifferentiable])> {
  dag operands = operands_;
  PrecisionKind category;
  code shape = "";
  code elementType = "::mlir::getElementTypeOrSelf(adaptor.getOperands()[0].getType())";
  code grad = "";
  // What the reference says of an op without a description.
  code formula = "";
  let description = !if(!and(!empty(formula), !empty(grad)), "", "```\n" #
                        !if(!empty(formula), "", "y = " # formula # "\n") #
                        !if(!empty(grad), "", "gradient: " # grad # "\n") # "```\n");

  let arguments = !con(operands_, attributes_);
  let results = (outs AnyStaticShapeTensor:$y);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";

  string shapeDefinition =
    "::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context, "
    "::std::optional<::mlir::Location> location, Adaptor adaptor, "
    "::llvm::SmallVectorImpl<::mlir::Type> &types) {\n"
    "  ::halfstep::train::ShapeBuilder e(location, getOperationName());\n  " #
    Locals<operands_, "e(adaptor.getOperands()[$i])">.text #
    "return e.infer(adaptor.getOperands(), [&]() -> ::halfstep::train::ShapeBuilder::Shape { return "
    # shape # "; }, [&]() -> ::mlir::Type { return " # elementType # "; }, types);\n}\n";
  string categoryDefinition =
    "::halfstep::train::Precision $cppClass::precision() { return ::halfstep::train::Precision::" #
    category.name # "; }\n";
  // Rules of non-elementwise ops work on tensors.
  string gradientDefinition = !if(!empty(grad), "",
    "::llvm::SmallVector<::halfstep::train::Expr> "
    "$cppClass::gradient(::halfstep::train::ExprBuilder &e, ::halfstep::train::Expr dy) {\n  " #
    Locals<operands_, "e(getOperation()->getOperand($i))">.text #
    "[[maybe_unused]] auto y = e(getY());\n  return {" # grad # "};\n}\n");
  string formulaDefinition = "";
  let extraClassDefinition =
      shapeDefinition # categoryDefinition # gradientDefinition # formulaDefinition;
}

// Elementwise: `body` and `grad` are scalar formulas. The gradient of an operand is one `train.map`
// computed in f32 and rounded once, so that it costs one kernel and one rounding.
class Elementwise<string mnemonic, dag operands_, dag attributes_ = (ins), bit differentiable = 1,
                  list<Trait> traits = []>
    : Train_Op<mnemonic, operands_, attributes_, differentiable,
               traits # [DeclareOpInterfaceMethods<ScalarOpInterface>]> {
  code body = "";
  let formula = body;
  let category = Widest;
  let gradientDefinition = !if(!empty(grad), "",
    "::llvm::SmallVector<::halfstep::train::Expr> "
    "$cppClass::gradient(::halfstep::train::ExprBuilder &e, ::halfstep::train::Expr dy) {\n"
    "  return ::halfstep::train::elementwiseGradient(e, *this, dy, [&]("
    "::llvm::ArrayRef<::halfstep::train::Expr> operands, [[maybe_unused]] ::halfstep::train::Expr y,"
    " ::halfstep::train::Expr dy) -> ::llvm::SmallVector<::halfstep::train::Expr> {\n    " #
    Locals<operands_, "operands[$i]">.text # Numbers<attributes_>.text # "return {" # grad # "};\n  });\n}\n");
  let formulaDefinition =
    "::halfstep::train::Expr $cppClass::scalar(::halfstep::train::ExprBuilder &e, "
    "::mlir::ValueRange operands) {\n  " #
    Locals<operands_, "e(operands[$i])">.text # Numbers<attributes_>.text # "return " # body # ";\n}\n";
}

class Unary<string mnemonic, bit differentiable = 1>
    : Elementwise<mnemonic, (ins AnyStaticShapeTensor:$x), (ins), differentiable> {
  let shape = [{e.same(x)}];
}
class Binary<string mnemonic, dag attributes_ = (ins), bit differentiable = 1>
    : Elementwise<mnemonic, (ins AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs), attributes_,
                  differentiable> {
  let shape = [{e.broadcast({lhs, rhs})}];
}

// Composite: expanded by the kernels phase, after precision has been decided for the whole.
class Composite<string mnemonic, dag operands_, dag attributes_ = (ins), bit differentiable = 1>
    : Train_Op<mnemonic, operands_, attributes_, differentiable,
               [DeclareOpInterfaceMethods<ExpansionOpInterface>]> {
  code expansion = "";
  let formula = expansion;
  let formulaDefinition = !if(!empty(expansion), "",
    "::halfstep::train::Expr $cppClass::expand(::halfstep::train::ExprBuilder &e) {\n  " #
    Locals<operands_, "e(getOperation()->getOperand($i))">.text #
    "return " # expansion # ";\n}\n");
}

#endif
