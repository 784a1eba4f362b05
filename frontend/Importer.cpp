//===- Importer.cpp - From an ONNX file to the train dialect --------------===//

#include "frontend/Importer.h"

#include "frontend/Dimensions.h"
#include "frontend/Fold.h"
#include "frontend/ImportRules.h"
#include "frontend/OnnxFile.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "onnx/shape_inference/implementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace halfstep {
namespace {

/// Why a node cannot be imported.
struct Refusal {
  const onnx::NodeProto *node;
  Location loc;
  std::string reason;
};

class GraphImporter {
public:
  GraphImporter(MLIRContext &context, OnnxFile &file, const BoundGraph &bound,
                ExternalData &externalData)
      : context(context), file(file), bound(bound), externalData(externalData), builder(&context),
        live(liveNodes(file.graph())) {}

  FailureOr<ImportedModel> run();

private:
  Location nameLocation(StringRef name) { return NameLoc::get(builder.getStringAttr(name)); }
  void nameNodes();
  LogicalResult bindInputs(GraphScope &scope);
  void importNode(const onnx::NodeProto &node, GraphScope &scope);
  void refuse(const onnx::NodeProto &node, std::string reason);
  LogicalResult report(const GraphScope &scope);
  std::string parametersBehind(const onnx::NodeProto &node);
  LogicalResult finishFunction(func::FuncOp function, Block &entry, GraphScope &scope);
  void stateShapes(GraphScope &scope);
  LogicalResult compareWithInference(GraphScope &scope);

  MLIRContext &context;
  OnnxFile &file;
  const BoundGraph &bound;
  ExternalData &externalData;
  OpBuilder builder;

  /// What nothing reads is neither imported nor refused.
  std::vector<const onnx::NodeProto *> live;
  DenseMap<const onnx::NodeProto *, Location> locations;
  std::vector<Refusal> refusals;
  /// The parameters' contents; grows while arguments are added, so that addresses stay.
  std::deque<Weight> weights;
  size_t trainable = 0; // the first of `weights` are the file's float weights
};

/// A node without a name is called by its op and position; of nodes with one name all but the first
/// get a number.
void GraphImporter::nameNodes() {
  llvm::StringSet<> taken;
  for (const onnx::NodeProto &node : file.graph().node())
    taken.insert(node.name());
  llvm::StringSet<> used;
  for (auto [index, node] : llvm::enumerate(file.graph().node())) {
    std::string base =
        node.name().empty() ? node.op_type() + "_" + std::to_string(index) : node.name();
    std::string name = base;
    for (int n = 2; (node.name().empty() && taken.contains(name)) || !used.insert(name).second; ++n)
      name = base + "_" + std::to_string(n);
    locations.try_emplace(&node, nameLocation(name));
  }
}

LogicalResult GraphImporter::bindInputs(GraphScope &scope) {
  Block &entry = *builder.getInsertionBlock();
  for (const GraphInput &input : bound.inputs) {
    Binding binding;
    binding.value = entry.addArgument(input.type, nameLocation(input.name));
    scope.bind(input.name, binding);
  }

  llvm::StringSet<> read;
  for (const onnx::NodeProto *node : live)
    for (const std::string &input : node->input())
      read.insert(input);
  for (const onnx::ValueInfoProto &output : file.graph().output())
    read.insert(output.name());

  for (const auto &tensor : file.weights) {
    if (!read.contains(tensor->name()))
      continue;
    Location loc = nameLocation(tensor->name());
    FailureOr<Weight> weight = readTensor(tensor, externalData, loc);
    if (failed(weight))
      return failure();
    weight->name = tensor->name();
    Binding binding;
    if (weight->type.getNumElements() == 0) {
      binding.constant = toAttribute(*weight); // an absent operand, as some exporters spell it
    } else {
      binding.value = entry.addArgument(weight->type, loc);
      binding.weight = &weights.emplace_back(std::move(*weight));
    }
    scope.bind(tensor->name(), binding);
  }
  trainable = weights.size();

  for (const onnx::TensorProto &tensor : file.graph().initializer()) {
    if (!read.contains(tensor.name()))
      continue;
    FailureOr<Weight> contents =
        readTensor(std::shared_ptr<const onnx::TensorProto>(&tensor, [](auto *) {}), externalData,
                   nameLocation(tensor.name()));
    if (failed(contents))
      return failure();
    Binding binding;
    binding.constant = toAttribute(*contents);
    scope.bind(tensor.name(), binding);
  }
  return success();
}

void GraphImporter::refuse(const onnx::NodeProto &node, std::string reason) {
  refusals.push_back({&node, locations.at(&node), std::move(reason)});
}

void GraphImporter::importNode(const onnx::NodeProto &node, GraphScope &scope) {
  auto block = [&] {
    Binding binding;
    binding.blocked = true;
    for (const std::string &output : node.output())
      if (!output.empty())
        scope.bind(output, binding);
  };
  const ImportRule *rule = isStandardOp(node) ? findRule(node.op_type(), file.opset) : nullptr;
  FoldFunction fold = isStandardOp(node) ? folderOf(node.op_type()) : nullptr;
  bool behindBlocked = llvm::any_of(node.input(), [&](const std::string &input) {
    Binding *operand = scope.lookup(input);
    return operand && operand->blocked;
  });
  if (!rule && !(fold && behindBlocked)) {
    OpBinder b(node, file.opset, locations.at(&node), scope);
    if (!fold || !isFoldable(b)) {
      refuse(node, node.op_type() + " (" +
                       (isStandardOp(node) ? "operator set " + std::to_string(file.opset)
                                           : "domain " + node.domain()) +
                       ") is not supported");
      return block();
    }
  }
  if (behindBlocked)
    return block();

  // Errors of the rule become this node's refusal; warnings go through.
  std::string reason;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    if (diag.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    reason += (reason.empty() ? "" : "; ") + diag.str();
    return success();
  });
  OpBinder b(node, file.opset, locations.at(&node), scope);
  LogicalResult imported = failure();
  if (isFoldable(b)) {
    FailureOr<DenseElementsAttr> constant = fold(b);
    imported = succeeded(constant) ? b.bind(0, *constant) : failure();
  } else {
    imported = rule->import(b);
  }
  if (failed(imported)) {
    refuse(node, node.op_type() + ": " + reason);
    block();
  }
}

/// The float weights whose gradient would pass through `node`.
std::string GraphImporter::parametersBehind(const onnx::NodeProto &node) {
  llvm::StringSet<> names;
  for (size_t i = 0; i < trainable; ++i)
    names.insert(weights[i].name);
  llvm::StringMap<const onnx::NodeProto *> producers;
  for (const onnx::NodeProto *each : live)
    for (const std::string &output : each->output())
      producers.try_emplace(output, each);
  std::string list;
  size_t count = 0;
  DenseSet<const onnx::NodeProto *> visited{&node};
  SmallVector<const onnx::NodeProto *> work{&node};
  llvm::StringSet<> counted;
  while (!work.empty())
    for (const std::string &input : work.pop_back_val()->input()) {
      if (names.contains(input) && counted.insert(input).second && ++count <= 3)
        list += (list.empty() ? "" : ", ") + input;
      if (const onnx::NodeProto *producer = producers.lookup(input))
        if (visited.insert(producer).second)
          work.push_back(producer);
    }
  if (count > 3)
    list += " and " + std::to_string(count - 3) + " more";
  return list;
}

/// One diagnostic for all refused nodes.
LogicalResult GraphImporter::report(const GraphScope &scope) {
  if (refusals.empty())
    return success();
  bool single = refusals.size() == 1;
  InFlightDiagnostic diag = single ? emitError(refusals.front().loc) << refusals.front().reason
                                   : emitError(fileLocation(&context, file.path))
                                         << refusals.size() << " nodes cannot be imported";
  for (const Refusal &refusal : refusals) {
    std::string behind = parametersBehind(*refusal.node);
    if (!single)
      diag.attachNote(refusal.loc)
          << refusal.reason << (behind.empty() ? "" : " (in front of: " + behind + ")");
    else if (!behind.empty())
      diag.attachNote() << "parameters in front of it: " << behind;
  }
  if (!scope.bakedBatch.empty())
    diag.attachNote() << "node '" << scope.bakedBatch.front()
                      << "' reshapes to a leading dimension of 1 where the batch is " << scope.batch
                      << ": the batch that the model was exported with may be fixed in it";
  diag.attachNote() << "help: 'halfstep ops' lists what can be imported";
  return diag;
}

LogicalResult GraphImporter::finishFunction(func::FuncOp function, Block &entry,
                                            GraphScope &scope) {
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
  for (const onnx::ValueInfoProto &output : file.graph().output()) {
    Location loc = nameLocation(output.name());
    Binding *binding = scope.lookup(output.name());
    if (!binding)
      return emitError(loc) << "this graph output is computed by no node";
    Value value = scope.materialize(output.name(), *binding, loc);
    if (!value)
      return failure();
    results.push_back(value);
    resultAttributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(train::attr::kOutput, builder.getStringAttr(output.name()))));
  }
  builder.create<func::ReturnOp>(function.getLoc(), results);

  // Weights that only said something about structure are no parameters.
  size_t inputs = bound.inputs.size();
  SmallVector<Attribute> argumentAttributes;
  for (const GraphInput &input : bound.inputs)
    argumentAttributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(train::attr::kInput, builder.getStringAttr(input.name))));
  std::deque<Weight> kept;
  llvm::BitVector unused(entry.getNumArguments());
  for (auto [i, weight] : llvm::enumerate(weights)) {
    if (entry.getArgument(inputs + i).use_empty()) {
      unused.set(inputs + i);
      continue;
    }
    NamedAttrList attributes;
    attributes.set(train::attr::kParameter, builder.getStringAttr(weight.name));
    if (i < trainable)
      attributes.set(train::attr::kTrainable, builder.getUnitAttr());
    argumentAttributes.push_back(attributes.getDictionary(&context));
    kept.push_back(std::move(weight));
  }
  entry.eraseArguments(unused);
  weights = std::move(kept);

  function.setFunctionType(
      builder.getFunctionType(entry.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  return success();
}

static RankedTensorType typeOf(const Binding &binding) {
  return cast<RankedTensorType>(binding.constant ? binding.constant.getType()
                                                 : binding.value.getType());
}

/// Shapes that the file states beside its inputs follow from them, and exporters write them wrong
/// or not at all. Those of the outputs become what was imported, the others go.
void GraphImporter::stateShapes(GraphScope &scope) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  graph.clear_value_info();
  for (onnx::ValueInfoProto &output : *graph.mutable_output()) {
    Binding *binding = scope.lookup(output.name());
    if (!binding || !output.type().has_tensor_type())
      continue;
    auto *shape = output.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->clear_dim();
    for (int64_t size : typeOf(*binding).getShape())
      shape->add_dim()->set_dim_value(size);
  }
}

/// Runs onnx's shape inference over the bound graph and compares: two derivations of every shape
/// must agree where both have one.
LogicalResult GraphImporter::compareWithInference(GraphScope &scope) {
  Location loc = fileLocation(&context, file.path);
  onnx::GraphProto &graph = *file.model.mutable_graph();
  try {
    onnx::shape_inference::InferShapes(
        file.model, onnx::OpSchemaRegistry::Instance(),
        onnx::ShapeInferenceOptions(/*check_type=*/true, /*strict_mode=*/1, /*data_prop=*/true));
  } catch (const std::exception &error) {
    return emitError(loc) << "not a valid ONNX model: " << StringRef(error.what()).trim();
  }
  auto compare = [&](const onnx::ValueInfoProto &info) -> LogicalResult {
    Binding *binding = scope.lookup(info.name());
    if (!binding || !info.type().has_tensor_type())
      return success();
    const onnx::TypeProto::Tensor &inferred = info.type().tensor_type();
    RankedTensorType type = typeOf(*binding);
    bool agree = elementType(&context, inferred.elem_type()) == type.getElementType();
    if (inferred.has_shape()) {
      agree &= inferred.shape().dim_size() == type.getRank();
      for (int64_t d = 0; agree && d < type.getRank(); ++d)
        agree &= !inferred.shape().dim(d).has_dim_value() ||
                 inferred.shape().dim(d).dim_value() == type.getDimSize(d);
    }
    if (agree)
      return success();
    return emitError(nameLocation(info.name()))
           << "has type " << type
           << ", which onnx's shape inference contradicts: " << inferred.ShortDebugString();
  };
  for (const auto &info : graph.value_info())
    if (failed(compare(info)))
      return failure();
  for (const auto &info : graph.output())
    if (failed(compare(info)))
      return failure();
  return success();
}

FailureOr<ImportedModel> GraphImporter::run() {
  Location loc = fileLocation(&context, file.path);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr(table::attr::kPhase, builder.getStringAttr("import"));
  (*module)->setAttr(table::attr::kSource, builder.getStringAttr(file.path));
  (*module)->setAttr(table::attr::kGraphHash, builder.getStringAttr(file.graphHash));
  builder.setInsertionPointToStart(module->getBody());
  auto function = builder.create<func::FuncOp>(loc, "forward", builder.getFunctionType({}, {}));
  Block &entry = *function.addEntryBlock();
  builder.setInsertionPointToStart(&entry);

  GraphScope scope(builder, entry, weights);
  scope.batch = bound.batch;
  nameNodes();
  if (failed(bindInputs(scope)))
    return failure();
  for (const onnx::NodeProto *node : live)
    importNode(*node, scope);
  if (failed(report(scope)))
    return failure();
  stateShapes(scope);
  if (failed(checkOnnx(file, loc)) || failed(finishFunction(function, entry, scope)) ||
      failed(compareWithInference(scope)) || failed(verify(*module)))
    return failure();

  ImportedModel result;
  result.module = std::move(module);
  result.weights.assign(std::make_move_iterator(weights.begin()),
                        std::make_move_iterator(weights.end()));
  result.dimensions = bound.dimensions;
  return result;
}

} // namespace

FailureOr<ImportedModel> importOnnx(MLIRContext &context, StringRef path,
                                    const ImportOptions &options) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect, train::TrainDialect>();
  ExternalData externalData(externalDataFolder(path, options.externalData));

  FailureOr<OnnxFile> file = readOnnxFile(&context, path, externalData);
  if (failed(file))
    return failure();
  FailureOr<BoundGraph> bound = bindDimensions(*file, options, &context);
  if (failed(bound))
    return failure();
  return GraphImporter(context, *file, *bound, externalData).run();
}

} // namespace halfstep
