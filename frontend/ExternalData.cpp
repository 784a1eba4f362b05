//===- ExternalData.cpp - Weights stored beside an ONNX file --------------===//

#include "frontend/ExternalData.h"

#include "mlir/IR/Diagnostics.h"
#include "onnx/onnx_pb.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace halfstep {

namespace {

/// The descriptive part of an external tensor, as the file spells it.
struct Reference {
  std::optional<std::string> location, offset, length;
};

Reference referenceOf(const onnx::TensorProto &tensor) {
  Reference reference;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    if (entry.key() == "location")
      reference.location = entry.value();
    else if (entry.key() == "offset")
      reference.offset = entry.value();
    else if (entry.key() == "length")
      reference.length = entry.value();
  }
  return reference;
}

/// True when `path` is a file name relative to some folder that does not climb out of it.
bool staysInside(StringRef path) {
  if (path.empty() || path.contains('\0') || llvm::sys::path::is_absolute(path))
    return false;
  return llvm::none_of(llvm::make_range(llvm::sys::path::begin(path), llvm::sys::path::end(path)),
                       [](StringRef component) { return component == ".."; });
}

} // namespace

FailureOr<ExternalData::File> ExternalData::open(StringRef location, Location loc) {
  if (auto known = files.find(location); known != files.end())
    return known->second;

  auto fail = [&](const Twine &what) {
    InFlightDiagnostic diag = emitError(loc) << "external data '" << location << "' " << what;
    diag.attachNote() << "looked for in '" << folder << "'";
    diag.attachNote() << "help: --external-data DIR names the folder that holds the file";
    return diag;
  };
  if (!staysInside(location))
    return fail("is not a path inside the model's folder");

  // Resolve links before comparing: a link may lead out of the folder. What is opened afterwards is
  // the resolved path, which has no link left in it.
  SmallString<256> joined(folder), file, root;
  llvm::sys::path::append(joined, location);
  if (std::error_code error = llvm::sys::fs::real_path(joined, file))
    return fail("cannot be opened: " + error.message());
  if (std::error_code error = llvm::sys::fs::real_path(folder, root))
    return fail("cannot be opened: " + error.message());
  if (!root.ends_with("/"))
    root += '/';
  if (!file.starts_with(root))
    return fail("is a link that leads out of the folder");
  if (!llvm::sys::fs::is_regular_file(file))
    return fail("is not a regular file");

  auto buffer =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot be opened: " + buffer.getError().message());
  return files[location] = File(std::move(*buffer));
}

std::vector<std::string> ExternalData::paths() const {
  std::vector<std::string> result;
  for (const auto &file : files)
    result.push_back(file.second->getBufferIdentifier().str());
  return result;
}

bool ExternalData::isStoredIn(const onnx::TensorProto &tensor, StringRef path) const {
  llvm::SmallString<256> file(folder);
  llvm::sys::path::append(file, referenceOf(tensor).location.value_or(""));
  return llvm::sys::fs::equivalent(file, path);
}

FailureOr<ExternalData::Range> ExternalData::read(const onnx::TensorProto &tensor, uint64_t size,
                                                  Location loc) {
  Reference reference = referenceOf(tensor);
  if (!reference.location)
    return emitError(loc) << "external data without a location";

  uint64_t offset = 0, length = size;
  if (reference.offset && StringRef(*reference.offset).getAsInteger(10, offset))
    return emitError(loc) << "external data offset '" << *reference.offset << "' is not a number";
  if (reference.length && StringRef(*reference.length).getAsInteger(10, length))
    return emitError(loc) << "external data length '" << *reference.length << "' is not a number";
  if (length != size)
    return emitError(loc) << "external data has " << length << " bytes where the tensor's type and "
                          << "shape need " << size;

  FailureOr<File> file = open(*reference.location, loc);
  if (failed(file))
    return failure();
  uint64_t available = (*file)->getBufferSize();
  if (offset > available || size > available - offset) {
    InFlightDiagnostic diag = emitError(loc)
                              << "external data '" << *reference.location << "' is too short";
    diag.attachNote() << "the tensor is bytes " << offset << " to " << offset + size
                      << ", the file has " << available;
    return diag;
  }
  return Range{ArrayRef<char>((*file)->getBufferStart() + offset, size), *file};
}

} // namespace halfstep
