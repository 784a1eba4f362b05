//===- Program.h - A function compiled, run and differentiated ------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_PROGRAM_H
#define HALFSTEP_TESTS_GRADIENTS_PROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/Passes.h"
#include "passes/Recipe.h"
#include "runtime/Session.h"
#include "tests/Device.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Dialects loaded.
std::unique_ptr<mlir::MLIRContext> makeContext();

struct ProgramOptions {
  halfstep::Recipe recipe = defaultRecipe();
  std::function<void(mlir::ModuleOp)> edit; // of the module after the grad phase
  std::function<void(mlir::ModuleOp)> planned = [](mlir::ModuleOp) {}; // sees what is emitted
  bool castsFirst = false; // types are assigned to the forward pass, which is then differentiated
  bool fuse = true, reuse = true; // of kernels, of memory
  halfstep::Layout layout = halfstep::Layout::ByCost;
  halfstep::TestDevice device = halfstep::TestDevice::ofEnvironment();

  /// The mean of the output, SGD, the types that the function is written in.
  static halfstep::Recipe defaultRecipe();
  /// No loss, no gradients.
  static ProgramOptions forwardOnly();
};

/// What castsFirst compiles by: @micro with its gradients, types final, adjoints in place.
mlir::LogicalResult differentiateAfterCasts(mlir::ModuleOp module, const halfstep::Recipe &recipe);

/// `@forward` through all phases and into memory; hyperparameters have their compiled values.
class Program {
public:
  Program(mlir::MLIRContext &context, const std::string &source,
          const ProgramOptions &options = {});

  void setParameter(const std::string &name, const void *data);
  /// Rounds to the parameter's type.
  void setParameter(const std::string &name, const std::vector<double> &values);
  /// What random numbers follow from, if the program draws any.
  void setSeed(int64_t seed);
  /// Runs forward and backward; returns the loss.
  double run();
  /// As it is kept: in any float type, scaled.
  std::vector<double> gradient(const std::string &name);
  /// As T has it, which is the tensor's type.
  template <typename T> std::vector<T> read(hs_role role, const char *name) const {
    const hs_tensor &tensor = *session->find(role, name);
    std::vector<T> values(tensor.slice.bytes / sizeof(T));
    session->read(tensor, values.data());
    return values;
  }
  halfstep::runtime::Session &running() { return *session; }

private:
  std::unique_ptr<halfstep::runtime::Session> session;
};

#endif
