//===- Interfaces.td - What the passes ask of a train op ------------------===//
//
// A pass never names an op: it asks one of these interfaces. Every method is
// filled in from the op's TableGen entry (OpBase.td) or, for long rules, by a
// C++ method declared there; a missing one does not link.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_INTERFACES
#define HALFSTEP_IR_INTERFACES

include "mlir/IR/OpBase.td"

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let description = [{
    The op's reverse-mode rule. A rule holds mathematics only: summing over broadcast axes, casts,
    accumulation of several uses and inactive operands are the business of the autodiff driver.
  }];
  let cppNamespace = "::halfstep::train";
  let methods = [InterfaceMethod<
      "The adjoint of every operand, given the adjoint `dy` of the result; null where the operand "
      "carries no derivative (class ids, conditions).",
      "::llvm::SmallVector<::halfstep::train::Expr>", "gradient",
      (ins "::halfstep::train::ExprBuilder &":$e, "::halfstep::train::Expr":$dy)>];
}

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let description = "The autocast category: what the numerics of the op ask for.";
  let cppNamespace = "::halfstep::train";
  let methods = [InterfaceMethod<"The category.", "::halfstep::train::Precision", "precision">];
}

def ScalarOpInterface : OpInterface<"ScalarOpInterface"> {
  let description = [{
    An elementwise op: numpy-style broadcasting around a scalar formula, which is computed in f32
    for 16-bit types (f64 for f64) and rounded once.
  }];
  let cppNamespace = "::halfstep::train";
  let methods = [InterfaceMethod<
      "The formula for one element, built from scalars of the compute type.",
      "::halfstep::train::Expr", "scalar",
      (ins "::halfstep::train::ExprBuilder &":$e, "::mlir::ValueRange":$operands)>];
}

def ExpansionOpInterface : OpInterface<"ExpansionOpInterface"> {
  let description = [{
    An op that is kept whole while its numerics matter (categories are assigned to it, not to its
    parts) and is expanded into elementwise ops and reductions before fusion.
  }];
  let cppNamespace = "::halfstep::train";
  let methods = [InterfaceMethod<"Builds the expansion.", "::halfstep::train::Expr", "expand",
      (ins "::halfstep::train::ExprBuilder &":$e)>];
}

def EvaluationOpInterface : OpInterface<"EvaluationOpInterface"> {
  let description = [{
    An op that works differently in training. It stands in its training form; `evaluation-mode`
    replaces it wherever nothing is trained.
  }];
  let cppNamespace = "::halfstep::train";
  let methods = [InterfaceMethod<"What the op is in evaluation.", "::halfstep::train::Expr",
                                 "evaluation", (ins "::halfstep::train::ExprBuilder &":$e)>];
}

def ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let description = "A reduction over axes that the kernel generator has a fixed tree for.";
  let cppNamespace = "::halfstep::train";
  let methods = [
    InterfaceMethod<"Which reduction.", "::halfstep::train::ReductionKind", "kind">,
    InterfaceMethod<"The reduced axes, ascending.", "::llvm::ArrayRef<int64_t>", "getAxes">,
    InterfaceMethod<"Changes the axes, not the result's type.", "void", "setAxes",
                    (ins "::llvm::ArrayRef<int64_t>":$axes)>,
  ];
}

#endif
