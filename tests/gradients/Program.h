//===- Program.h - A function compiled, run and differentiated ------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_PROGRAM_H
#define HALFSTEP_TESTS_GRADIENTS_PROGRAM_H

#include "passes/Recipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace halfstep::runtime {
class Session;
}

/// Dialects loaded.
std::unique_ptr<mlir::MLIRContext> makeContext();

struct ProgramOptions {
  halfstep::Recipe recipe = defaultRecipe();
  std::function<void(mlir::ModuleOp)> edit; // of the module after the grad phase
  bool fuse = true, reuse = true;           // of kernels, of memory

  /// The mean of the output, SGD, the types that the function is written in.
  static halfstep::Recipe defaultRecipe();
};

/// `@forward` through all phases and into memory.
class Program {
public:
  Program(mlir::MLIRContext &context, const std::string &source,
          const ProgramOptions &options = {});
  ~Program();

  void setParameter(const std::string &name, const void *data);
  void setParameter(const std::string &name, const std::vector<double> &values) {
    setParameter(name, values.data());
  }
  /// Runs forward and backward; returns the loss.
  double run();
  std::vector<double> gradient(const std::string &name);
  halfstep::runtime::Session &running() { return *session; }

private:
  std::unique_ptr<halfstep::runtime::Session> session;
};

#endif
