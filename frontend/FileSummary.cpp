//===- FileSummary.cpp - What an ONNX file says before it is imported -----===//

#include "frontend/FileSummary.h"

#include "frontend/OnnxFile.h"
#include "frontend/TensorProto.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;

namespace halfstep {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// "f32"; of a type that is not supported, ONNX's name.
static std::string elementText(MLIRContext &context, int onnxType) {
  Type type = elementType(&context, onnxType);
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return type ? text : onnxTypeName(onnxType);
}

static FileTensor describe(MLIRContext &context, const onnx::ValueInfoProto &value) {
  const onnx::TypeProto::Tensor &type = value.type().tensor_type();
  FileTensor tensor{value.name(), elementText(context, type.elem_type()), {}};
  for (const auto &dim : type.shape().dim())
    tensor.sizes.push_back(dim.has_dim_value()        ? std::to_string(dim.dim_value())
                           : !dim.dim_param().empty() ? dim.dim_param()
                                                      : "?");
  return tensor;
}

static FileTensor describe(MLIRContext &context, const onnx::TensorProto &weight) {
  FileTensor tensor{weight.name(), elementText(context, weight.data_type()), {}};
  for (int64_t size : weight.dims())
    tensor.sizes.push_back(std::to_string(size));
  return tensor;
}

//===----------------------------------------------------------------------===//
// What an export has lost
//===----------------------------------------------------------------------===//

namespace {

class ExportLosses {
public:
  explicit ExportLosses(const OnnxFile &file)
      : graph(file.graph()), live(liveNodes(graph)), weights(file.weights) {}

  std::vector<ExportLoss> find() {
    findBakedBatch();
    for (const onnx::NodeProto *node : live)
      findInferenceForms(*node);
    findFoldedNorms();
    findNamesOfExporter();
    findMergedWeights();
    return std::move(losses);
  }

private:
  static std::string nameOf(const onnx::NodeProto &node) {
    return node.name().empty() ? node.op_type() : node.name();
  }

  static bool isConvolution(const onnx::NodeProto &node) {
    return node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
  }

  /// `onnx::Conv_12` (TorchScript), `val_12` (dynamo) or a number: what exporters call a weight
  /// whose values they have computed.
  static bool isNameOfExporter(StringRef name) {
    if (name.consume_front("onnx::"))
      name = name.rsplit('_').second;
    else
      name.consume_front("val_");
    return !name.empty() && llvm::all_of(name, llvm::isDigit);
  }

  void add(StringRef subject, const Twine &what) { losses.push_back({subject.str(), what.str()}); }

  void findBakedBatch() {
    llvm::StringSet<> isWeight;
    for (const auto &weight : weights)
      isWeight.insert(weight->name());
    for (const onnx::ValueInfoProto &input : graph.input()) {
      const auto &shape = input.type().tensor_type().shape();
      if (!isWeight.contains(input.name()) && shape.dim_size() > 1 && shape.dim(0).has_dim_value())
        add(input.name(), "the batch of " + Twine(shape.dim(0).dim_value()) +
                              " is fixed; export with dynamic_axes or dynamic_shapes");
    }
  }

  void findInferenceForms(const onnx::NodeProto &node) {
    bool trains = llvm::any_of(node.attribute(), [](const onnx::AttributeProto &attribute) {
      return attribute.name() == "training_mode" && attribute.i() != 0;
    });
    if (node.op_type() == "BatchNormalization" && !trains)
      add(nameOf(node), "uses the mean and variance in the file instead of the batch's");
    if (node.op_type() == "Dropout" && node.input_size() < 3)
      add(nameOf(node), "drops nothing: it is in its inference form");
  }

  /// onnxscript names the bias that it makes of a norm after the convolution's operand.
  void findFoldedNorms() {
    size_t convolutions = 0;
    bool isExplained = false;
    for (const onnx::NodeProto *node : live) {
      convolutions += isConvolution(*node);
      isExplained |= StringRef(node->op_type()).ends_with("Normalization");
      if (!isConvolution(*node) || node->input_size() < 3)
        continue;
      const std::string &bias = node->input(2);
      if (bias != node->input(0) + "_bias" && !StringRef(bias).starts_with("onnx::Conv"))
        continue;
      add(nameOf(*node), "holds a BatchNormalization, folded into weight and bias");
      isExplained = true;
    }
    if (convolutions > 1 && !isExplained)
      add("", "no normalisation beside " + Twine(convolutions) +
                  " convolutions: if the model has BatchNormalization, the exporter has folded it");
  }

  void findNamesOfExporter() {
    for (const auto &weight : weights)
      if (weight->dims_size() > 1 && isNameOfExporter(weight->name()))
        add(weight->name(), "is a parameter that the exporter has transposed or computed anew, "
                            "under a name of its own");
  }

  /// Weights that several nodes of one kind read: a real tie, or what was equal when exported.
  void findMergedWeights() {
    llvm::StringMap<const onnx::TensorProto *> byName;
    for (const auto &weight : weights)
      byName[weight->name()] = weight.get();
    llvm::MapVector<std::pair<StringRef, StringRef>, SmallVector<std::string>,
                    std::map<std::pair<StringRef, StringRef>, unsigned>>
        readers; // of a weight, by the kind of node
    for (const onnx::NodeProto *node : live) {
      static const llvm::StringSet<> kinds = {"BatchNormalization",
                                              "Conv",
                                              "ConvTranspose",
                                              "Gemm",
                                              "GroupNormalization",
                                              "Add",
                                              "MatMul",
                                              "InstanceNormalization",
                                              "LayerNormalization",
                                              "RMSNormalization"};
      for (int i = 1; kinds.contains(node->op_type()) && i < node->input_size(); ++i)
        if (const onnx::TensorProto *weight = byName.lookup(node->input(i));
            weight && weight->dims_size() > 0)
          readers[{weight->name(), node->op_type()}].push_back(nameOf(*node));
    }
    for (auto &[key, nodes] : readers) {
      if (nodes.size() < 2)
        continue;
      std::string more = nodes.size() > 3 ? ", ..." : "";
      add(key.first,
          "is one tensor for " + Twine(nodes.size()) + " " + key.second + " nodes (" +
              llvm::join(ArrayRef(nodes).take_front(3), ", ") + more +
              "), which training keeps equal: exporters merge parameters of equal values");
    }
  }

  const onnx::GraphProto &graph;
  const std::vector<const onnx::NodeProto *> live;
  const WeightTensors &weights;
  std::vector<ExportLoss> losses;
};

} // namespace

FailureOr<FileSummary> summariseFile(MLIRContext &context, StringRef path, StringRef folder) {
  ExternalData externalData(externalDataFolder(path, folder));
  FailureOr<OnnxFile> file = readOnnxFile(&context, path, externalData);
  if (failed(file))
    return failure();
  FileSummary summary;
  llvm::StringSet<> isWeight;
  for (const auto &weight : file->weights) {
    isWeight.insert(weight->name());
    summary.weights.push_back(describe(context, *weight));
  }
  for (const onnx::ValueInfoProto &input : file->graph().input())
    if (!isWeight.contains(input.name()))
      summary.inputs.push_back(describe(context, input));
  for (const onnx::ValueInfoProto &output : file->graph().output())
    summary.outputs.push_back(describe(context, output));
  summary.lost = ExportLosses(*file).find();
  return summary;
}

} // namespace halfstep
