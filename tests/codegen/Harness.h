//===- Harness.h - compiled kernels, called as the runtime calls them -----------------------===//

#ifndef HALFSTEP_TESTS_CODEGEN_HARNESS_H
#define HALFSTEP_TESTS_CODEGEN_HARNESS_H

#include "codegen/EmitCpu.h"
#include "runtime/step_abi.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <string>
#include <vector>

namespace halfstep::tests {

using llvm::ArrayRef;

/// The contents of a launch's buffers.
using Buffers = std::vector<std::vector<char>>;

/// A shared object, loaded from memory.
class LoadedObject {
public:
  LoadedObject() = default;
  explicit LoadedObject(llvm::StringRef bytes);
  LoadedObject(LoadedObject &&other) { swap(other); }
  LoadedObject &operator=(LoadedObject &&other) {
    swap(other);
    return *this;
  }
  ~LoadedObject();

  void *symbol(llvm::StringRef name) const;
  explicit operator bool() const { return handle; }

private:
  void swap(LoadedObject &other) {
    std::swap(file, other.file);
    std::swap(handle, other.handle);
  }

  int file = -1; // stays open: the loader takes two objects of one path for one
  void *handle = nullptr;
};

/// A kernel in this process.
struct Kernel {
  hs_kernel function = nullptr;
  codegen::Work work{};

  /// Runs all units on the buffers at `addresses`: in one call, or in `pieces`, the last units
  /// first.
  void run(ArrayRef<void *> addresses, int64_t pieces = 1) const;
};

/// The kernels of a module, compiled, linked and loaded. Long reductions are split.
class Library {
public:
  /// `text` holds kernel.group and kernel.contract ops. Failures are gtest failures.
  explicit Library(const std::string &text, const std::string &cpu = "native");
  Library(const Library &) = delete;

  /// The module as parsed.
  mlir::ModuleOp module() { return *parsed; }
  const Kernel &operator[](llvm::StringRef name) { return kernels[name.str()]; }

  /// Runs a group of the module on its buffers, in one or two kernels.
  void run(kernel::GroupOp group, Buffers &buffers, int64_t pieces = 1);

private:
  void load(const std::string &text, const std::string &cpu);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> parsed, split;
  std::map<std::string, kernel::SplitReduction> splits;
  std::map<std::string, Kernel> kernels;
  LoadedObject object;
};

} // namespace halfstep::tests

#endif // HALFSTEP_TESTS_CODEGEN_HARNESS_H
