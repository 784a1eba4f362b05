//===- RandomOps.td - Random numbers, and what draws them -----------------===//
//
// A random number is a pure function of where and when it is drawn: Philox4x32-10 of (seed; stream,
// iteration, micro-batch, element). No state is advanced, so that neither launch order, threads,
// fusion nor resuming can show, and the backward pass draws the numbers of the forward pass again
// instead of keeping them.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

def RandomBitsOp : Train_Op<"random_bits", (ins), (ins I32Attr:$stream,
                                                       DenseI64ArrayAttr:$sizes), 0> {
  let summary = "32 random bits an element, those of `stream` in the current micro-batch";
  let description = [{
    Two of one stream and shape are equal within a run of the program, and independent of each other
    between runs. `build-step` says where the step keeps the seed and the time, and makes
    `train.philox` of it.
  }];
  let category = Widest;
  let shape = [{::llvm::to_vector(adaptor.getSizes())}];
  let elementType = "::mlir::IntegerType::get(context, 32)";
  let assemblyFormat = "$stream `in` $sizes attr-dict `:` type($y)";
}

def PhiloxOp
    : Elementwise<"philox", (ins StaticShapeTensorOf<[I32]>:$element,
                                 StaticShapeTensorOf<[F64]>:$micro,
                                 StaticShapeTensorOf<[F64]>:$iteration,
                                 StaticShapeTensorOf<[I64]>:$seed),
                  (ins I32Attr:$stream), /*differentiable=*/0> {
  let summary = "the first word of Philox4x32-10";
  let description = [{
    Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten
    rounds over the counter (element, micro, iteration, stream) under the key `seed`, low word first.
    `micro` and `iteration` are whole numbers, taken modulo 2^32.
  }];
  let shape = [{e.broadcast({element, micro, iteration, seed})}];
  let elementType = "::mlir::IntegerType::get(context, 32)";
  let body = [{philox(element, micro, iteration, getStream(), seed)}];
}

def DropoutOp
    : Elementwise<"dropout", (ins AnyStaticShapeTensor:$x, StaticShapeTensorOf<[I32]>:$bits),
                  (ins F64Attr:$ratio), /*differentiable=*/1,
                  [DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "zero with probability `ratio`, elsewhere x / (1 - ratio)";
  let description = [{
    Selects: a dropped infinity is zero too. The ratio is above 0 and at most 1, which drops all.
    In evaluation it is the identity.
  }];
  let shape = [{e.same(x)}];
  let grad = [{dropout(dy, bits, getRatio().convertToDouble()), inactive}];
  let body = [{dropout(x, bits, getRatio().convertToDouble())}];
  let hasVerifier = 1;
}

def DropoutMaskOp
    : Elementwise<"dropout_mask", (ins StaticShapeTensorOf<[I32]>:$bits), (ins F64Attr:$ratio),
                  /*differentiable=*/0, [DeclareOpInterfaceMethods<EvaluationOpInterface>]> {
  let summary = "true where a dropout of the same bits and ratio keeps its operand";
  let shape = [{e.same(bits)}];
  let elementType = "::mlir::IntegerType::get(context, 1)";
  let body = [{logicalNot(isDropped(bits, getRatio().convertToDouble()))}];
  let hasVerifier = 1;
}

def StochasticCastOp
    : Elementwise<"stochastic_cast", (ins StaticShapeTensorOf<[F32]>:$x,
                                          StaticShapeTensorOf<[I32]>:$bits),
                  (ins TypeAttr:$to), /*differentiable=*/0> {
  let summary = "f32 to one of the two neighbours of a 16-bit type, x on average";
  let description = [{
    The upper neighbour with the probability (x - lower) / (upper - lower), resolved to 2^-23. What
    the type has is unchanged. From its largest number on, infinities and NaN included, the nearest
    is taken.
  }];
  let shape = [{e.broadcast({x, bits})}];
  let elementType = "adaptor.getTo()";
  let body = [{roundStochastically(x, bits, getTo())}];
  let assemblyFormat =
      "$x `,` $bits `to` $to attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
