//===- OnnxWeights.cpp - Weights in and out of an ONNX graph --------------===//

#include "frontend/OnnxWeights.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace halfstep {

static bool isFloat(const onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::DOUBLE:
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}

static bool isConstantNode(const onnx::NodeProto &node) {
  return node.op_type() == "Constant" && (node.domain().empty() || node.domain() == "ai.onnx") &&
         node.output_size() == 1 && node.attribute_size() == 1;
}

/// A Constant node's float tensor of rank 1 or more: what an exporter writes for a weight that it
/// did not make an initializer. Scalars are constants of the formula.
static bool isWeight(const onnx::NodeProto &node) {
  if (!isConstantNode(node))
    return false;
  const onnx::AttributeProto &attribute = node.attribute(0);
  return attribute.name() == "value_floats" ||
         (attribute.name() == "value" && isFloat(attribute.t()) && attribute.t().dims_size() > 0);
}

void forEachWeight(onnx::GraphProto &graph,
                   function_ref<void(const std::string &, onnx::TensorProto &)> visit) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    if (isFloat(tensor))
      visit(tensor.name(), tensor);

  for (onnx::NodeProto &node : *graph.mutable_node()) {
    if (!isWeight(node))
      continue;
    onnx::AttributeProto &attribute = *node.mutable_attribute(0);
    if (attribute.name() == "value") {
      visit(node.output(0), *attribute.mutable_t());
      continue;
    }
    onnx::TensorProto list;
    list.set_data_type(onnx::TensorProto::FLOAT);
    list.add_dims(attribute.floats_size());
    list.mutable_float_data()->CopyFrom(attribute.floats());
    visit(node.output(0), list);
    if (list.float_data_size() == attribute.floats_size())
      attribute.mutable_floats()->CopyFrom(list.float_data());
  }
}

/// The weights become graph inputs for onnx's tools. Where one already is (as every initializer was
/// before format version 4), the tensor's type is the one that holds.
static void declareInputs(onnx::GraphProto &graph, const WeightTensors &weights) {
  llvm::StringMap<onnx::ValueInfoProto *> inputs;
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    inputs[input.name()] = &input;
  for (const auto &tensor : weights) {
    onnx::ValueInfoProto *&info = inputs[tensor->name()];
    if (!info)
      info = graph.add_input();
    info->set_name(tensor->name());
    onnx::TypeProto::Tensor *type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor->data_type());
    type->mutable_shape()->clear_dim();
    for (int64_t dim : tensor->dims())
      type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
}

WeightTensors extractWeights(onnx::GraphProto &graph) {
  WeightTensors weights;
  DenseSet<const onnx::TensorProto *> taken;
  forEachWeight(graph, [&](const std::string &name, onnx::TensorProto &tensor) {
    taken.insert(&tensor);
    auto weight = std::make_shared<onnx::TensorProto>();
    std::string ownName = name; // `name` may live in `tensor`
    weight->Swap(&tensor);
    weight->set_name(std::move(ownName));
    weights.push_back(std::move(weight));
  });

  auto *tensors = graph.mutable_initializer();
  tensors->erase(std::remove_if(tensors->begin(), tensors->end(),
                                [&](const auto &tensor) { return taken.contains(&tensor); }),
                 tensors->end());
  auto isTaken = [&](const onnx::NodeProto &node) {
    return isConstantNode(node) &&
           (node.attribute(0).name() == "value_floats" || taken.contains(&node.attribute(0).t()));
  };
  auto *nodes = graph.mutable_node();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(), isTaken), nodes->end());
  declareInputs(graph, weights);
  return weights;
}

LogicalResult embedExternalTensors(onnx::GraphProto &graph, ExternalData &externalData,
                                   MLIRContext *context) {
  auto embed = [&](onnx::TensorProto &tensor, StringRef name) -> LogicalResult {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
      return success();
    Location loc = NameLoc::get(StringAttr::get(context, name));
    FailureOr<Weight> contents =
        readTensor(std::make_shared<onnx::TensorProto>(tensor), externalData, loc);
    if (failed(contents))
      return failure();
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.set_raw_data(contents->bytes.data(), contents->bytes.size());
    return success();
  };
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    if (failed(embed(tensor, tensor.name())))
      return failure();
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_t() && failed(embed(*attribute.mutable_t(), node.name())))
        return failure();
  return success();
}

} // namespace halfstep
