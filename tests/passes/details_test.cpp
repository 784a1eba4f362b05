//===- details_test.cpp - What passes leave on ops, questioned in C++ -----===//
//
// Categories of parts, numbers of the directory, types that programs agree on: attributes and types
// that a FileCheck line would hide among others.
//
//===----------------------------------------------------------------------===//

#include "PassTest.h"
#include "ir/Describe.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace halfstep;
using namespace halfstep::test;
using train::Precision;

namespace {

class PassDetails : public PassTest {
protected:
  /// y = op(w) and the mean of y, as @micro, differentiated.
  void differentiate(const std::string &op) {
    ASSERT_TRUE(build("%w: tensor<4x3xf32> {train.parameter = \"w\", train.trainable}",
                      "%y = " + op +
                          " : (tensor<4x3xf32>) -> tensor<4x3xf32>\n"
                          "%loss = train.mean_loss %y : (tensor<4x3xf32>) -> tensor<f32>",
                      "%loss: tensor<f32> {train.metric = \"loss\"}", "micro"))
        << errors;
    ASSERT_TRUE(run("autodiff")) << errors;
  }
  /// The categories of the ops of the gradient of line y, adjoints left out.
  std::vector<Precision> categoriesOfGradient() {
    std::vector<Precision> categories;
    module->walk([&](train::PrecisionOpInterface op) {
      if (train::isGradient(op.getLoc()) && nodeName(op.getLoc()) == "y" &&
          !mlir::isa<train::AdjointOp>(op))
        categories.push_back(train::categoryOf(op));
    });
    return categories;
  }
  /// A model of one product, of three classes.
  bool buildClassifier() {
    return build("%x: tensor<4x8xf32> {train.input = \"x\"}, "
                 "%w: tensor<8x3xf32> {train.parameter = \"w\", train.trainable}",
                 "%y = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x3xf32>) -> "
                 "tensor<4x3xf32>",
                 "%y: tensor<4x3xf32> {train.output = \"y\"}");
  }
  /// Its training step.
  bool buildStep(const std::string &loss) {
    return buildClassifier() &&
           run("phase-grad{loss=" + loss + "},phase-precision,phase-update{optimizer=sgd}");
  }
};

TEST_F(PassDetails, PartsOfADelicateGradientAreNotRounded) {
  differentiate("train.softmax %w {axis = 1 : i64}");
  std::vector<Precision> parts = categoriesOfGradient();
  EXPECT_GE(parts.size(), 3u);
  for (Precision category : parts)
    EXPECT_EQ(category, Precision::Unrounded);
}

TEST_F(PassDetails, PartsOfAnotherGradientHaveTheirOwnCategory) {
  differentiate("train.relu %w");
  std::vector<Precision> parts = categoriesOfGradient();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0], Precision::Widest);
}

TEST_F(PassDetails, NoCompositeIsLeft) {
  ASSERT_TRUE(build("%x: tensor<4x3xf32>",
                    "%y = train.softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>",
                    "%y: tensor<4x3xf32>"))
      << errors;
  ASSERT_TRUE(run("expand-composites")) << errors;
  EXPECT_EQ(count<train::SoftmaxOp>(), 0u);
  EXPECT_EQ(count<train::ExpOp>(), 1u);
}

/// They may not lie along the batch: the label would have none.
TEST_F(PassDetails, ClassesLieAlongTheAxis) {
  for (const char *axis : {"1", "-1", "0", "-2"}) {
    SCOPED_TRACE(axis);
    bool isOfBatch = axis == llvm::StringRef("0") || axis == llvm::StringRef("-2");
    ASSERT_TRUE(buildClassifier()) << errors;
    EXPECT_EQ(run(std::string("append-loss{loss=cross-entropy:axis=") + axis + "}"), !isOfBatch);
    EXPECT_EQ(llvm::StringRef(errors).contains("and so the label 'tensor<3xi64>'"), isOfBatch);
  }
}

TEST_F(PassDetails, TheDirectoryKnowsTheClasses) {
  ASSERT_TRUE(buildStep("cross-entropy:ignore_index=-100")) << errors;
  unsigned labels = 0;
  module->walk([&](table::TensorOp tensor) {
    if (tensor.getRole() != table::Role::Label)
      return;
    ++labels;
    EXPECT_EQ(tensor.getClassCount(), 3);
    EXPECT_EQ(tensor.getIgnoredClass(), -100);
  });
  EXPECT_EQ(labels, 1u);
}

TEST_F(PassDetails, AnInputIsAsNarrowAsAllProgramsReadIt) {
  const std::string narrow = R"(
      %h = train.cast %x to f16 : (tensor<4xf32>) -> tensor<4xf16>
      %y = train.relu %h : (tensor<4xf16>) -> tensor<4xf16>
      return %y : tensor<4xf16>
    })",
                    wide = R"(
      %y = train.relu %x : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    })";
  auto program = [](const std::string &name, const std::string &element, const std::string &body) {
    return "func.func @" + name + "(%x: tensor<4xf32> {train.input = \"x\"}) -> (tensor<4x" +
           element + "> {train.output = \"y\"}) {" + body + "\n";
  };
  ASSERT_TRUE(parse(program("forward", "f16", narrow) + program("micro", "f16", narrow))) << errors;
  ASSERT_TRUE(run("assign-input-types{narrow}")) << errors;
  EXPECT_EQ(typeOf("forward", "train.input", "x"), "4xf16");
  EXPECT_EQ(typeOf("micro", "train.input", "x"), "4xf16");
  ASSERT_TRUE(parse(program("forward", "f32", wide) + program("micro", "f16", narrow))) << errors;
  ASSERT_TRUE(run("assign-input-types{narrow}")) << errors;
  EXPECT_EQ(typeOf("forward", "train.input", "x"), "4xf32");
  EXPECT_EQ(typeOf("micro", "train.input", "x"), "4xf32");
}

/// What a step consists of behind the update phase.
TEST_F(PassDetails, AStepHasAllItsPrograms) {
  for (const char *missing : {"infer", "evaluate", "update"}) {
    ASSERT_TRUE(buildStep("cross-entropy")) << errors;
    module->lookupSymbol(missing)->erase();
    EXPECT_FALSE(run("verify-phase{phase=update}")) << missing;
    EXPECT_NE((errors + notes).find(std::string("@") + missing), std::string::npos) << errors;
  }
}

} // namespace
