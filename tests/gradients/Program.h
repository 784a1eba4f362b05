//===- Program.h - A function compiled, run and differentiated ------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_PROGRAM_H
#define HALFSTEP_TESTS_GRADIENTS_PROGRAM_H

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

/// `@forward`, with its scalar output as the loss, through all phases and into memory, in the types
/// that it is written in. `edit` may change the module after the grad phase.
class Program {
public:
  Program(mlir::MLIRContext &context, const std::string &source,
          std::function<void(mlir::ModuleOp)> edit = {});
  ~Program();

  void setParameter(const std::string &name, const void *data);
  void setParameter(const std::string &name, const std::vector<double> &values) {
    setParameter(name, values.data());
  }
  /// Runs forward and backward; returns the loss.
  double run();
  std::vector<double> gradient(const std::string &name);

private:
  std::unique_ptr<halfstep::runtime::Session> session;
};

#endif
