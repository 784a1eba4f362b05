//===- CastsFirst.h - A step in either order of gradients and casts -------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_CASTSFIRST_H
#define HALFSTEP_TESTS_GRADIENTS_CASTSFIRST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Recipe.h"
#include <map>
#include <string>
#include <vector>

/// @micro in either order, types final, adjoints in place.
mlir::OwningOpRef<mlir::ModuleOp> differentiate(mlir::MLIRContext &context,
                                                const std::string &source,
                                                const halfstep::Recipe &recipe, bool castsFirst);

struct Types {
  std::vector<std::string> forward;        // each op, with its types
  std::map<unsigned, mlir::Type> adjoints; // by the position of the forward op
  std::map<std::string, mlir::Type> gradients;
};

/// Those of @micro.
Types typesOf(mlir::ModuleOp module);

/// What @micro computes, whatever the order of its ops: adjoints expanded, nothing twice, no
/// remark on where an op or its types come from.
std::string computationOf(mlir::ModuleOp module);

#endif
