//===- Importer.cpp - From an ONNX file to the train dialect --------------===//

#include "frontend/Importer.h"

#include "frontend/Dimensions.h"
#include "frontend/Fold.h"
#include "frontend/ImportRules.h"
#include "frontend/OnnxFile.h"
#include "frontend/Refusals.h"
#include "frontend/ShapeInference.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/StringSet.h"

#include <cassert>

using namespace mlir;

namespace halfstep {
namespace {

class GraphImporter {
public:
  GraphImporter(MLIRContext &context, OnnxFile &file, const BoundGraph &bound,
                ExternalData &externalData)
      : context(context), file(file), bound(bound), externalData(externalData), builder(&context),
        live(liveNodes(file.graph())), refusals(live) {}

  FailureOr<ImportedModel> run();

private:
  Location nameLocation(StringRef name) { return NameLoc::get(builder.getStringAttr(name)); }
  void nameNodes();
  LogicalResult bindInputs(GraphScope &scope);
  void importNode(const onnx::NodeProto &node, GraphScope &scope);
  LogicalResult applyRule(OpBinder &b);
  LogicalResult report(const GraphScope &scope);
  LogicalResult finishFunction(func::FuncOp function, Block &entry, GraphScope &scope);

  MLIRContext &context;
  OnnxFile &file;
  const BoundGraph &bound;
  ExternalData &externalData;
  OpBuilder builder;

  /// What nothing reads is neither imported nor refused.
  std::vector<const onnx::NodeProto *> live;
  DenseMap<const onnx::NodeProto *, Location> locations;
  Refusals refusals;
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
    Value argument = entry.addArgument(input.type, nameLocation(input.name));
    scope.bind(input.name, Binding::ofValue(argument));
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
    if (weight->type.getNumElements() == 0) { // an absent operand, as some exporters spell it
      scope.bind(weight->name, Binding::ofConstant(toAttribute(*weight)));
      continue;
    }
    Value argument = entry.addArgument(weight->type, loc);
    weights.push_back(std::move(*weight));
    scope.bind(tensor->name(), Binding::ofWeight(argument, weights.back()));
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
    scope.bind(tensor.name(), Binding::ofConstant(toAttribute(*contents)));
  }
  return success();
}

LogicalResult GraphImporter::applyRule(OpBinder &b) {
  const std::string &op = b.node.op_type();
  const onnx::OpSchema *schema = onnx::OpSchemaRegistry::Schema(op, int(b.opset));
  try { // the number of operands and the types of attributes are right from here on
    if (!schema->Deprecated()) // onnx verifies no op that was withdrawn later
      schema->Verify(b.node);
  } catch (const std::exception &error) {
    return b.error() << StringRef(error.what()).trim();
  }
  if (!isFoldable(b))
    return findRule(op, b.opset)->import(b);
  FailureOr<DenseElementsAttr> constant = folderOf(op)(b);
  return failed(constant) ? failure() : b.bind(0, *constant);
}

void GraphImporter::importNode(const onnx::NodeProto &node, GraphScope &scope) {
  OpBinder b(node, file.opset, locations.at(&node), scope);
  bool standard =
      isStandardOp(node) && onnx::OpSchemaRegistry::Schema(node.op_type(), int(b.opset));
  bool hasRule = standard && findRule(node.op_type(), b.opset);
  bool waits = llvm::any_of(node.input(), [&](const std::string &input) {
    Binding *operand = scope.lookup(input);
    return operand && operand->isBlocked();
  });
  bool mayFold = standard && folderOf(node.op_type()) && (waits || isFoldable(b));

  LogicalResult imported = failure();
  if (!hasRule && !mayFold) {
    std::string where =
        isStandardOp(node) ? "operator set " + std::to_string(b.opset) : "domain " + node.domain();
    refusals.add(node, b.loc, node.op_type() + " (" + where + ") is not supported",
                 /*isMissing=*/true);
  } else if (!waits) {
    // Errors of the rule become this node's refusal; warnings go through.
    std::string reason;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
      if (diag.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      reason += (reason.empty() ? "" : "; ") + diag.str();
      return success();
    });
    imported = applyRule(b);
    if (failed(imported))
      refusals.add(node, b.loc, node.op_type() + ": " + reason, /*isMissing=*/false);
  }
  if (failed(imported))
    for (const std::string &output : node.output())
      scope.bind(output, {});
}

/// Fails, with one diagnostic, when a node was refused.
LogicalResult GraphImporter::report(const GraphScope &scope) {
  llvm::StringSet<> parameters;
  for (size_t i = 0; i < trainable; ++i)
    parameters.insert(weights[i].name);
  std::string note;
  if (!scope.bakedBatch.empty())
    note = "node '" + scope.bakedBatch.front() +
           "' reshapes to a leading dimension of 1 where the batch is " +
           std::to_string(scope.batch) +
           ": the batch that the model was exported with may be fixed in it";
  return refusals.report(fileLocation(&context, file.path), parameters, note);
}

LogicalResult GraphImporter::finishFunction(func::FuncOp function, Block &entry,
                                            GraphScope &scope) {
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
  for (const onnx::ValueInfoProto &output : file.graph().output()) {
    Location loc = nameLocation(output.name());
    Binding *binding = scope.lookup(output.name());
    assert(binding && "onnx's checker knows which output is of no node");
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
    if (i < trainable && !scope.untrained.contains(weight.name))
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
  stateShapes(file, scope);
  if (failed(checkOnnx(file, loc)) || failed(finishFunction(function, entry, scope)) ||
      failed(compareWithInference(file, scope)) || failed(verify(*module)))
    return failure();

  ImportedModel result;
  result.module = std::move(module);
  result.weights.assign(std::make_move_iterator(weights.begin()),
                        std::make_move_iterator(weights.end()));
  result.files = externalData.paths();
  result.files.insert(result.files.begin(), file.path);
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
