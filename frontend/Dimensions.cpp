//===- Dimensions.cpp - Sizes for symbolic dimensions ---------------------===//

#include "frontend/Dimensions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace halfstep {

static constexpr StringLiteral commandLine = "<command line>";

Location commandLineLocation(MLIRContext *context, StringRef subject) {
  return NameLoc::get(StringAttr::get(context, subject),
                      FileLineColLoc::get(context, commandLine, 0, 0));
}

bool isCommandLineLocation(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  auto file = name ? dyn_cast<FileLineColLoc>(name.getChildLoc()) : FileLineColLoc();
  return file && file.getFilename() == commandLine;
}

namespace {

class DimensionBinder {
public:
  DimensionBinder(const ImportOptions &options, MLIRContext *context)
      : options(options), context(context) {}

  /// Gives every dimension of `input` a size.
  LogicalResult bind(onnx::ValueInfoProto &input);
  /// Reports options that no dimension asked for.
  LogicalResult finish(StringRef path);

  BoundGraph result;

private:
  FailureOr<int64_t> sizeOf(const onnx::TensorShapeProto::Dimension &dim, int position,
                            StringRef input);
  int64_t note(StringRef name, int64_t size, int position, bool isAssumed = false) {
    if (name.empty() || named.insert(name).second)
      result.dimensions.push_back({name.str(), size, position == 0, isAssumed});
    return size;
  }

  const ImportOptions &options;
  MLIRContext *context;
  llvm::StringSet<> named;
  bool batchUsed = false;
};

FailureOr<int64_t> DimensionBinder::sizeOf(const onnx::TensorShapeProto::Dimension &dim,
                                           int position, StringRef input) {
  Location loc = NameLoc::get(StringAttr::get(context, input));
  if (dim.has_dim_value()) {
    if (dim.dim_value() < 1)
      return emitError(loc) << "dimension " << position << " of this graph input is "
                            << dim.dim_value() << "; sizes are at least 1";
    return dim.dim_value();
  }
  StringRef name = dim.dim_param();
  if (auto bound = options.bindings.find(name.str());
      !name.empty() && bound != options.bindings.end())
    return note(name, bound->second, position);
  // Another input may carry the batch under this name.
  for (const DimensionBinding &known : result.dimensions)
    if (!name.empty() && known.name == name)
      return known.size;
  if (position == 0 && options.batch) {
    batchUsed = true;
    return note(name, *options.batch, position);
  }
  if (options.assumedSize)
    return note(name, *options.assumedSize, position, /*isAssumed=*/true);

  bool usage = position == 0 || !name.empty();
  InFlightDiagnostic diag = emitError(usage ? commandLineLocation(context, input) : loc);
  diag << "dimension " << position << (name.empty() ? "" : " ('") << name
       << (name.empty() ? "" : "')") << " of this graph input has no size";
  if (position == 0)
    diag.attachNote() << "help: --batch N sets it" << (name.empty() ? "" : ", or --bind ") << name
                      << (name.empty() ? "" : "=N");
  else if (!name.empty())
    diag.attachNote() << "help: --bind " << name << "=N sets it";
  else
    diag.attachNote() << "help: export the model with this dimension named or fixed";
  return diag;
}

LogicalResult DimensionBinder::bind(onnx::ValueInfoProto &input) {
  Location loc = NameLoc::get(StringAttr::get(context, input.name()));
  if (!input.type().has_tensor_type())
    return emitError(loc) << "this graph input is not a tensor";
  onnx::TypeProto::Tensor &tensor = *input.mutable_type()->mutable_tensor_type();
  Type element = elementType(context, tensor.elem_type());
  if (!element || !isComputeType(element))
    return emitError(loc) << "this graph input has element type "
                          << onnxTypeName(tensor.elem_type()) << ", which is not supported";
  if (!tensor.has_shape())
    return emitError(loc) << "this graph input has no shape";

  SmallVector<int64_t> sizes;
  int64_t bytes = storedBytes(element);
  for (auto [position, dim] : llvm::enumerate(*tensor.mutable_shape()->mutable_dim())) {
    FailureOr<int64_t> size = sizeOf(dim, position, input.name());
    if (failed(size))
      return failure();
    if (llvm::MulOverflow(bytes, *size, bytes))
      return emitError(loc) << "this graph input is impossibly large";
    dim.Clear();
    dim.set_dim_value(*size);
    sizes.push_back(*size);
  }
  result.inputs.push_back({input.name(), RankedTensorType::get(sizes, element)});
  return success();
}

LogicalResult DimensionBinder::finish(StringRef path) {
  for (const auto &[name, size] : options.bindings)
    if (!named.contains(name)) {
      InFlightDiagnostic diag = emitError(commandLineLocation(context, "--bind"))
                                << "no graph input has a dimension named '" << name << "'";
      std::string names;
      for (const DimensionBinding &known : result.dimensions)
        if (!known.name.empty())
          names += (names.empty() ? "" : ", ") + known.name;
      diag.attachNote() << "help: "
                        << (names.empty() ? "the model has no named dimensions"
                                          : "the named dimensions are: " + names);
      return diag;
    }
  for (const GraphInput &input : result.inputs)
    if (input.type.getRank()) {
      result.batch = input.type.getDimSize(0);
      break;
    }
  if (options.batch && !batchUsed && *options.batch != result.batch) {
    InFlightDiagnostic diag = emitError(commandLineLocation(context, "--batch"))
                              << "the leading dimension of the model's inputs is " << result.batch
                              << ", not " << *options.batch;
    diag.attachNote() << "help: use --batch " << result.batch
                      << ", or export the model with a dynamic first dimension";
    return diag;
  }
  return success();
}

} // namespace

FailureOr<BoundGraph> bindDimensions(OnnxFile &file, const ImportOptions &options,
                                     MLIRContext *context) {
  if (options.batch && *options.batch < 1)
    return emitError(commandLineLocation(context, "--batch"))
           << "the batch size is " << *options.batch << "; it must be at least 1";
  for (const auto &[name, size] : options.bindings)
    if (size < 1)
      return emitError(commandLineLocation(context, "--bind"))
             << "the size of '" << name << "' is " << size << "; it must be at least 1";

  onnx::GraphProto &graph = *file.model.mutable_graph();
  llvm::StringSet<> known; // inputs that have a value: weights and other initializers
  for (const auto &weight : file.weights)
    known.insert(weight->name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    known.insert(tensor.name());

  DimensionBinder binder(options, context);
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    if (!known.contains(input.name()) && failed(binder.bind(input)))
      return failure();
  if (failed(binder.finish(file.path)))
    return failure();

  return std::move(binder.result);
}

} // namespace halfstep
