//===- ExternalData.h - Weights stored beside an ONNX file ----------------===//
//
// An ONNX tensor may name a file, an offset and a length instead of carrying its bytes. A model is
// untrusted input, so the name may reach regular files below one folder only, wherever symbolic
// links lead. Files are mapped, once each, and stay mapped as long as a weight refers to them.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_FRONTEND_EXTERNALDATA_H
#define HALFSTEP_FRONTEND_EXTERNALDATA_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace onnx {
class TensorProto;
}

namespace halfstep {

class ExternalData {
public:
  struct Range {
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> storage;
  };

  /// `folder` is the only folder that tensors may be read from.
  explicit ExternalData(llvm::StringRef folder) : folder(folder) {}

  /// The bytes that `tensor` refers to, which must be exactly `size` of them. Reports at `loc`.
  llvm::FailureOr<Range> read(const onnx::TensorProto &tensor, uint64_t size, mlir::Location loc);

  /// True when `tensor` is stored in the existing file `path`.
  bool isStoredIn(const onnx::TensorProto &tensor, llvm::StringRef path) const;

  /// The files that were read so far.
  std::vector<std::string> paths() const;

private:
  using File = std::shared_ptr<llvm::MemoryBuffer>;
  llvm::FailureOr<File> open(llvm::StringRef location, mlir::Location loc);

  std::string folder;
  llvm::StringMap<File> files;
};

} // namespace halfstep

#endif // HALFSTEP_FRONTEND_EXTERNALDATA_H
