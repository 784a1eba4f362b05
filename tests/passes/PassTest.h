//===- PassTest.h - A pass on three lines of text -------------------------===//
//
// A test of a pass reads as question and answer:
//
//     build("%x: tensor<4x8xf32>, %w: tensor<8x2xf32> {train.parameter = \"w\"}",
//           "%y = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>",
//           "%y: tensor<4x2xf32> {train.output = \"y\"}");
//     run("assign-precision{mode=autocast}");
//     EXPECT_EQ(type("y"), "4x2xf16");
//     EXPECT_EQ(reason("y"), "category");
//
// Names of values are not part of a module, so each line that makes a value gets its name as the
// location, which passes keep: it is what they call an ONNX node.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_PASSES_PASSTEST_H
#define HALFSTEP_TESTS_PASSES_PASSTEST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"
#include <string>

namespace halfstep::test {

class PassTest : public ::testing::Test {
protected:
  PassTest();

  /// Makes a module of one function. `arguments` and `results` are lists of "%name: type
  /// {attributes}", `body` has one op a line. False, with `errors`, if the text is no valid module.
  bool build(llvm::StringRef arguments, llvm::StringRef body, llvm::StringRef results = "",
             llvm::StringRef function = "forward");

  /// Makes a module of its text.
  bool parse(llvm::StringRef text);

  /// Runs passes or phases, in MLIR's words: "canonicalize,assign-precision{mode=half pin=a=fp32}".
  /// False, with `errors`, if one of them fails.
  bool run(llvm::StringRef pipeline);

  /// What the last `build`, `parse` or `run` said, a line each.
  std::string errors, warnings, notes;

  /// The first op that comes from the line or ONNX node `name`, and is no cast of its operands or
  /// result; null if none does.
  mlir::Operation *find(llvm::StringRef name);
  /// The type of its first result, as in "4x2xf16"; "" if there is no such op.
  std::string type(llvm::StringRef name);
  /// Why it has that type (`train.reason`).
  std::string reason(llvm::StringRef name);

  /// The type of an argument or result of `function`, by the value of its attribute:
  /// typeOf("micro", "train.gradient", "w").
  std::string typeOf(llvm::StringRef function, llvm::StringRef attribute, llvm::StringRef value);

  template <typename Op> unsigned count() {
    unsigned found = 0;
    module->walk([&](Op) { ++found; });
    return found;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace halfstep::test

#endif
