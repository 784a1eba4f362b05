//===- Export.cpp - Trained weights back into an ONNX file ----------------===//

#include "frontend/Export.h"

#include "frontend/ExternalData.h"
#include "frontend/ImportRules.h"
#include "frontend/OnnxFile.h"
#include "mlir/IR/Diagnostics.h"
#include "runtime/Files.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <array>
#include <cstring>
#include <map>

using namespace mlir;

namespace halfstep {
namespace {

class Exporter {
public:
  Exporter(MLIRContext &context, StringRef modelPath, ArrayRef<Weight> weights, StringRef outPath,
           StringRef externalFolder)
      : context(context), modelPath(modelPath), outPath(outPath),
        dataPath((outPath + ".data").str()), externalData(externalFolder) {
    for (const Weight &weight : weights)
      trained.emplace(weight.name, &weight);
  }

  LogicalResult run();

private:
  Location at(StringRef name) { return NameLoc::get(StringAttr::get(&context, name)); }
  /// What is written, and where that grows.
  std::array<std::string, 4> targets() const {
    return {outPath.str(), outPath.str() + ".part", dataPath, dataPath + ".part"};
  }
  LogicalResult checkPaths();
  LogicalResult checkNames();
  LogicalResult replace(const Weight &weight, onnx::TensorProto &tensor);
  LogicalResult storeExternally(onnx::TensorProto &tensor, ArrayRef<char> bytes);
  LogicalResult moveExternalTensors(onnx::GraphProto &graph);
  LogicalResult moveExternalTensor(onnx::TensorProto &tensor);

  MLIRContext &context;
  StringRef modelPath, outPath;
  std::string dataPath;
  std::map<std::string, const Weight *> trained;
  ExternalData externalData;
  std::optional<runtime::ReplacedFile> dataFile; // if there are external tensors
  uint64_t dataBytes = 0;
  std::unique_ptr<onnx::ModelProto> model;
};

LogicalResult Exporter::checkPaths() {
  for (const std::string &target : targets())
    if (llvm::sys::fs::equivalent(target, modelPath))
      return emitError(fileLocation(&context, outPath))
             << "is the model that is read; the exported model needs a file of its own";
  return success();
}

/// The weights that an import would make parameters, as names.
static llvm::StringSet<> parameters(const onnx::GraphProto &graph, int64_t opset) {
  llvm::StringSet<> names;
  for (const onnx::NodeProto *node : liveNodes(graph)) {
    const ImportRule *rule = isStandardOp(*node) ? findRule(node->op_type(), opset) : nullptr;
    for (int i = 0; i < node->input_size(); ++i)
      if (!rule || i >= 32 || !(rule->structural >> i & 1))
        names.insert(node->input(i));
  }
  return names;
}

LogicalResult Exporter::checkNames() {
  Location loc = fileLocation(&context, modelPath);
  FailureOr<int64_t> opset = opsetOf(*model, loc);
  if (failed(opset))
    return failure();
  llvm::StringSet<> needed = parameters(model->graph(), *opset), known;
  std::string missing;
  forEachWeight(*model->mutable_graph(), [&](const std::string &name, onnx::TensorProto &tensor) {
    known.insert(name);
    if (missing.empty() && needed.contains(name) && !trained.count(name))
      missing = name;
  });
  // Constants that an import computed travel with the weights, under the names of their values.
  for (const onnx::TensorProto &tensor : model->graph().initializer())
    known.insert(tensor.name());
  for (const onnx::NodeProto &node : model->graph().node())
    for (const std::string &output : node.output())
      known.insert(output);
  if (!missing.empty())
    return emitError(at(missing)) << "the checkpoint has no tensor of this name; is it of another "
                                     "model?";
  for (const auto &[name, weight] : trained)
    if (!known.contains(name))
      return emitError(at(name)) << "the model has no weight of this name; is the checkpoint "
                                    "of another model?";
  return success();
}

template <typename Stored, typename Field> static void assign(Field &field, ArrayRef<char> bytes) {
  field.Clear();
  for (; !bytes.empty(); bytes = bytes.drop_front(sizeof(Stored))) {
    Stored element;
    std::memcpy(&element, bytes.data(), sizeof element);
    field.Add(element);
  }
}

/// The weight's numbers in another float type, rounded to nearest even: a run in half precision
/// keeps 16-bit weights of an f32 file, one in half-grad f32 masters of a 16-bit file.
static Weight convertTo(const Weight &weight, RankedTensorType type) {
  auto bits = [](RankedTensorType tensor) { return tensor.getElementTypeBitWidth(); };
  const llvm::fltSemantics &from =
                               cast<FloatType>(weight.type.getElementType()).getFloatSemantics(),
                           &to = cast<FloatType>(type.getElementType()).getFloatSemantics();
  auto buffer = std::make_shared<std::vector<char>>(type.getNumElements() * bits(type) / 8);
  size_t fromBytes = bits(weight.type) / 8, toBytes = bits(type) / 8;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    uint64_t raw = 0;
    std::memcpy(&raw, weight.bytes.data() + i * fromBytes, fromBytes);
    llvm::APFloat number(from, llvm::APInt(bits(weight.type), raw));
    bool losesInformation;
    number.convert(to, llvm::APFloat::rmNearestTiesToEven, &losesInformation);
    uint64_t result = number.bitcastToAPInt().getZExtValue();
    std::memcpy(buffer->data() + i * toBytes, &result, toBytes);
  }
  return {weight.name, type, ArrayRef(*buffer), buffer};
}

/// Stores the bytes in the form that `tensor` has.
LogicalResult Exporter::replace(const Weight &trained, onnx::TensorProto &tensor) {
  Weight weight = trained;
  FailureOr<RankedTensorType> type = tensorType(tensor, at(weight.name));
  if (failed(type))
    return failure();
  if (type->getShape() == weight.type.getShape() && *type != weight.type &&
      isa<FloatType>(type->getElementType()) && isa<FloatType>(weight.type.getElementType()))
    weight = convertTo(weight, *type);
  if (*type != weight.type)
    return emitError(at(weight.name))
           << "is " << weight.type << " in the checkpoint and " << *type << " in the model";
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return storeExternally(tensor, weight.bytes);
  if (tensor.has_raw_data()) {
    tensor.set_raw_data(weight.bytes.data(), weight.bytes.size());
    return success();
  }
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    assign<float>(*tensor.mutable_float_data(), weight.bytes);
    break;
  case onnx::TensorProto::DOUBLE:
    assign<double>(*tensor.mutable_double_data(), weight.bytes);
    break;
  default: // 16-bit patterns
    assign<uint16_t>(*tensor.mutable_int32_data(), weight.bytes);
    break;
  }
  return success();
}

LogicalResult Exporter::storeExternally(onnx::TensorProto &tensor, ArrayRef<char> bytes) {
  for (const std::string &target : targets())
    if (externalData.isStoredIn(tensor, target))
      return emitError(fileLocation(&context, outPath))
             << "'" << target << "' holds weights of the model that is read; the exported model "
             << "needs files of its own";
  if (!dataFile)
    dataFile.emplace(dataPath);
  // Aligned for readers that map the file.
  constexpr char padding[64] = {};
  uint64_t offset = llvm::alignTo(dataBytes, sizeof padding);
  dataFile->write(padding, offset - dataBytes);
  dataFile->write(bytes.data(), bytes.size());
  dataBytes = offset + bytes.size();
  tensor.clear_external_data();
  auto set = [&](const char *key, std::string value) {
    onnx::StringStringEntryProto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  set("location", llvm::sys::path::filename(dataPath).str());
  set("offset", std::to_string(offset));
  set("length", std::to_string(bytes.size()));
  return success();
}

/// An external tensor that keeps its numbers: its file need not be beside the exported one.
LogicalResult Exporter::moveExternalTensor(onnx::TensorProto &tensor) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
    return success();
  FailureOr<Weight> contents =
      readTensor(std::make_shared<onnx::TensorProto>(tensor), externalData, at(tensor.name()));
  return failed(contents) ? failure() : storeExternally(tensor, contents->bytes);
}

LogicalResult Exporter::moveExternalTensors(onnx::GraphProto &graph) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    if (!trained.count(tensor.name()) && failed(moveExternalTensor(tensor)))
      return failure();
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      bool replaced =
          node.op_type() == "Constant" && node.output_size() == 1 && trained.count(node.output(0));
      if (attribute.has_t() && !replaced && failed(moveExternalTensor(*attribute.mutable_t())))
        return failure();
      if (attribute.has_g() && failed(moveExternalTensors(*attribute.mutable_g())))
        return failure();
    }
  return success();
}

LogicalResult Exporter::run() {
  if (failed(checkPaths()))
    return failure();
  Location loc = fileLocation(&context, modelPath);
  FailureOr<std::unique_ptr<onnx::ModelProto>> parsed = parseOnnx(modelPath, loc);
  if (failed(parsed))
    return failure();
  model = std::move(*parsed);
  if (failed(checkNames()) || failed(moveExternalTensors(*model->mutable_graph())))
    return failure();

  LogicalResult replaced = success();
  forEachWeight(*model->mutable_graph(), [&](const std::string &name, onnx::TensorProto &tensor) {
    auto found = trained.find(name);
    if (succeeded(replaced) && found != trained.end())
      replaced = replace(*found->second, tensor);
  });
  if (failed(replaced))
    return failure();

  std::string bytes = model->SerializeAsString();
  if (bytes.empty())
    return emitError(fileLocation(&context, outPath)) << "would be larger than 2 GiB";
  runtime::ReplacedFile modelFile(outPath.str());
  modelFile.write(bytes.data(), bytes.size());
  if (dataFile)
    dataFile->commit();
  modelFile.commit();
  return success();
}

} // namespace

LogicalResult exportModel(MLIRContext &context, StringRef modelPath, ArrayRef<Weight> weights,
                          StringRef outPath, StringRef externalData) {
  return Exporter(context, modelPath, weights, outPath, externalDataFolder(modelPath, externalData))
      .run();
}

} // namespace halfstep
