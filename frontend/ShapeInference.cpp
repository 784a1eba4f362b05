//===- ShapeInference.cpp - The shapes of a graph, derived twice ----------===//

#include "frontend/ShapeInference.h"

#include "frontend/TensorProto.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

using namespace mlir;

namespace halfstep {

void stateShapes(OnnxFile &file, GraphScope &scope) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  graph.clear_value_info();
  for (onnx::ValueInfoProto &output : *graph.mutable_output()) {
    Binding *binding = scope.lookup(output.name());
    if (!binding || !output.type().has_tensor_type())
      continue;
    auto *shape = output.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->clear_dim();
    for (int64_t size : binding->type().getShape())
      shape->add_dim()->set_dim_value(size);
  }
}

/// Writes out the attributes that nodes leave at their defaults: onnx's inference does not know
/// those of ops that it defines as functions.
static void stateDefaults(onnx::GraphProto &graph, int64_t opset) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    const onnx::OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), int(opset), node.domain());
    if (!schema || !schema->HasFunction())
      continue;
    for (const auto &[name, attribute] : schema->attributes())
      if (!attribute.default_value.name().empty() &&
          llvm::none_of(node.attribute(), [&](const auto &given) { return given.name() == name; }))
        *node.add_attribute() = attribute.default_value;
  }
}

LogicalResult compareWithInference(OnnxFile &file, GraphScope &scope) {
  MLIRContext *context = scope.builder.getContext();
  onnx::GraphProto &graph = *file.model.mutable_graph();
  stateDefaults(graph, file.opset);
  try {
    onnx::shape_inference::InferShapes(
        file.model, onnx::OpSchemaRegistry::Instance(),
        onnx::ShapeInferenceOptions(/*check_type=*/true, /*strict_mode=*/1, /*data_prop=*/true));
  } catch (const std::exception &error) {
    return emitError(fileLocation(context, file.path))
           << "not a valid ONNX model: " << StringRef(error.what()).trim();
  }
  auto compare = [&](const onnx::ValueInfoProto &info) -> LogicalResult {
    Binding *binding = scope.lookup(info.name());
    if (!binding || !info.type().has_tensor_type())
      return success();
    const onnx::TypeProto::Tensor &inferred = info.type().tensor_type();
    RankedTensorType type = binding->type();
    bool agree = elementType(context, inferred.elem_type()) == type.getElementType();
    if (inferred.has_shape()) {
      agree &= inferred.shape().dim_size() == type.getRank();
      for (int64_t d = 0; agree && d < type.getRank(); ++d)
        agree &= !inferred.shape().dim(d).has_dim_value() ||
                 inferred.shape().dim(d).dim_value() == type.getDimSize(d);
    }
    if (agree)
      return success();
    return emitError(NameLoc::get(StringAttr::get(context, info.name())))
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

} // namespace halfstep
