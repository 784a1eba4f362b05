//===- ModelBuilder.h - Small ONNX models for tests -----------------------===//
//
// A model is a few lines of calls; importing it gives the printed module or the diagnostics, one a
// line, so that a test reads as input and expectation.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_FRONTEND_MODELBUILDER_H
#define HALFSTEP_TESTS_FRONTEND_MODELBUILDER_H

#include "frontend/Importer.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx_pb.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace halfstep::test {

using Dim = std::variant<int, int64_t, const char *>; // a size, or a name
using Names = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr int f32 = onnx::TensorProto::FLOAT, f64 = onnx::TensorProto::DOUBLE,
              f16 = onnx::TensorProto::FLOAT16, i64 = onnx::TensorProto::INT64,
              i32 = onnx::TensorProto::INT32, boolean = onnx::TensorProto::BOOL;

/// An attribute of a node, from the C++ type of its value.
struct Attribute {
  onnx::AttributeProto proto;
  Attribute(const char *name, int value) : Attribute(name, int64_t(value)) {}
  Attribute(const char *name, int64_t value) {
    proto.set_name(name);
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  Attribute(const char *name, float value) {
    proto.set_name(name);
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  Attribute(const char *name, const Ints &values) {
    proto.set_name(name);
    proto.set_type(onnx::AttributeProto::INTS);
    proto.mutable_ints()->Assign(values.begin(), values.end());
  }
  Attribute(const char *name, const Floats &values) {
    proto.set_name(name);
    proto.set_type(onnx::AttributeProto::FLOATS);
    proto.mutable_floats()->Assign(values.begin(), values.end());
  }
  Attribute(const char *name, const onnx::TensorProto &tensor) {
    proto.set_name(name);
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = tensor;
  }
};

inline onnx::TensorProto floatTensor(const Ints &shape, const Floats &values,
                                     const std::string &name = "") {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(f32);
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  tensor.mutable_float_data()->Assign(values.begin(), values.end());
  return tensor;
}

inline onnx::TensorProto intTensor(const Ints &shape, const Ints &values,
                                   const std::string &name = "") {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(i64);
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  tensor.mutable_int64_data()->Assign(values.begin(), values.end());
  return tensor;
}

/// Two elements that are stored as `entries` say.
inline onnx::TensorProto
externalTensor(const std::string &name, int type,
               const std::vector<std::pair<std::string, std::string>> &entries) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto &[key, value] : entries) {
    onnx::StringStringEntryProto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return tensor;
}

class Model {
public:
  explicit Model(int64_t opset = 17) {
    proto.set_ir_version(8);
    proto.mutable_graph()->set_name("test");
    proto.add_opset_import()->set_version(opset);
  }

  Model &input(const std::string &name, const std::vector<Dim> &dims, int type = f32) {
    onnx::ValueInfoProto *info = graph().add_input();
    info->set_name(name);
    auto *tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const Dim &dim : dims) {
      auto *added = tensor->mutable_shape()->add_dim();
      if (auto *text = std::get_if<const char *>(&dim)) {
        if (**text)
          added->set_dim_param(*text);
      } else {
        added->set_dim_value(std::holds_alternative<int>(dim) ? std::get<int>(dim)
                                                              : std::get<int64_t>(dim));
      }
    }
    return *this;
  }
  /// A float initializer of ascending values 0, 1, 2...
  Model &weight(const std::string &name, const Ints &shape) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    Floats values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(float(i));
    *graph().add_initializer() = floatTensor(shape, values, name);
    return *this;
  }
  /// A one-dimensional int64 initializer.
  Model &ints(const std::string &name, const Ints &values) {
    *graph().add_initializer() = intTensor({int64_t(values.size())}, values, name);
    return *this;
  }
  Model &initializer(const onnx::TensorProto &tensor) {
    *graph().add_initializer() = tensor;
    return *this;
  }
  /// A node named after its first output.
  Model &node(const std::string &op, const Names &inputs, const Names &outputs,
              const std::vector<Attribute> &attributes = {}) {
    onnx::NodeProto *added = graph().add_node();
    added->set_op_type(op);
    added->set_name(outputs.front() + "_node");
    for (const std::string &name : inputs)
      added->add_input(name);
    for (const std::string &name : outputs)
      added->add_output(name);
    for (const Attribute &attribute : attributes)
      *added->add_attribute() = attribute.proto;
    return *this;
  }
  Model &output(const std::string &name, int type = f32) {
    onnx::ValueInfoProto *info = graph().add_output();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return *this;
  }

  onnx::GraphProto &graph() { return *proto.mutable_graph(); }
  onnx::NodeProto &lastNode() { return *graph().mutable_node(graph().node_size() - 1); }
  onnx::ModelProto proto;
};

/// A folder that goes with the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "halfstep-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::filesystem::path file = path / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  std::filesystem::path path;
};

/// The outcome of an import.
struct Imported {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<ImportedModel> model;
  std::string diagnostics; // "LOCATION: message" and "  note" lines

  Imported(const std::string &path, const ImportOptions &options = {}) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) {
      llvm::raw_string_ostream os(diagnostics);
      auto location = [&](mlir::Location loc) {
        if (auto name = mlir::dyn_cast<mlir::NameLoc>(loc))
          os << name.getName().getValue() << ": ";
        else if (mlir::isa<mlir::FileLineColLoc>(loc))
          os << "FILE: ";
      };
      location(diag.getLocation());
      os << (diag.getSeverity() == mlir::DiagnosticSeverity::Warning ? "warning: " : "");
      if (isCommandLineLocation(diag.getLocation()))
        os << "(usage) ";
      os << diag.str() << "\n";
      for (mlir::Diagnostic &note : diag.getNotes()) {
        os << "  ";
        location(note.getLocation() == diag.getLocation()
                     ? mlir::Location(mlir::UnknownLoc::get(&context))
                     : note.getLocation());
        os << note.str() << "\n";
      }
      return mlir::success();
    });
    mlir::FailureOr<ImportedModel> result = importOnnx(context, path, options);
    if (succeeded(result))
      model = std::move(*result);
  }

  /// The printed module, or what went wrong.
  std::string text() const {
    if (!model)
      return diagnostics;
    std::string result;
    llvm::raw_string_ostream os(result);
    model->module.get()->print(os);
    return result;
  }
};

/// Imports `model` from a file of its own.
inline std::string import(Model &model, const ImportOptions &options = {}) {
  TemporaryFolder folder;
  return Imported(folder.write("model.onnx", model.proto.SerializeAsString()), options).text();
}

inline ImportOptions batchOf(int64_t batch) {
  ImportOptions options;
  options.batch = batch;
  return options;
}

/// The text contains the parts, in this order.
inline testing::AssertionResult contains(const std::string &text,
                                         const std::vector<std::string> &parts) {
  size_t at = 0;
  for (const std::string &part : parts) {
    size_t found = text.find(part, at);
    if (found == std::string::npos)
      return testing::AssertionFailure() << "no '" << part << "' in\n" << text.substr(at);
    at = found + part.size();
  }
  return testing::AssertionSuccess();
}

} // namespace halfstep::test

#endif // HALFSTEP_TESTS_FRONTEND_MODELBUILDER_H
