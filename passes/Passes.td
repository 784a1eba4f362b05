//===- Passes.td - Every pass of the phases -------------------------------===//
//
// One name gives the other three: AssignPrecision.cpp, `assign-precision`,
// tests/passes/assign_precision.mlir, AssignPrecisionPass.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES
#define HALFSTEP_PASSES

include "mlir/Pass/PassBase.td"

/// A pass that makes ops of the train dialect.
class TrainPass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::halfstep::train::TrainDialect"];
}

//===----------------------------------------------------------------------===//
// grad
//===----------------------------------------------------------------------===//

def SelectParametersPass : Pass<"select-parameters", "::mlir::ModuleOp"> {
  let summary = "Mark which parameters the optimizer trains";
  let description = [{
    Keeps `train.trainable` on a float parameter if its name matches a `train` pattern (or there is
    none) and no `freeze` pattern. Patterns are ECMAScript regular expressions, searched in the
    name. One that matches nothing, and a selection that leaves nothing to train, are errors.
  }];
  let options = [
    ListOption<"train", "train", "std::string", "patterns of parameters to train">,
    ListOption<"freeze", "freeze", "std::string", "patterns of parameters to leave as they are">];
}

def AppendLossPass : TrainPass<"append-loss"> {
  let summary = "Put the loss behind the forward function";
  let description = [{
    Makes two functions of `@forward`, both with a label argument if the loss has one: `@evaluate`,
    which returns the loss and the metrics, and `@micro`, which returns the loss alone and to which
    `autodiff` appends the backward pass.

        func @forward(%x {train.input = "x"}, %w ...) -> (%y {train.output = "y"})
    =>
        func @micro(%x ..., %label {train.label}, %w ...) -> (%loss {train.metric = "loss"}) {
          ...
          %loss = train.mse_loss %y, %label {reduction = mean}
  }];
  let options = [Option<"loss", "loss", "std::string", "", "NAME[:key=value,...]">];
}

def EvaluationModePass : TrainPass<"evaluation-mode"> {
  let summary = "Let only @micro train";
  let description = [{
    Replaces ops that work differently in training by what they are in evaluation, in every function
    but `@micro`.

        %bits = train.random_bits 0 in [4, 8]
        %y = train.dropout %x, %bits {ratio = 0.5}
        %z = train.relu %y
    =>  (in @forward and @evaluate)
        %z = train.relu %x
  }];
}

def AutodiffPass : TrainPass<"autodiff"> {
  let summary = "Append the backward pass to @micro";
  let description = [{
    Reverse mode over the gradient interface: walks the ops from the loss back, asks each one that a
    trained parameter reaches for the adjoints of its operands, and gathers the contributions to a
    value in one `train.adjoint`. The adjoint of the loss is a new argument, the seed, because the
    later phases know its value (loss scale, accumulation).

        func @micro(%x, %w {train.parameter = "w", train.trainable}) -> %loss
    =>
        func @micro(%x, %w, %seed {train.seed}) -> (%loss, %dw {train.gradient = "w"}) {
          ...
          %1 = train.matmul %x, %dy {transA = true}
          %dw = train.adjoint(%1) of %w
  }];
}

//===----------------------------------------------------------------------===//
// precision
//===----------------------------------------------------------------------===//

def AssignPrecisionPass : TrainPass<"assign-precision"> {
  let summary = "Give every op the types of the precision mode";
  let description = [{
    Casts operands to what the op's category, the mode and the pins ask for, and says why in
    `train.reason`. An output in 16 bits keeps them, and the type of the file as `train.file_type`;
    the host widens. Under `half-grad` a low parameter is read as its 16-bit copy and its gradient
    stays 16 bits wide.

        %h = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
        %y = train.exp %h
    =>  (autocast)
        %xh = train.cast %x to f16
        %wh = train.cast %w to f16
        %h = train.matmul %xh, %wh {train.reason = "category"} : ... -> tensor<4x2xf16>
        %hf = train.cast %h to f32
        %y = train.exp %hf {train.reason = "category"}
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"fp32\"",
           "fp32, autocast, half-grad, half or as-is">,
    Option<"halfType", "half-type", "std::string", "\"fp16\"", "fp16 or bf16">,
    ListOption<"pin", "pin", "std::string", "REGEX=fp32|fp16|bf16, by node or op name">];
}

def LegalizePrecisionPass : TrainPass<"legalize-precision"> {
  let summary = "Widen what the target cannot multiply in 16 bits";
  let description = [{
    A contraction in a type that the target has no products of works in f32 instead, for the reason
    "target", and its result is rounded to the type that `assign-precision` wished.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "cpu, sm_75 or sm_80">];
}

def AssignInputTypesPass : TrainPass<"assign-input-types"> {
  let summary = "Give inputs and the label the types that they are staged in";
  let description = [{
    An input arrives in the type that is chosen for it, or in 16 bits if it is only read in these. A
    cast to its former type stands right behind it, so that what is computed stays the same but for
    the rounding of the data itself.

        func.func @micro(%x: tensor<4xf32> {train.input = "x"}, ...) {
    =>  (types=x=fp16)
        func.func @micro(%x: tensor<4xf16> {train.input = "x"}, ...) {
          %0 = train.cast %x to f32
  }];
  let options = [
    ListOption<"types", "types", "std::string", "NAME=fp32|fp16|bf16 of an input, or of the label">,
    Option<"narrow", "narrow", "bool", "true", "false: only the inputs named in types">];
}

def ExpandAdjointsPass : TrainPass<"expand-adjoints"> {
  let summary = "Replace train.adjoint by sums and additions, now that types are known";
  let description = [{
        %dx = train.adjoint(%r1, %r2) of %b : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    =>
        %s = train.sum %r1 {axes = [0]}
        %t = train.reshape %s {sizes = [8]}
        %dx = train.add %t, %r2
  }];
}

//===----------------------------------------------------------------------===//
// update
//===----------------------------------------------------------------------===//

def BuildStepPass : Pass<"build-step", "::mlir::ModuleOp"> {
  let summary = "Make the entry functions and the directory of the training step";
  let description = [{
    Lays the trained parameters, their gradients and the optimizer's slots out in flat regions;
    makes `@update` (gradient norm, clipping, schedule, optimizer, counters, records), lets `@micro`
    keep its loss (and add up gradients when several micro-batches make one update), draws random
    numbers from the seed and counters in the state, and renames `@forward` to `@infer`. From here
    on the module's `table.tensor` and `table.region` ops say what memory has a name.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "NAME[:key=value,...]">,
    Option<"schedule", "schedule", "std::string", "\"constant\"", "NAME[:key=value,...]">,
    Option<"clipNorm", "clip-norm", "double", "0", "bound of the gradient's norm; 0: none">,
    Option<"accumulate", "accumulate", "int64_t", "1", "micro-batches of one update">,
    Option<"accumulateType", "accumulate-type", "std::string", "\"f32\"",
           "half: gradients are added up in the type that they have">,
    Option<"rounding", "rounding", "std::string", "\"nearest\"",
           "of 16-bit weights: nearest or stochastic">,
    Option<"lossScale", "loss-scale", "std::string", "\"none\"",
           "dynamic[:key=value,...], none or a number">];
  let dependentDialects = ["::halfstep::train::TrainDialect", "::halfstep::table::TableDialect",
                           "::mlir::func::FuncDialect"];
}

//===----------------------------------------------------------------------===//
// kernels
//===----------------------------------------------------------------------===//

def ExpandCompositesPass : TrainPass<"expand-composites"> {
  let summary = "Expand softmax, losses and the like into elementwise ops and reductions";
  let description = [{
    Possible only now: precision was decided for the whole. The parts are fused again by
    `form-kernels`, and what forward and backward share is shared by CSE.
  }];
}

def AssignLayoutPass : TrainPass<"assign-layout"> {
  let summary = "Choose where the channels of convolutions and poolings lie";
  let description = [{
    Regions of convolutions, poolings and the elementwise ops between them get one layout, by the
    measured cost of their ops in either; where channels come last, values are transposed where they
    enter and leave the region.

        %1 = train.conv %x, %w
        %2 = train.relu %1
    =>
        %0 = train.transpose %x {permutation = [0, 2, 3, 1]}     // and of %w
        %1 = train.conv %0, %v {channelsLast}
        %2 = train.relu %1
        %3 = train.transpose %2 {permutation = [0, 3, 1, 2]}
  }];
  let options = [
    Option<"layout", "layout", "::halfstep::Layout", "::halfstep::Layout::ByCost", "of all regions",
           [{::llvm::cl::values(
                 clEnumValN(::halfstep::Layout::ByCost, "by-cost", "what costs less"),
                 clEnumValN(::halfstep::Layout::ChannelsFirst, "channels-first", "as they come"),
                 clEnumValN(::halfstep::Layout::ChannelsLast, "channels-last", "transposed"))}]>,
    Option<"target", "target", "std::string", "\"cpu\"", "cpu or an architecture of CUDA">];
}

def NormaliseForKernelsPass : TrainPass<"normalise-for-kernels"> {
  let summary = "Bring programs into the forms that fusion knows";
  let description = [{
    Reductions over one run of adjacent dimensions, transposed operands of products as flags,
    explicit copies where strides cannot express a view.

        %0 = train.transpose %w {permutation = [1, 0]}
        %1 = train.matmul %x, %0
        %2 = train.sum %t {axes = [0, 2]}
    =>
        %1 = train.matmul %x, %w {transB = true}
        %s = train.sum %t {axes = [2]}
        %2 = train.sum %s {axes = [0]}
  }];
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "Fuse the values of every program into kernels";
  let description = [{
    Elementwise ops, maps and reductions over one space become `kernel.group`s: producers with
    consumers, several uses, several results, across row reductions (softmax, norms, losses) and
    into column reductions (bias gradients). Movement and broadcasting become strides. Matrix
    products become library calls, or generated loops when they are tiny.

        %0 = train.matmul %x, %w
        %1 = train.add %0, %b
        %2 = train.relu %1
    =>
        %0 = table.gemm %x, %w
        %1 = table.launch @add_relu(%0, %b)
  }];
  let options = [Option<"fuse", "fuse", "bool", "true", "false: a kernel for every op">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu, or a CUDA architecture, whose library may use a workspace">];
  let dependentDialects = ["::halfstep::kernel::KernelDialect", "::halfstep::table::TableDialect"];
}

def FuseFirstConvolutionPass : Pass<"fuse-first-convolution", "::mlir::ModuleOp"> {
  let summary = "Make one kernel of a first convolution, its loss and its weight gradient";
  let description = [{
    On a device whose tensor cores multiply 16-bit numbers. The output of such a convolution and its
    gradient are larger than everything else in the step, and are not stored.

        %y = table.conv forward %x, %w
        %sums, %dy = table.launch @loss(%label, %y, %scale)
        %parts = table.conv weight_gradient %dy, %x
    =>
        %partial, %parts = table.fused_conv @loss_partial(%x, %w, %label, %scale)
        %sums = table.launch @loss(%partial)
  }];
  let dependentDialects = ["::halfstep::kernel::KernelDialect", "::halfstep::table::TableDialect"];
}

def SplitReductionsPass : Pass<"split-reductions", "::mlir::ModuleOp"> {
  let summary = "Cut long reductions in two kernels";
  let description = [{
    The first is `partial`: it has a result for each chunk of the reduction's tree. The second combines
    them and does what the group does with the result. Each runs on all threads.

        %s = table.launch @sum(%x)
    =>
        %chunks = table.launch @sum_partial(%x)
        %s = table.launch @sum(%chunks)
  }];
  let dependentDialects = ["::halfstep::kernel::KernelDialect", "::halfstep::table::TableDialect"];
}

//===----------------------------------------------------------------------===//
// memory
//===----------------------------------------------------------------------===//

def OrderEntriesPass : Pass<"order-entries", "::mlir::ModuleOp"> {
  let summary = "Order the entries of every program so that few bytes live at once";
  let description = [{
    Of the entries whose operands are there, the next one is always the one that frees most and
    allocates least. A weight's gradient goes to persistent memory and lets go of an activation, so
    it comes as soon as it can. A program keeps its order unless the new one has a lower maximum of
    live bytes.

        %dx = table.gemm %dy, %w
        %dw = table.gemm %x, %dy {transA}      // %x lives on while %dx is made
    =>
        %dw = table.gemm %x, %dy {transA}
        %dx = table.gemm %dy, %w
  }];
}

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every value its bytes";
  let description = [{
    Lays out the persistent state, decides which kernels work in place, copies what has to be
    elsewhere in the end, and plans the arena of every program. Afterwards each entry names the
    slices of its operands and results, and the directory those of what has a name.

        table.tensor counter "iteration" : tensor<f64>
        func.func @update(%i: tensor<f64> {train.state = "iteration"})
            -> (tensor<f64> {train.updates = "iteration"}) {
          %next = table.launch @increment(%i) : (tensor<f64>) -> tensor<f64>
    =>
        table.tensor counter "iteration" : tensor<f64> {slice = #table.slice<0, 0, 8>}
        ...
          %next = table.launch @increment(%i) {
              slices = [#table.slice<0, 0, 8>, #table.slice<0, 0, 8>]} : ...  // now in place
  }];
  let options = [Option<"reuse", "reuse", "bool", "true",
                        "false: bytes of its own for every value, and no kernel in place">,
                 Option<"inputSlots", "input-slots", "int64_t", "2",
                        "staging slots of each input">,
                 Option<"target", "target", "std::string", "\"cpu\"",
                        "cpu, whose threads have scratch memory, or a CUDA architecture">];
  let dependentDialects = ["::halfstep::table::TableDialect"];
}

//===----------------------------------------------------------------------===//
// every phase
//===----------------------------------------------------------------------===//

def VerifyPhasePass : Pass<"verify-phase", "::mlir::ModuleOp"> {
  let summary = "Check what a phase promises";
  let description = [{
    Closes every phase. Looks at the module alone, not at how the phase worked: where slices were
    planned it follows what every byte holds from entry to entry. A broken promise is a fault of the
    compiler: the user gets a message that says so, the developer a note about which promise.
  }];
  let options = [Option<"phase", "phase", "std::string", "",
                        "import, grad, precision, update, kernels or memory">];
}

#endif
