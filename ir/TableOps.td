//===- TableOps.td - What a step does, in order ---------------------------===//
//
// The artefact's launch tables are printed from these ops, one entry each.
//
//===----------------------------------------------------------------------===//

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Table_Dialect : Dialect {
  let name = "table";
  let cppNamespace = "::halfstep::table";
  let summary = "the entries of a training step, on planned memory";
  let description = [{
    A program (`@init`, `@micro`, `@update`, `@evaluate`, `@infer`) is a function whose body is a
    list of entries in execution order. The kernels phase makes them on tensor values; the memory
    phase gives every operand and result its slice:

        %h = table.gemm %x, %w ... {slices = [#table.slice<2, 0, 640>, ...]}
        %y = table.launch @relu(%h) : ... {slices = [#table.slice<1, 0, 640>, #table.slice<1, 0, 640>]}

    `table.tensor` ops at module level are the directory of everything that has a name.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def SliceAttr : AttrDef<Table_Dialect, "Slice"> {
  let mnemonic = "slice";
  let summary = "bytes of a buffer: 0 persistent state, 1 arena, 2 + i the slot of input i";
  let parameters = (ins "uint64_t":$buffer, "uint64_t":$offset, "uint64_t":$bytes);
  let assemblyFormat = "`<` $buffer `,` $offset `,` $bytes `>`";
}
def SliceArrayAttr : TypedArrayAttrBase<SliceAttr, "slices of the operands, then of the results">;

// The numbers are hs_role's (runtime/step_abi.h).
def RoleAttr : I32EnumAttr<"Role", "what a named tensor is for", [
    I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"Optimizer", 1, "optimizer">,
    I32EnumAttrCase<"Counter", 2, "counter">, I32EnumAttrCase<"Hyperparameter", 3, "hyperparameter">,
    I32EnumAttrCase<"Gradient", 4, "gradient">, I32EnumAttrCase<"Record", 5, "record">,
    I32EnumAttrCase<"Input", 6, "input">, I32EnumAttrCase<"Label", 7, "label">,
    I32EnumAttrCase<"Output", 8, "output">, I32EnumAttrCase<"Metric", 9, "metric">,
    I32EnumAttrCase<"Copy", 10, "copy">]> {
  let cppNamespace = "::halfstep::table";
}

// Which numbers these are: boundsOf (ir/TableDialect.h).
def RangeAttr : I32EnumAttr<"Range", "the values that a hyperparameter may have", [
    I32EnumAttrCase<"NonNegative", 0, "non_negative">, I32EnumAttrCase<"LossScale", 1, "loss_scale">,
    I32EnumAttrCase<"AtLeastOne", 2, "at_least_one">, I32EnumAttrCase<"AboveOne", 3, "above_one">,
    I32EnumAttrCase<"BelowOne", 4, "below_one">, I32EnumAttrCase<"Fraction", 5, "fraction">]> {
  let cppNamespace = "::halfstep::table";
}

def TensorOp : Op<Table_Dialect, "tensor", []> {
  let summary = "a named tensor of the artefact's directory";
  let description = [{
    `initial` is a hyperparameter's default and `range` what it may be set to; `classCount` (0: none)
    and `ignoredClass` say which integers a label may hold. An output that the model's file declares
    in a wider type than it is computed in has that `fileType`. The slice is there after the memory
    phase.
  }];
  let arguments = (ins StrAttr:$name, RoleAttr:$role, TypeAttrOf<AnyStaticShapeTensor>:$type,
                       OptionalAttr<RangeAttr>:$range, UnitAttr:$trainable,
                       OptionalAttr<F64Attr>:$initial,
                       OptionalAttr<I64Attr>:$classCount, OptionalAttr<I64Attr>:$ignoredClass,
                       OptionalAttr<TypeAttr>:$fileType, OptionalAttr<StrAttr>:$region,
                       OptionalAttr<I64Attr>:$regionOffset, OptionalAttr<SliceAttr>:$slice);
  let assemblyFormat = "$role $name `:` $type (`in` $range^)? attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "Role":$role,
                               "::mlir::RankedTensorType":$type), [{
    build($_builder, $_state, name, role, type, /*range=*/{}, /*trainable=*/false, /*initial=*/{},
          /*classCount=*/{}, /*ignoredClass=*/{}, /*fileType=*/::mlir::TypeAttr(),
          /*region=*/::mlir::StringAttr(), /*regionOffset=*/{}, /*slice=*/{});
  }]>];
}

def RegionOp : Op<Table_Dialect, "region", []> {
  let summary = "a flat region of the state that elementwise optimizers walk as one tensor";
  let description = [{
    Holds the trainable parameters, their gradients or one optimizer slot, tensor behind tensor,
    zero-padded: `table.tensor`s lie in it at `regionOffset` bytes.
  }];
  let arguments = (ins StrAttr:$name, TypeAttrOf<AnyStaticShapeTensor>:$type,
                       OptionalAttr<SliceAttr>:$slice);
  let assemblyFormat = "$name `:` $type attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::RankedTensorType":$type), [{
    build($_builder, $_state, name, type, /*slice=*/SliceAttr());
  }]>];
}

class Entry<string mnemonic, list<Trait> traits = []> : Op<Table_Dialect, mnemonic, traits>;

def LaunchOp : Entry<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a generated kernel on buffers";
  let description = [{
    Operands then results are the buffers of the kernel (`kernel.group`, `kernel.contract`) in
    order. A result that the kernel computes in place of an argument shares that operand's slice.

    Most results do so because the memory phase says so. `updates` holds those that do from the
    start, since their kernel writes a part of them only and the rest is what the operand is: for
    each result the number of that operand, or -1.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyStaticShapeTensor>:$inputs,
                       OptionalAttr<SliceArrayAttr>:$slices,
                       OptionalAttr<DenseI64ArrayAttr>:$updates);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs);
  let assemblyFormat =
      "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$outputs, "::mlir::FlatSymbolRefAttr":$kernel,
                               "::mlir::ValueRange":$inputs, "::mlir::ArrayAttr":$slices), [{
    build($_builder, $_state, outputs, kernel, inputs, slices, /*updates=*/{});
  }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operand that a result is from the start with a part written anew, or null.
    ::mlir::Value getUpdated(unsigned result) {
      ::llvm::ArrayRef<int64_t> all = getUpdates().value_or(::llvm::ArrayRef<int64_t>());
      return all.empty() || all[result] < 0 ? ::mlir::Value() : getInputs()[all[result]];
    }
  }];
}

def GemmOp : Entry<"gemm", [Pure]> {
  let summary = "a library call: op(a) op(b) + bias, batched";
  let description = [{
    Batch dimensions of size 1 or missing in `a` or `b` repeat one matrix. The bias is a vector of
    `c`'s type, added to each row before the one rounding. The workspace is bytes that the library
    may use meanwhile; what they hold afterwards means nothing, so that nothing reads them.

        %c, %workspace = table.gemm %a, %b {transA}
            : (tensor<4096x64xf16>, tensor<4096x64xf16>) -> (tensor<64x64xf16>, tensor<262144xi8>)
  }];
  let arguments = (ins AnyStaticShapeTensor:$a, AnyStaticShapeTensor:$b,
                       Optional<AnyStaticShapeTensor>:$bias, UnitAttr:$transA, UnitAttr:$transB,
                       OptionalAttr<SliceArrayAttr>:$slices);
  let results = (outs AnyStaticShapeTensor:$c, Optional<AnyStaticShapeTensor>:$workspace);
  let assemblyFormat =
      "$a `,` $b (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// The numbers are hs_conv_kind's and hs_pool_kind's (runtime/step_abi.h).
def ConvKindAttr : I32EnumAttr<"ConvKind", "a convolution or which of its adjoints", [
    I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"InputGradient", 1, "input_gradient">,
    I32EnumAttrCase<"WeightGradient", 2, "weight_gradient">]> {
  let cppNamespace = "::halfstep::table";
}
def PoolKindAttr : I32EnumAttr<"PoolKind", "a pooling or its adjoint", [
    I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Average", 1, "average">,
    I32EnumAttrCase<"MaxGradient", 2, "max_gradient">,
    I32EnumAttrCase<"AverageGradient", 3, "average_gradient">]> {
  let cppNamespace = "::halfstep::table";
}

def ConvOp : Entry<"conv", [Pure]> {
  let summary = "a convolution (x, w) or an adjoint of it: (dy, w) or (dy, x)";
  let description = [{
    As `train.conv`. The weight gradient is a number of partial sums, [parts, shape of w...] in f32
    (f64 for f64), each over a fixed share of the batch, so that they can be computed at once; who
    reads it adds them up.
  }];
  let arguments = (ins ConvKindAttr:$kind, AnyStaticShapeTensor:$a, AnyStaticShapeTensor:$b,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads, I64Attr:$groups, UnitAttr:$channelsLast,
                       OptionalAttr<SliceArrayAttr>:$slices);
  let results = (outs AnyStaticShapeTensor:$c);
  let assemblyFormat = "$kind $a `,` $b attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The types of x, w (without parts) and y in this order, whichever of them the op computes.
    std::array<::mlir::RankedTensorType, 3> getConvolution();
  }];
}

def FusedConvOp : Entry<"fused_conv", [AttrSizedResultSegments,
                                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a convolution, a group on its output and the weight gradient, as one kernel";
  let description = [{
    In one kernel, which keeps y and dy in registers:

        %y = table.conv forward %x, %w
        %sums, %dy = table.launch @loss(%y, %label)
        %parts = table.conv weight_gradient %dy, %x
    =>
        %sums, %parts = table.fused_conv @loss(%x, %w, %label)

    Without a result for the weight gradient, and dy, where the group gives sums alone.

    The group is over [images, positions, channels]. Its first argument is y and its last result dy,
    which have no buffers; its other results are reductions, over positions. y and dy are rounded to
    the type of x, so that every point has the bits of the separate entries. The order of sums
    follows from the sizes, but is not theirs: that of reductions is `kernel.group`'s behind its
    chunks, and there are other parts of the weight gradient.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, AnyStaticShapeTensor:$x, AnyStaticShapeTensor:$w,
                       Variadic<AnyStaticShapeTensor>:$inputs, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads, UnitAttr:$channelsLast,
                       OptionalAttr<SliceArrayAttr>:$slices);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs, Optional<AnyStaticShapeTensor>:$dw);
  let assemblyFormat = [{
    $kernel `(` $x `,` $w (`,` $inputs^)? `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The types of x, w and y.
    std::array<::mlir::RankedTensorType, 3> getConvolution();
    /// Which of the operands, or behind them of the results, is a buffer of the group that is
    /// neither y nor dy.
    static unsigned numberOf(unsigned buffer) { return buffer + 1; }
  }];
}

def PoolOp : Entry<"pool", [Pure]> {
  let summary = "a pooling (x) or its adjoint: (x, dy) of the maximum, (dy) of the average";
  let description = "As `train.max_pool` and `train.average_pool`.";
  let arguments = (ins PoolKindAttr:$kind, Variadic<AnyStaticShapeTensor>:$inputs,
                       DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads,
                       DenseI64ArrayAttr:$countedPads, UnitAttr:$channelsLast,
                       OptionalAttr<SliceArrayAttr>:$slices);
  let results = (outs AnyStaticShapeTensor:$output);
  let assemblyFormat = "$kind $inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The types of x and y, whichever of them the op computes.
    std::array<::mlir::RankedTensorType, 2> getPooling();
  }];
}

def CopyOp : Entry<"copy", [Pure]> {
  let summary = "the same bytes in another slice";
  let arguments = (ins AnyStaticShapeTensor:$source, OptionalAttr<SliceArrayAttr>:$slices);
  let results = (outs AnyStaticShapeTensor:$target);
  let assemblyFormat = "$source attr-dict `:` functional-type(operands, results)";
}

def ZeroOp : Entry<"zero", [Pure]> {
  let summary = "a slice of zero bytes";
  let arguments = (ins OptionalAttr<SliceArrayAttr>:$slices);
  let results = (outs AnyStaticShapeTensor:$target);
  let assemblyFormat = "attr-dict `:` type($target)";
}

def AliasOp : Op<Table_Dialect, "alias", [Pure]> {
  let summary = "the same memory, or a range of it, under another shape; not an entry";
  let description = "`offset` counts elements.";
  let arguments = (ins AnyStaticShapeTensor:$source, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs AnyStaticShapeTensor:$view);
  let assemblyFormat = "$source attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Type":$view, "::mlir::Value":$source), [{
    build($_builder, $_state, view, source, /*offset=*/0);
  }]>];
  let hasVerifier = 1;
}
