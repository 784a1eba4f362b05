//===- reproducer_test.cpp - Faults of passes leave a file, others do not -===//

#include "PassTest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Pipeline.h"
#include "passes/Reproducer.h"
#include <filesystem>
#include <fstream>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::test;

namespace {

/// A pass whose body is a function.
struct Body : PassWrapper<Body, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Body)
  using Function = bool (*)(ModuleOp);
  explicit Body(Function function) : function(function) {}
  StringRef getArgument() const override { return "body"; }
  void runOnOperation() override {
    if (!function(getOperation()))
      signalPassFailure();
  }
  Function function;
};

class ReproducerTest : public PassTest {
protected:
  void SetUp() override {
    ASSERT_TRUE(build("%x: tensor<4xf32>", "%y = train.neg %x : (tensor<4xf32>) -> tensor<4xf32>",
                      "%y: tensor<4xf32>"));
    folder = std::filesystem::path(::testing::TempDir()) / "reproducers";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    setenv("TMPDIR", folder.c_str(), /*overwrite=*/1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(folder);
  }

  bool runBody(Body::Function function) {
    PassManager pm(&context);
    pm.addPass(std::make_unique<Body>(function));
    return succeeded(runReproducibly(pm, *module));
  }

  /// The only file, of which the message tells.
  void expectReproducer() {
    auto file = std::filesystem::directory_iterator(folder);
    ASSERT_NE(file, std::filesystem::directory_iterator());
    std::string path = file->path().string();
    EXPECT_NE(notes.find("help: please report it with " + path +
                         "; 'halfstep-opt --run-reproducer " + path + "' shows it again\n"),
              std::string::npos)
        << notes;
    std::ifstream stream(path);
    std::string text(std::istreambuf_iterator<char>(stream), {});
    EXPECT_NE(text.find("train.neg"), std::string::npos) << text;
    EXPECT_NE(text.find("pipeline: \"builtin.module(body)\""), std::string::npos) << text;
  }
  std::filesystem::path folder;
};

TEST_F(ReproducerTest, OfACrash) {
  EXPECT_FALSE(runBody([](ModuleOp) { return *static_cast<volatile bool *>(nullptr); }));
  EXPECT_EQ(errors, "internal error: the pass body crashed\n");
  expectReproducer();
}

TEST_F(ReproducerTest, OfAFailedAssertion) {
  EXPECT_FALSE(runBody([](ModuleOp) -> bool { std::abort(); }));
  EXPECT_EQ(errors, "internal error: the pass body crashed\n");
  expectReproducer();
}

TEST_F(ReproducerTest, OfAPassThatSaysNothing) {
  EXPECT_FALSE(runBody([](ModuleOp) { return false; }));
  EXPECT_EQ(errors, "internal error: the pass body failed and does not say why\n");
  expectReproducer();
}

TEST_F(ReproducerTest, OfAnInvalidModule) {
  EXPECT_FALSE(runBody([](ModuleOp module) {
    auto function = module.lookupSymbol<func::FuncOp>("forward");
    function.front().front().getResult(0).setType(function.front().getArgument(0).getType());
    function.front().addArgument(function.getArgumentTypes()[0], function.getLoc());
    return true;
  }));
  EXPECT_EQ(errors, "internal error: the pass body left a module that is not valid\n");
  EXPECT_NE(notes.find("'func.func' op entry block must have 1 arguments"), std::string::npos)
      << notes;
  expectReproducer();
}

TEST_F(ReproducerTest, NotOfWhatTheUserCanMend) {
  EXPECT_FALSE(runBody([](ModuleOp module) {
    emitError(module.getLoc()) << "--loss: there is none";
    return false;
  }));
  EXPECT_EQ(errors, "--loss: there is none\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(ReproducerTest, NotOfWhatSucceeds) {
  EXPECT_TRUE(runBody([](ModuleOp module) {
    emitWarning(module.getLoc()) << "slow";
    return true;
  }));
  EXPECT_EQ(errors, "");
  EXPECT_EQ(warnings, "slow\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(ReproducerTest, IsNotWrittenWhereNothingCanBe) {
  setenv("TMPDIR", "/nowhere", 1);
  EXPECT_FALSE(runBody([](ModuleOp) { return false; }));
  EXPECT_EQ(notes, "a file to reproduce it cannot be made: No such file or directory\n");
}

/// A reproducer names the passes with their options, so these have to survive as text.
TEST_F(PassTest, PhasesAreReadBackFromText) {
  Recipe recipe;
  recipe.loss = "cross-entropy:label_smoothing=0.1,ignore_index=-100";
  recipe.optimizer = "adamw:lr=1e-3,betas=0.9:0.95";
  recipe.schedule = "cosine:t_max=9,unit=epoch";
  recipe.precision = "half-grad";
  recipe.pin = {"head/.*=fp32", "^fc(1|2)$=bf16"};
  recipe.train = {"block[0-3]", "head"};
  recipe.freeze = {".*bias"};
  recipe.inputType = {"x=fp16"};
  recipe.lossScale = "dynamic:growth_interval=5";
  recipe.clipNorm = 0.5;
  recipe.accumulate = 4;
  for (const PhaseInfo &phase : phases()) {
    if (!phase.build)
      continue;
    auto textOf = [](OpPassManager &pm) {
      std::string text;
      llvm::raw_string_ostream os(text);
      pm.printAsTextualPipeline(os);
      return text;
    };
    OpPassManager built("builtin.module");
    phase.build(built, recipe);
    FailureOr<OpPassManager> read = parsePassPipeline(textOf(built));
    ASSERT_TRUE(succeeded(read)) << textOf(built);
    EXPECT_EQ(textOf(*read), textOf(built));
  }
}

} // namespace
