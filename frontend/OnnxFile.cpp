//===- OnnxFile.cpp - A checked ONNX file, weights apart ------------------===//

#include "frontend/OnnxFile.h"

#include "mlir/IR/Diagnostics.h"
#include "onnx/checker.h"
#include "onnx/inliner/inliner.h"
#include "onnx/version_converter/convert.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

using namespace mlir;

namespace halfstep {

int64_t newestOpset() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().LastReleaseVersionMap().at(
      onnx::ONNX_DOMAIN);
}

Location fileLocation(MLIRContext *context, StringRef path) {
  return FileLineColLoc::get(context, path, 0, 0);
}

std::string externalDataFolder(StringRef modelPath, StringRef given) {
  StringRef folder = given.empty() ? llvm::sys::path::parent_path(modelPath) : given;
  return folder.empty() ? "." : folder.str();
}

std::vector<const onnx::NodeProto *> liveNodes(const onnx::GraphProto &graph) {
  llvm::StringMap<const onnx::NodeProto *> producers;
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      producers.try_emplace(output, &node);

  DenseSet<const onnx::NodeProto *> live;
  SmallVector<const onnx::NodeProto *> work;
  auto reach = [&](StringRef name) {
    const onnx::NodeProto *node = name.empty() ? nullptr : producers.lookup(name);
    if (node && live.insert(node).second)
      work.push_back(node);
  };
  for (const onnx::ValueInfoProto &output : graph.output())
    reach(output.name());
  while (!work.empty())
    for (const std::string &input : work.pop_back_val()->input())
      reach(input);

  std::vector<const onnx::NodeProto *> result;
  for (const onnx::NodeProto &node : graph.node())
    if (live.contains(&node))
      result.push_back(&node);
  return result;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static bool looksLikeText(StringRef bytes) {
  return llvm::all_of(bytes.take_front(512),
                      [](char c) { return llvm::isPrint(c) || llvm::isSpace(c); });
}

FailureOr<std::unique_ptr<onnx::ModelProto>> parseOnnx(StringRef path, Location loc) {
  if (!llvm::sys::fs::exists(path))
    return emitError(loc) << "no such file";
  if (!llvm::sys::fs::is_regular_file(path))
    return emitError(loc) << "is not a regular file";
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << "cannot be read: " << file.getError().message();
  StringRef bytes = (*file)->getBuffer();
  if (bytes.empty())
    return emitError(loc) << "is empty, not an ONNX model";
  if (bytes.size() > size_t(std::numeric_limits<int>::max())) {
    InFlightDiagnostic diag = emitError(loc) << "is larger than 2 GiB, the limit of the format";
    diag.attachNote() << "help: save the model with external data";
    return diag;
  }

  google::protobuf::io::ArrayInputStream stream(bytes.data(), int(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  auto model = std::make_unique<onnx::ModelProto>();
  if (!model->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    if (looksLikeText(bytes))
      return emitError(loc) << "is a text file, not an ONNX model";
    return emitError(loc) << "is not an ONNX model, or a truncated one";
  }
  if (!model->has_ir_version() || !model->has_graph())
    return emitError(loc) << "is not an ONNX model: it has no "
                          << (model->has_graph() ? "format version" : "graph");
  return model;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

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

/// The weight becomes a graph input for onnx's tools. Where it already is one (as every initializer
/// was before format version 4), the tensor's type is the one that holds.
static void declareInput(onnx::GraphProto &graph, const onnx::TensorProto &tensor) {
  onnx::ValueInfoProto *info = nullptr;
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    if (input.name() == tensor.name())
      info = &input;
  if (!info)
    info = graph.add_input();
  info->set_name(tensor.name());
  onnx::TypeProto::Tensor *type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(tensor.data_type());
  type->clear_shape();
  type->mutable_shape();
  for (int64_t dim : tensor.dims())
    type->mutable_shape()->add_dim()->set_dim_value(dim);
}

static void extractWeights(OnnxFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  DenseSet<const onnx::TensorProto *> taken;
  forEachWeight(graph, [&](const std::string &name, onnx::TensorProto &tensor) {
    taken.insert(&tensor);
    auto weight = std::make_shared<onnx::TensorProto>();
    std::string ownName = name; // `name` may live in `tensor`
    weight->Swap(&tensor);
    weight->set_name(std::move(ownName));
    file.weights.push_back(std::move(weight));
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
  for (const auto &weight : file.weights)
    declareInput(graph, *weight);
}

/// onnx's tools look for external data in the working directory. What is not a weight is small
/// (shapes, indices) and needed by them, so it is brought into the message.
static LogicalResult embedExternalTensors(onnx::GraphProto &graph, ExternalData &externalData,
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

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Names reach C strings, JSON and file names, so they must be text.
static LogicalResult checkNames(const OnnxFile &file, Location loc) {
  auto check = [&](StringRef name, StringRef what) -> LogicalResult {
    const auto *start = reinterpret_cast<const llvm::UTF8 *>(name.data());
    if (llvm::isLegalUTF8String(&start, start + name.size()) && !name.contains('\0'))
      return success();
    return emitError(loc) << "the name of a " << what << " is not UTF-8 text";
  };
  for (const auto &weight : file.weights)
    if (failed(check(weight->name(), "weight")))
      return failure();
  for (const auto &input : file.graph().input())
    if (failed(check(input.name(), "graph input")))
      return failure();
  for (const auto &output : file.graph().output())
    if (failed(check(output.name(), "graph output")))
      return failure();
  for (const auto &node : file.graph().node()) {
    if (failed(check(node.name(), "node")) || failed(check(node.op_type(), "node's operator")))
      return failure();
    for (const std::string &output : node.output())
      if (failed(check(output, "value")))
        return failure();
  }

  llvm::StringSet<> seen;
  for (const auto &weight : file.weights)
    if (!seen.insert(weight->name()).second)
      return emitError(loc) << "two weights have the name '" << weight->name() << "'";
  return success();
}

/// onnx reports by exceptions of several kinds; all of them become one diagnostic.
static LogicalResult guarded(Location loc, StringRef activity, function_ref<void()> body) {
  try {
    body();
    return success();
  } catch (const std::exception &error) {
    return emitError(loc) << activity << ": " << StringRef(error.what()).trim();
  }
}

LogicalResult checkOnnx(const OnnxFile &file, Location loc) {
  return guarded(loc, "not a valid ONNX model", [&] { onnx::checker::check_model(file.model); });
}

FailureOr<int64_t> opsetOf(const onnx::ModelProto &model, Location loc) {
  for (const onnx::OperatorSetIdProto &opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx")
      continue;
    if (opset.version() < 1 || opset.version() > newestOpset())
      return emitError(loc) << "uses operator set " << opset.version()
                            << "; this build knows sets up to " << newestOpset();
    return opset.version();
  }
  return emitError(loc) << "is not an ONNX model: it names no operator set";
}

static std::string hashGraph(const OnnxFile &file) {
  llvm::SHA256 hash;
  auto add = [&](StringRef text) {
    hash.update(std::to_string(text.size()) + ":");
    hash.update(text);
  };
  auto addAll = [&](const auto &names) {
    add(std::to_string(names.size()));
    for (const std::string &name : names)
      add(name);
  };
  add(std::to_string(file.opset));
  for (const onnx::NodeProto &node : file.graph().node()) {
    add(node.domain());
    add(node.op_type());
    addAll(node.input());
    addAll(node.output());
    for (const onnx::AttributeProto &attribute : node.attribute())
      add(attribute.SerializeAsString());
  }
  for (const onnx::TensorProto &tensor : file.graph().initializer())
    add(tensor.SerializeAsString());
  for (const auto &weight : file.weights) {
    add(weight->name());
    add(std::to_string(weight->data_type()));
    for (int64_t dim : weight->dims())
      add(std::to_string(dim));
  }
  for (const onnx::ValueInfoProto &output : file.graph().output())
    add(output.name());
  return llvm::toHex(ArrayRef(hash.final()).take_front(16), /*LowerCase=*/true);
}

FailureOr<OnnxFile> readOnnxFile(MLIRContext *context, StringRef path, ExternalData &externalData) {
  Location loc = fileLocation(context, path);
  FailureOr<std::unique_ptr<onnx::ModelProto>> model = parseOnnx(path, loc);
  if (failed(model))
    return failure();

  OnnxFile file;
  file.path = path.str();
  file.model.Swap(model->get());
  FailureOr<int64_t> opset = opsetOf(file.model, loc);
  if (failed(opset))
    return failure();
  file.opset = *opset;
  if (file.graph().sparse_initializer_size())
    return emitError(loc) << "has sparse initializers, which are not supported";
  extractWeights(file);
  if (failed(checkNames(file, loc)) ||
      failed(embedExternalTensors(*file.model.mutable_graph(), externalData, context)))
    return failure();

  if (file.model.functions_size() && failed(guarded(loc, "its functions cannot be inlined", [&] {
        onnx::checker::check_function_call_cycles(file.model);
        onnx::inliner::InlineLocalFunctions(file.model, /*convert_version=*/true);
      })))
    return failure();
  file.graphHash = hashGraph(file);

  if (file.opset < oldestOpset) {
    if (failed(guarded(
            loc, "operator set " + std::to_string(file.opset) + " cannot be converted", [&] {
              file.model = onnx::version_conversion::ConvertVersion(file.model, int(newestOpset()));
            })))
      return failure();
    file.opset = newestOpset();
  }
  return file;
}

} // namespace halfstep
