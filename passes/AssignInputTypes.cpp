//===- AssignInputTypes.cpp - The types that inputs are staged in ---------===//
//
// An input or label arrives in the type that the user chose for it; without a choice, in 16 bits if
// it is only ever read in these. A cast to the type that it had stands right behind it:
//
//   @micro(%x: tensor<4x8xf32> {train.input = "x"}) { %h = train.cast %x to f16 ... }
//   =>
//   @micro(%x: tensor<4x8xf16> {train.input = "x"}) {
//     %0 = train.cast %x to f32
//     %h = train.cast %0 to f16      // exact, so that it folds to %x
//
// Behind assign-precision, which decides by the types of the file: how data is staged must not
// change what a step computes in.
//
//===----------------------------------------------------------------------===//

#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/Recipe.h"

namespace halfstep {
#define GEN_PASS_DEF_ASSIGNINPUTTYPESPASS
#include "passes/Passes.h.inc"
} // namespace halfstep

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

namespace {
/// Where a program takes data from the host. The label is called "label", as its file is.
struct Input {
  StringRef name;
  BlockArgument argument;

  Type elementType() const { return getElementTypeOrSelf(argument.getType()); }
};

struct AssignInputTypes : halfstep::impl::AssignInputTypesPassBase<AssignInputTypes> {
  using Base::Base;

  InFlightDiagnostic error() { return emitError(getOperation().getLoc()) << "--input-type: "; }

  SmallVector<Input> findInputs() {
    SmallVector<Input> inputs;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments()) {
        unsigned i = argument.getArgNumber();
        if (auto name = function.getArgAttrOfType<StringAttr>(i, attr::kInput))
          inputs.push_back({name, argument});
        else if (function.getArgAttr(i, attr::kLabel))
          inputs.push_back({"label", argument});
      }
    return inputs;
  }

  /// Reads one NAME=TYPE; null after an error.
  Type readChoice(StringRef text, ArrayRef<Input> inputs) {
    auto [name, typeName] = text.rsplit('=');
    MLIRContext *context = &getContext();
    Type type = typeName == "fp32"   ? Type(Float32Type::get(context))
                : typeName == "fp16" ? Type(Float16Type::get(context))
                : typeName == "bf16" ? Type(BFloat16Type::get(context))
                                     : Type();
    if (!type || name.empty()) {
      error() << "'" << text << "' is not NAME=fp32, NAME=fp16 or NAME=bf16";
      return {};
    }
    const Input *input = llvm::find_if(inputs, [&](const Input &i) { return i.name == name; });
    if (input == inputs.end()) {
      llvm::SmallSetVector<StringRef, 4> names;
      for (const Input &known : inputs)
        names.insert(known.name);
      error() << "no input of the model is called '" << name << "'; "
              << suggestion(name, names.getArrayRef());
      return {};
    }
    if (!isa<FloatType>(input->elementType())) {
      error() << name << " holds " << input->elementType() << ", which is no float type";
      return {};
    }
    if (!chosen.insert({input->name, type}).second) {
      error() << name << " is given twice";
      return {};
    }
    return type;
  }

  /// The 16-bit type that the argument is cast to wherever it is read, or null.
  static Type narrowTypeOfReaders(BlockArgument argument) {
    Type type;
    for (Operation *reader : argument.getUsers()) {
      auto cast = dyn_cast<CastOp>(reader);
      if (!cast || !isa<FloatType>(cast.getTo()) || cast.getTo().getIntOrFloatBitWidth() != 16 ||
          (type && type != cast.getTo()))
        return {};
      type = cast.getTo();
    }
    return type;
  }

  /// For inputs without a choice: what all programs that read them agree on.
  void chooseByReaders(ArrayRef<Input> inputs) {
    llvm::StringMap<Type> wanted;
    for (const Input &input : inputs) {
      if (input.argument.use_empty() || !isa<FloatType>(input.elementType()))
        continue;
      Type type = narrowTypeOfReaders(input.argument);
      auto [entry, isNew] = wanted.insert({input.name, type});
      if (!isNew && entry->second != type)
        entry->second = Type();
    }
    for (auto &entry : wanted)
      if (entry.second)
        chosen.insert({entry.first(), entry.second}); // unless the user has chosen
  }

  void assign(const Input &input, Type type) {
    BlockArgument argument = input.argument;
    Type former = input.elementType();
    argument.setType(cast<RankedTensorType>(argument.getType()).clone(type));
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    function.setFunctionType(FunctionType::get(&getContext(), function.front().getArgumentTypes(),
                                               function.getResultTypes()));
    ImplicitLocOpBuilder b(argument.getLoc(), &function.front(), function.front().begin());
    Value same = convert(Expr{argument, &b}, former).value;
    if (same != argument)
      argument.replaceAllUsesExcept(same, same.getDefiningOp());
  }

  void runOnOperation() override {
    chosen.clear();
    SmallVector<Input> inputs = findInputs();
    for (const std::string &choice : types)
      if (!readChoice(choice, inputs))
        return signalPassFailure();
    if (narrow)
      chooseByReaders(inputs);
    for (const Input &input : inputs)
      if (Type type = chosen.lookup(input.name))
        assign(input, type);
  }

  llvm::StringMap<Type> chosen; // by name
};
} // namespace
