//===- KernelOps.td - the kernel dialect ---------------------------------------------------===//
//
// One fused group of computation as one op. Fusion produces it, kernel emission reads it, and an
// interpreter in double gives it its meaning in the tests. The dialect fixes *what* is computed,
// including the order of every sum; how a target walks the space is the emitter's business.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_IR_KERNEL_OPS
#define HALFSTEP_IR_KERNEL_OPS

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::halfstep::kernel";
  let summary = "fused groups over a static space, and tiny contractions";
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_Scalar : AnyTypeOf<[F32, F64, I1, I8, I32, I64], "compute type">;

def Kernel_ReduceKind : I32EnumAttr<"ReduceKind", "how a reduction combines two values", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Or", 3, "or">
]> {
  let cppNamespace = "::halfstep::kernel";
}

def Kernel_ReduceOver : I32EnumAttr<"ReduceOver", "the dimension that a reduction folds", [
  I32EnumAttrCase<"Last", 0, "last">,
  I32EnumAttrCase<"Rows", 1, "rows">
]> {
  let cppNamespace = "::halfstep::kernel";
}

def Kernel_GroupOp : Kernel_Op<"group", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "a scalar region evaluated at every point of a static space";
  let description = [{
    ```mlir
    kernel.group @bias_relu [16, 10](%x: f32[10, 1], %bias: f32[0, 1]) -> (f32[10, 1]) {
      %zero = arith.constant 0.0 : f32
      %sum = arith.addf %x, %bias : f32
      %relu = arith.maximumf %sum, %zero : f32
      kernel.yield %relu : f32
    }
    ```

    The space is in brackets behind the name. A buffer is a storage type with one stride, in
    elements, for each dimension; stride 0 repeats the buffer along that dimension, a negative one
    walks it backwards. The walk begins at the buffer's first element, or so many behind it:
    `f32[10, 1] + 30`. Inside the region a buffer's element has its compute type (`computeType`). The results are buffers of their
    own, or name an argument (`%x`), whose elements at the space's points are then updated in place.
    Buffers of a launch are the arguments, then the results' own buffers. They do not overlap, except as `canShare` allows.

    `kernel.reduce` over `last` gives one value a row, usable again at every point of the row
    (softmax, norms); over `rows`, the second-to-last dimension, one value a column, usable in an
    epilogue on column values only. A group has reductions of one sort only. Their order of
    combination is given in ReductionTree.h.

    A result may have stride 0 in the reduced dimension only, if its value does not vary along it.

    With `partial`, reductions stop at the chunks of their tree: a reduced result has one element a
    chunk, with the stride that it states for the reduced dimension (see `splitReduction`).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$space, TypeArrayAttr:$types,
                       ArrayAttr:$strides, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$outs,
                       UnitAttr:$partial);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// A result: a new buffer, or the index of the argument that is updated in place.
    using Result = ::std::variant<Buffer, unsigned>;
    /// Builds the scalar body from the arguments' elements; returns a value for each result.
    using BodyBuilder = ::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(
        ::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>;

    static GroupOp create(::mlir::OpBuilder &builder, ::mlir::Location loc, ::llvm::StringRef name,
                          ::llvm::ArrayRef<int64_t> space, ::llvm::ArrayRef<Buffer> arguments,
                          ::llvm::ArrayRef<Result> results, BodyBuilder body);

    unsigned getNumBuffers() { return getTypes().size(); }
    ::mlir::Type getStorageType(unsigned buffer) {
      return ::mlir::cast<::mlir::TypeAttr>(getTypes()[buffer]).getValue();
    }
    ::llvm::ArrayRef<int64_t> getBufferStrides(unsigned buffer) {
      return ::mlir::cast<::mlir::DenseI64ArrayAttr>(getStrides()[buffer]).asArrayRef();
    }
    int64_t getBufferOffset(unsigned buffer) { return getOffsets()[buffer]; }
    ::mlir::Block &getBlock() { return getBody().front(); }
    YieldOp getYield();

    /// The dimension that the group's reductions fold, or -1 without reductions.
    int64_t getReducedDimension();
  }];
}

def Kernel_ReduceOp : Kernel_Op<"reduce", [Pure, AllTypesMatch<["input", "result"]>,
                                         HasParent<"GroupOp">]> {
  let summary = "folds one dimension of the space by the tree that its length gives";
  let description = [{
    `kernel.reduce add %x over last : f32`. `add`, `max` and `min` take floats and i32 or i64; `or`
    takes integers. A NaN among the values of `max` and `min` is the result.
  }];
  let arguments = (ins Kernel_ReduceKind:$kind, Kernel_Scalar:$input, Kernel_ReduceOver:$over);
  let results = (outs Kernel_Scalar:$result);
  let assemblyFormat = "$kind $input `over` $over attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kernel_IndexOp : Kernel_Op<"index", [Pure, HasParent<"GroupOp">]> {
  let summary = "the sum of the positions in the dimensions of the space, each times a stride";
  let description = [{
    `kernel.index [10, 1] : i32` counts the points of a space [16, 10]; `kernel.index [0, 1]` is the
    column. It is to positions what a buffer is to memory, and as freely walked. Modulo 2^32.
  }];
  let arguments = (ins DenseI64ArrayAttr:$strides);
  let results = (outs I32:$result);
  let assemblyFormat = "$strides attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, HasParent<"GroupOp">]> {
  let summary = "the values of the group's results at a point, in the results' order";
  let arguments = (ins Variadic<Kernel_Scalar>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Kernel_ContractOp : Kernel_Op<"contract", [Symbol, IsolatedFromAbove]> {
  let summary = "a tiny batched matrix product: c = op(a) op(b) + bias";
  let description = [{
    ```mlir
    kernel.contract @linear [1, 16, 10, 10] f32 (a[0, 10, 1], b[0, 1, 10]) -> c[0, 10, 1]
    ```

    The space is [batch, m, n, k]. Strides, in elements, are a's along (batch, m, k), b's along
    (batch, k, n) and c's along (batch, m, n), so that a transposition is an exchange of strides and
    a batch stride of 0 repeats a matrix. Each element of c starts at zero and takes its k products
    in ascending order, each by one fused multiply-add, in f32 for 16-bit types, and is rounded
    once. With `bias`, behind b, element n of a vector is added to each sum before that. The buffers
    of a launch are a, b, the bias if there is one, c.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$space, TypeAttr:$type,
                       DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides,
                       DenseI64ArrayAttr:$c_strides, UnitAttr:$bias);
  let assemblyFormat = [{
    $sym_name $space $type `(` `a` $a_strides `,` `b` $b_strides (`,` `bias` $bias^)? `)` `->`
    `c` $c_strides attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The product of packed row-major matrices. `space` is {batch, m, n, k}; a is [batch, m, k],
    /// or [batch, k, m] if transposed; b likewise; c is [batch, m, n]. A repeated operand is one
    /// matrix, used for the whole batch.
    static ContractOp create(::mlir::OpBuilder &builder, ::mlir::Location loc,
                             ::llvm::StringRef name, ::mlir::Type type,
                             ::llvm::ArrayRef<int64_t> space, bool transposeA, bool transposeB,
                             bool repeatA = false, bool repeatB = false, bool bias = false);

    int64_t getBatch() { return getSpace()[0]; }
    int64_t getM() { return getSpace()[1]; }
    int64_t getN() { return getSpace()[2]; }
    int64_t getK() { return getSpace()[3]; }
  }];
}

#endif // HALFSTEP_IR_KERNEL_OPS
