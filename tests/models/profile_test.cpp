//===- profile_test.cpp - A step's profile, against what an emulated device touches -------===//
//
// The compiler counts the bytes of each entry from its description; the emulated device counts what
// the entry's kernel loads and stores. Programs here are compiled, run entry by entry and compared.
//
//===--------------------------------------------------------------------------------------===//

#include "codegen/Codegen.h"
#include "codegen/Profile.h"
#include "frontend/Importer.h"
#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include "ir/TrainDialect.h"
#include "passes/Pipeline.h"
#include "runtime/Payload.h"
#include "runtime/cuda/CudaBackend.h"
#include "runtime/emulator/EmulatedCuda.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <gtest/gtest.h>

#include <map>

using namespace halfstep;

namespace {

struct ModelCase {
  const char *name;
  std::string file; ///< below tests/
  int64_t batch;
  const char *loss, *optimizer;
  std::map<std::string, unsigned> mostEntries; ///< of a step, by precision
};

void PrintTo(const ModelCase &model, std::ostream *os) { *os << model.name; }

struct ModeCase {
  const char *precision, *halfType;
};

void PrintTo(const ModeCase &mode, std::ostream *os) {
  *os << mode.precision << '_' << mode.halfType;
}

class ProfileTest : public testing::TestWithParam<std::tuple<ModelCase, ModeCase>> {
protected:
  ProfileTest() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, kernel::KernelDialect,
                        mlir::math::MathDialect, table::TableDialect, train::TrainDialect>();
    auto [model, mode] = GetParam();
    Recipe recipe;
    recipe.loss = model.loss;
    recipe.optimizer = model.optimizer;
    recipe.precision = mode.precision;
    recipe.halfType = mode.halfType;
    recipe.batch = model.batch;
    recipe.target = "cuda";
    ImportOptions options;
    options.batch = model.batch;
    auto imported = importOnnx(context, TEST_DIR "/" + model.file, options);
    if (failed(imported))
      return;
    module = std::move(imported->module);
    (*module)->setAttr(table::attr::kRecipe, mlir::StringAttr::get(&context, recipe.toJson()));
    target.cuda = llvm::cantFail(codegen::CudaTarget::get(recipe.arch));
    target.withEmulation = true;
    if (succeeded(runPhases(*module, recipe, Phase::Memory)))
      profile = codegen::profile(*module, target);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  codegen::Target target = llvm::cantFail(codegen::CpuTarget::get("native"));
  mlir::FailureOr<codegen::Profile> profile = mlir::failure();
};

/// As hs_program_kind numbers them.
constexpr const char *programNames[] = {"init", "micro", "update", "evaluate", "infer"};

std::unique_ptr<runtime::CudaBackend> openEmulated(const runtime::Artefact &artefact) {
  const hs_artefact &tables = artefact.tables();
  auto backend = std::make_unique<runtime::CudaBackend>(
      "test", tables,
      runtime::emulatedCuda(tables.cuda->emulated, tables.cuda->emulated_count, /*seed=*/0),
      /*device=*/0);
  for (uint64_t i = 0; i < tables.input_count; ++i) {
    char *slot = backend->inputSlot(i, 0);
    std::fill_n(slot, tables.inputs[i].slice.bytes, 0);
    backend->bindInput(i, slot);
  }
  return backend;
}

} // namespace

TEST_P(ProfileTest, CountsTheBytesThatTheEmulatedDeviceCounts) {
  ASSERT_TRUE(succeeded(profile));
  auto compiled = codegen::compileModule(*module, target);
  ASSERT_TRUE(succeeded(compiled));
  auto artefact = runtime::Artefact::load("test", compiled->sharedObject);
  auto backend = openEmulated(*artefact);
  for (const codegen::ProgramProfile &program : profile->programs) {
    auto kind = hs_program_kind(llvm::find(programNames, program.name) - programNames);
    ASSERT_EQ(artefact->tables().programs[kind].entry_count, program.entries.size());
    const codegen::EntryProfile *expected = program.entries.data();
    backend->runEntries(kind, [&](const hs_entry &entry, void *const *, const auto &run) {
      runtime::EmulatedTraffic before = runtime::emulatedTraffic();
      run();
      runtime::EmulatedTraffic after = runtime::emulatedTraffic();
      EXPECT_EQ(entry.name, expected->name);
      EXPECT_EQ(after.readBytes - before.readBytes, expected->cost.bytesRead)
          << program.name << ": " << entry.name;
      EXPECT_EQ(after.writtenBytes - before.writtenBytes, expected->cost.bytesWritten)
          << program.name << ": " << entry.name;
      ++expected;
    });
  }
}

TEST_P(ProfileTest, AStepHasFewEntriesAndNoSpills) {
  ASSERT_TRUE(succeeded(profile));
  auto [model, mode] = GetParam();
  EXPECT_LE(profile->stepEntries(), model.mostEntries.at(mode.precision));
  for (const codegen::ProgramProfile &program : profile->programs)
    for (const codegen::EntryProfile &entry : program.entries) {
      EXPECT_EQ(entry.launch.has_value(), entry.resources.has_value()) << entry.name;
      if (entry.resources)
        EXPECT_EQ(entry.resources->spillBytes, 0u) << entry.name;
    }
}

static std::string nameOf(const testing::TestParamInfo<std::tuple<ModelCase, ModeCase>> &info) {
  auto [model, mode] = info.param;
  std::string precision = mode.precision;
  std::replace(precision.begin(), precision.end(), '-', '_');
  return std::string(model.name) + "_" + precision;
}

INSTANTIATE_TEST_SUITE_P(
    Models, ProfileTest,
    testing::Combine(
        testing::Values(
            ModelCase{"mlp10",
                      "models/data/mlp10.onnx",
                      16,
                      "mse",
                      "sgd:lr=0.01",
                      {{"fp32", 11}, {"autocast", 17}, {"half-grad", 11}, {"half", 11}}},
            ModelCase{"digits_mlp",
                      "../examples/digits/mlp.onnx",
                      64,
                      "cross-entropy",
                      "adam:lr=1e-3",
                      {{"fp32", 20}, {"autocast", 29}, {"half-grad", 20}, {"half", 20}}},
            ModelCase{"keknet",
                      "models/data/keknet.onnx",
                      4,
                      "mse",
                      "rmsprop:lr=3e-5,alpha=0.99,eps=1e-7",
                      {{"fp32", 8}, {"autocast", 12}, {"half-grad", 10}, {"half", 10}}},
            ModelCase{"digits_cnn_plain",
                      "models/data/digits_cnn_plain.onnx",
                      8,
                      "cross-entropy",
                      "adam:lr=1e-3",
                      {{"fp32", 25}, {"autocast", 37}, {"half-grad", 30}, {"half", 30}}}),
        testing::Values(ModeCase{"fp32", "fp16"}, ModeCase{"autocast", "bf16"},
                        ModeCase{"half-grad", "fp16"}, ModeCase{"half", "fp16"})),
    nameOf);
