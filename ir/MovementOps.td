//===- MovementOps.td - The same numbers in another place -----------------===//
//
// `slice` and `pad` are each other's adjoints and say where in the same way: element i of the part
// is element `offsets + i strides` of the whole. A stride may be negative, which walks backwards.
//
//===----------------------------------------------------------------------===//

include "ir/OpBase.td"

def ReshapeOp : Train_Op<"reshape", (ins AnyStaticShapeTensor:$x), (ins DenseI64ArrayAttr:$sizes)> {
  let summary = "the same elements, row-major, as a tensor of `sizes`";
  let category = Widest;
  let shape = [{e.reshape(x, adaptor.getSizes())}];
  let grad = [{reshape(dy, x)}];
  let hasFolder = 1;
}
def TransposeOp : Train_Op<"transpose", (ins AnyStaticShapeTensor:$x),
                           (ins DenseI64ArrayAttr:$permutation)> {
  let summary = "dimension i of the result is dimension permutation[i] of the operand";
  let category = Widest;
  let shape = [{e.transpose(x, adaptor.getPermutation())}];
  let grad = [{transpose(dy, inverse(getPermutation()))}];
  let hasFolder = 1;
}
// The adjoint of an operand that was broadcast is summed by the autodiff driver, as everywhere.
def BroadcastOp : Train_Op<"broadcast", (ins AnyStaticShapeTensor:$x),
                           (ins DenseI64ArrayAttr:$sizes)> {
  let summary = "numpy-style: size-1 and missing leading dimensions are repeated";
  let category = Widest;
  let shape = [{e.broadcast(x, adaptor.getSizes())}];
  let grad = [{dy}];
  let hasFolder = 1;
}

defvar PlaceAttributes = (ins DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides,
                              DenseI64ArrayAttr:$sizes);

def SliceOp : Train_Op<"slice", (ins AnyStaticShapeTensor:$x), PlaceAttributes> {
  let summary = "the part of x, of `sizes`, that lies at offsets and strides";
  let description = [{
    ```mlir
    // the last two elements, backwards
    %y = train.slice %x {offsets = array<i64: 3>, strides = array<i64: -1>, sizes = array<i64: 2>}
        : (tensor<4xf32>) -> tensor<2xf32>
    ```
  }];
  let category = Widest;
  let shape = [{e.slice(x, placeOf(adaptor), adaptor.getSizes())}];
  let grad = [{pad(dy, constant(dy, 0.0), placeOf(*this), x.sizes())}];
  let hasFolder = 1;
}
def PadOp : Train_Op<"pad", (ins AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$value),
                     PlaceAttributes> {
  let summary = "a tensor of `sizes` with x at offsets and strides, and the scalar value elsewhere";
  let description = [{
    ```mlir
    // value, x0, value, x1
    %y = train.pad %x, %value {offsets = array<i64: 1>, strides = array<i64: 2>, sizes = array<i64: 4>}
        : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let category = Widest;
  let shape = [{e.pad(x, value, placeOf(adaptor), adaptor.getSizes())}];
  let grad = [{slice(dy, placeOf(*this), x.sizes()), paddingGradient(x, dy, placeOf(*this))}];
  let hasFolder = 1;
}
def ConcatOp : Train_Op<"concat", (ins Variadic<AnyStaticShapeTensor>:$xs), (ins I64Attr:$axis)> {
  let summary = "the operands behind each other along `axis`";
  let category = Widest;
  let shape = [{e.concat(adaptor.getXs(), adaptor.getAxis())}];
  let hasFolder = 1;
}

def InsertOp : Train_Op<"insert", (ins AnyStaticShapeTensor:$x,
                                       Optional<AnyStaticShapeTensor>:$into), PlaceAttributes, 0> {
  let summary = "`into`, in whose place it is computed, with x at offsets and strides";
  let description = [{
    What the kernels phase makes of `pad` and `concat`: each part is written straight into the
    memory of the whole. Without `into` the rest is not written yet; a chain of inserts, each into
    the one before, has to write it all before anything reads the result.
  }];
  let category = Widest;
  let shape = [{e.insert(x, adaptor.getInto(), placeOf(adaptor), adaptor.getSizes())}];
}
