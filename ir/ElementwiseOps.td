//===- ElementwiseOps.td - Scalar formulas with numpy-style broadcasting --===//
//
// Values at the edges (ties, NaN, 0 ** 0) are PyTorch's.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

def AddOp : Binary<"add"> { let grad = [{dy, dy}];  let body = [{lhs + rhs}]; }
def SubOp : Binary<"sub"> { let grad = [{dy, -dy}]; let body = [{lhs - rhs}]; }
def MulOp : Binary<"mul"> { let grad = [{dy * rhs, dy * lhs}]; let body = [{lhs * rhs}]; }
def DivOp : Binary<"div"> {
  let grad = [{dy / rhs, -dy * ((lhs / rhs) / rhs)}];
  let body = [{lhs / rhs}];
}
def PowOp : Binary<"pow"> {
  let category = Full;
  let grad = [{select(rhs == 0.0, constant(dy, 0.0), dy * (rhs * pow(lhs, rhs - 1.0))),
               select(select(rhs == 0.0, lhs >= 0.0, logicalAnd(lhs == 0.0, rhs >= 0.0)),
                      constant(dy, 0.0), dy * (y * log(lhs)))}];
  let body = [{pow(lhs, rhs)}];
}
// A tie shares the adjoint; a NaN passes it to both operands.
def MaximumOp : Binary<"maximum"> {
  let grad = [{select(lhs == rhs, 0.5 * dy, select(lhs < rhs, constant(dy, 0.0), dy)),
               select(lhs == rhs, 0.5 * dy, select(lhs > rhs, constant(dy, 0.0), dy))}];
  let body = [{maximum(lhs, rhs)}];
}
def MinimumOp : Binary<"minimum"> {
  let grad = [{select(lhs == rhs, 0.5 * dy, select(lhs > rhs, constant(dy, 0.0), dy)),
               select(lhs == rhs, 0.5 * dy, select(lhs < rhs, constant(dy, 0.0), dy))}];
  let body = [{minimum(lhs, rhs)}];
}

def NegOp : Unary<"neg"> { let grad = [{-dy}]; let body = [{-x}]; }
def AbsOp : Unary<"abs"> {
  let grad = [{select(x > 0.0, dy, select(x < 0.0, -dy, constant(dy, 0.0)))}];
  let body = [{abs(x)}];
}
def ExpOp : Unary<"exp"> { let category = Full; let grad = [{dy * y}]; let body = [{exp(x)}]; }
def LogOp : Unary<"log"> { let category = Full; let grad = [{dy / x}]; let body = [{log(x)}]; }
def SqrtOp : Unary<"sqrt"> { let grad = [{dy / (2.0 * y)}]; let body = [{sqrt(x)}]; }
def RsqrtOp : Unary<"rsqrt"> {
  let category = Full;
  let grad = [{-0.5 * dy * (y * y * y)}];
  let body = [{1.0 / sqrt(x)}];
}
def TanhOp : Unary<"tanh"> { let grad = [{dy * (1.0 - y * y)}]; let body = [{tanh(x)}]; }
def SinOp : Unary<"sin"> { let grad = [{dy * cos(x)}];  let body = [{sin(x)}]; }
def CosOp : Unary<"cos"> { let grad = [{-dy * sin(x)}]; let body = [{cos(x)}]; }
def SigmoidOp : Unary<"sigmoid"> {
  let grad = [{dy * ((1.0 - y) * y)}];
  let body = [{sigmoid(x)}];
}
def ReluOp : Unary<"relu"> {
  let grad = [{select(y <= 0.0, constant(dy, 0.0), dy)}]; // NaN passes the adjoint
  let body = [{maximum(x, constant(x, 0.0))}];
}
def ErfOp : Unary<"erf"> {
  let grad = [{dy * M_2_SQRTPI * exp(-(x * x))}];
  let body = [{erf(x)}];
}
// Constant between their steps.
def FloorOp : Unary<"floor", /*differentiable=*/0> { let body = [{floor(x)}]; }
def RoundOp : Unary<"round", /*differentiable=*/0> { let body = [{roundEven(x)}]; }
def SignOp : Unary<"sign", /*differentiable=*/0> {
  let body = [{select(x > 0.0, constant(x, 1.0), select(x < 0.0, constant(x, -1.0), x))}];
}

def Equal : I32EnumAttrCase<"Equal", 0, "eq">;
def NotEqual : I32EnumAttrCase<"NotEqual", 1, "ne">;
def Less : I32EnumAttrCase<"Less", 2, "lt">;
def LessEqual : I32EnumAttrCase<"LessEqual", 3, "le">;
def Greater : I32EnumAttrCase<"Greater", 4, "gt">;
def GreaterEqual : I32EnumAttrCase<"GreaterEqual", 5, "ge">;
def ComparisonAttr : I32EnumAttr<"Comparison", "comparison of two numbers",
    [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual]> {
  let cppNamespace = "::halfstep::train";
}

// IEEE: a comparison with NaN is false, `ne` is true. Integers compare as signed.
def CompareOp : Binary<"compare", (ins ComparisonAttr:$predicate), /*differentiable=*/0> {
  let body = [{compare(getPredicate(), lhs, rhs)}];
  let elementType = "::mlir::IntegerType::get(context, 1)";
  let assemblyFormat =
      "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
def LogicalAndOp : Binary<"logical_and", (ins), 0> { let body = [{logicalAnd(lhs, rhs)}]; }
def LogicalOrOp : Binary<"logical_or", (ins), 0> { let body = [{logicalOr(lhs, rhs)}]; }
def LogicalNotOp : Unary<"logical_not", 0> { let body = [{logicalNot(x)}]; }

def SelectOp : Elementwise<"select", (ins AnyStaticShapeTensor:$condition,
                                          AnyStaticShapeTensor:$lhs, AnyStaticShapeTensor:$rhs)> {
  let shape = [{e.broadcast({condition, lhs, rhs})}];
  let elementType = "::mlir::getElementTypeOrSelf(adaptor.getLhs().getType())";
  let grad = [{inactive, select(condition, dy, constant(dy, 0.0)),
               select(condition, constant(dy, 0.0), dy)}];
  let body = [{select(condition, lhs, rhs)}];
}

def CastOp : Elementwise<"cast", (ins AnyStaticShapeTensor:$x), (ins TypeAttr:$to)> {
  let summary = "conversion of the element type, rounding to nearest even";
  let description = [{
    With `train.stochastic_cast` the only op that mixes float types. A cast is semantics: only exact
    ones fold. A float becomes an integer by truncation toward zero, a boolean by `x != 0`. The
    adjoint is cast back; integers carry none.
  }];
  let shape = [{e.same(x)}];
  let elementType = "adaptor.getTo()";
  let body = [{convert(x, computeType(getTo()))}];
  let assemblyFormat = "$x `to` $to attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def IotaOp : Train_Op<"iota", (ins), (ins I64Attr:$dimension, DenseI64ArrayAttr:$sizes), 0> {
  let summary = "an i32 tensor whose elements are their position in one dimension";
  let category = Widest;
  let shape = [{e.iota(adaptor.getSizes(), adaptor.getDimension())}];
  let elementType = "::mlir::IntegerType::get(context, 32)";
  let assemblyFormat = "$dimension `in` $sizes attr-dict `:` type($y)";
}

def MapOp : Op<Train_Dialect, "map", [Pure, NotDifferentiable,
      DeclareOpInterfaceMethods<PrecisionOpInterface>,
      SingleBlock, IsolatedFromAbove]> {
  let summary = "a scalar formula over broadcast operands";
  let description = [{
    What autodiff emits for the gradient of an elementwise op and what the optimizers are: the
    region computes in f32 for 16-bit types and f64 for f64, each result is rounded once.

        %dx = train.map(%y, %dy) category(Widest) {
        ^bb0(%a: f32, %b: f32):
          ...
          train.yield %r : f32
        } : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$operands_,
                       DefaultValuedAttr<I32Attr, "2">:$category);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results_);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      "`(` $operands_ `)` $body attr-dict `:` functional-type($operands_, $results_)";
  let hasVerifier = 1;
}
def YieldOp : Op<Train_Dialect, "yield", [Pure, Terminator,
                                          ParentOneOf<["::halfstep::train::MapOp"]>]> {
  let summary = "the values of a map's results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
