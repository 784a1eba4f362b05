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

  llvm::StringSet<> weights, outputs;
  for (const auto &weight : file.weights) {
    if (!weights.insert(weight->name()).second)
      return emitError(loc) << "two weights have the name '" << weight->name() << "'";
    if (isReservedName(weight->name()))
      return emitError(loc) << "the name of weight '" << weight->name() << "' begins with '"
                            << kReservedPrefix << "', which checkpoints keep for themselves";
  }
  for (const auto &output : file.graph().output())
    if (!outputs.insert(output.name()).second)
      return emitError(loc) << "two graph outputs have the name '" << output.name() << "'";
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
  // Ops that a later operator set withdrew mean what they meant. onnx's checker refuses them, but
  // has nothing to say about ops of a domain that it does not know.
  constexpr const char *withdrawn = "withdrawn";
  onnx::ModelProto model = file.model;
  for (onnx::NodeProto &node : *model.mutable_graph()->mutable_node()) {
    const onnx::OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), int(file.opset), node.domain());
    if (schema && schema->Deprecated())
      node.set_domain(withdrawn);
  }
  onnx::OperatorSetIdProto *import = model.add_opset_import();
  import->set_domain(withdrawn);
  import->set_version(1);
  return guarded(loc, "not a valid ONNX model", [&] { onnx::checker::check_model(model); });
}

/// Inlining copies a function's nodes for every call, so that a few short functions that call each
/// other can ask for any amount of memory. Counts the nodes that there would be, up to `limit`.
static uint64_t inlinedSize(const onnx::ModelProto &model, uint64_t limit) {
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  for (const onnx::FunctionProto &function : model.functions())
    functions[function.domain() + ":" + function.name()] = &function;
  llvm::StringMap<uint64_t> sizes;
  std::function<uint64_t(const Nodes &)> count = [&](const Nodes &nodes) {
    uint64_t total = 0;
    for (const onnx::NodeProto &node : nodes) {
      std::string name = node.domain() + ":" + node.op_type();
      const onnx::FunctionProto *function = functions.lookup(name);
      if (function && !sizes.count(name))
        sizes[name] = count(function->node());
      total = std::min(limit, total + (function ? sizes[name] : 1));
    }
    return total;
  };
  return count(model.graph().node());
}

static LogicalResult inlineFunctions(onnx::ModelProto &model, Location loc) {
  constexpr uint64_t limit = 10'000'000;
  constexpr StringLiteral what = "its functions cannot be inlined";
  if (model.functions().empty())
    return success();
  if (failed(guarded(loc, what, [&] { onnx::checker::check_function_call_cycles(model); })))
    return failure();
  if (inlinedSize(model, limit) == limit)
    return emitError(loc) << what << ": there would be over " << limit << " nodes";
  return guarded(loc, what,
                 [&] { onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true); });
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
  file.weights = extractWeights(*file.model.mutable_graph());
  if (failed(checkNames(file, loc)) ||
      failed(embedExternalTensors(*file.model.mutable_graph(), externalData, context)))
    return failure();

  if (failed(inlineFunctions(file.model, loc)))
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
