//===- conformance_test.cpp - The ONNX node tests, compiled ---------------===//
//
// Every case that generate.py wrote: imported, compiled in the file's types, run, and compared with
// the expected outputs under the case's own tolerance. A case may be refused only if refusals.txt
// gives the reason, and must be refused then. On the CPU or on a CUDA device (tests/Device.h).
//
//===----------------------------------------------------------------------===//

#include "codegen/Codegen.h"
#include "frontend/Importer.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "runtime/Npy.h"
#include "runtime/Session.h"
#include "tests/Device.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace halfstep;

namespace {
struct Array {
  runtime::NpyHeader header;
  std::string bytes; // of the elements
};

std::string readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
std::optional<Array> readArray(const std::string &path) {
  std::string file = readFile(path);
  if (file.empty())
    return std::nullopt;
  Array array{runtime::parseNpyHeader(path, file), {}};
  array.bytes = file.substr(array.header.dataOffset);
  return array;
}

/// Element `i` of either side's storage as a number; 64-bit integers of the cases are small.
double element(runtime::NpyType type, const char *bytes, int64_t i) {
  auto read = [&](auto zero) {
    memcpy(&zero, bytes + i * sizeof zero, sizeof zero);
    return double(zero);
  };
  switch (type) {
  case runtime::NpyType::F16:
    return read(_Float16(0));
  case runtime::NpyType::F32:
    return read(float(0));
  case runtime::NpyType::F64:
    return read(double(0));
  case runtime::NpyType::Bool:
  case runtime::NpyType::U8:
    return read(uint8_t(0));
  case runtime::NpyType::I8:
    return read(int8_t(0));
  case runtime::NpyType::I16:
    return read(int16_t(0));
  case runtime::NpyType::I32:
    return read(int32_t(0));
  case runtime::NpyType::I64:
    return read(int64_t(0));
  }
  return NAN;
}

/// Compiles and runs a case; false if it is refused.
class Case {
public:
  Case(std::string name, double rtol, double atol)
      : name(std::move(name)), folder(CASES_DIR "/" + this->name), rtol(rtol), atol(atol) {
    mlir::DialectRegistry registry;
    registry.insert<train::TrainDialect, kernel::KernelDialect, table::TableDialect,
                    mlir::arith::ArithDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([](mlir::Diagnostic &) {}); // refusals are expected
  }

  /// In the layout that costs less or, if asked for, with channels last.
  bool compiles(Layout layout = Layout::ByCost) {
    auto model = importOnnx(context, folder + "/model.onnx", ImportOptions());
    if (failed(model))
      return false;
    Recipe recipe;
    recipe.precision = "as-is";
    device.setTarget(recipe);
    auto assignLayout = [&](Phase phase, mlir::ModuleOp module) {
      if (phase != Phase::Update || layout == Layout::ByCost)
        return;
      mlir::PassManager pm(&context);
      pm.addPass(createAssignLayoutPass({layout, recipe.executor()}));
      EXPECT_TRUE(succeeded(pm.run(module)));
    };
    if (failed(runPhases(*model->module, recipe, Phase::Memory, assignLayout)))
      return false;
    hasWindows = false;
    model->module->walk(
        [&](mlir::Operation *op) { hasWindows |= mlir::isa<table::ConvOp, table::PoolOp>(op); });
    (*model->module)
        ->setAttr(table::attr::kRecipe, mlir::StringAttr::get(&context, recipe.toJson()));
    auto artefact = codegen::compileModule(*model->module, device.target(recipe));
    if (failed(artefact))
      return false;
    session.reset(); // one emulated device at a time
    session = std::make_unique<runtime::Session>(
        runtime::Artefact::load(name, artefact->sharedObject), /*threads=*/1, device.device());
    for (const Weight &weight : model->weights)
      if (const hs_tensor *tensor = session->find(HS_PARAMETER, weight.name))
        session->write(*tensor, weight.bytes.data());
    return true;
  }

  /// Whether what was compiled has convolutions or poolings.
  bool hasWindows = false;

  void run() {
    const hs_artefact &tables = session->artefact();
    std::vector<Array> inputs;
    for (unsigned i = 0; i < tables.input_count; ++i)
      inputs.push_back(readArray(folder + "/input_" + std::to_string(i) + ".npy").value());
    for (unsigned i = 0; i < tables.input_count; ++i)
      session->bindInput(i, inputs[i].bytes.data());
    session->run(HS_INIT);
    session->infer();
    unsigned outputs = 0;
    for (uint64_t t = 0; t < tables.tensor_count; ++t)
      if (tables.tensors[t].role == HS_OUTPUT)
        compare(tables.tensors[t],
                readArray(folder + "/output_" + std::to_string(outputs++) + ".npy").value());
    EXPECT_GT(outputs, 0u) << name;
  }

private:
  void compare(const hs_tensor &tensor, const Array &expected) {
    std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
    ASSERT_EQ(shape, expected.header.shape) << name;
    ASSERT_EQ(tensor.slice.bytes, expected.bytes.size()) << name << ": another type";
    std::string bytes(tensor.slice.bytes, 0);
    session->read(tensor, bytes.data());
    for (int64_t i = 0; i < expected.header.elements; ++i) {
      double got = element(expected.header.type, bytes.data(), i);
      double want = element(expected.header.type, expected.bytes.data(), i);
      bool same = (std::isnan(got) && std::isnan(want)) || got == want ||
                  std::abs(got - want) <= atol + rtol * std::abs(want);
      ASSERT_TRUE(same) << name << ": element " << i << " is " << got << ", expected " << want;
    }
  }

  std::string name, folder;
  double rtol, atol;
  TestDevice device = TestDevice::ofEnvironment();
  mlir::MLIRContext context;
  std::unique_ptr<runtime::Session> session;
};

TEST(Conformance, NodeTests) {
  std::map<std::string, std::string> refusals; // reasons by case
  std::istringstream refused(readFile(TEST_DIR "/conformance/refusals.txt"));
  for (std::string line; std::getline(refused, line);)
    if (!line.empty() && line[0] != '#')
      refusals[line.substr(0, line.find(' '))] = line;
  std::istringstream cases(readFile(CASES_DIR "/cases.txt"));
  unsigned compiled = 0, known = 0, channelsLast = 0;
  std::string name;
  double rtol, atol;
  while (cases >> name >> rtol >> atol) {
    Case one(name, rtol, atol);
    bool compiles = one.compiles();
    EXPECT_NE(compiles, refusals.count(name) == 1)
        << name << (compiles ? ": compiles; it is no refusal" : ": is refused without a reason");
    known += refusals.count(name);
    if (compiles) {
      one.run();
      ++compiled;
    }
    if (one.hasWindows) {
      EXPECT_TRUE(one.compiles(Layout::ChannelsLast)) << name << " with channels last";
      one.run();
      ++channelsLast;
    }
  }
  EXPECT_EQ(known, refusals.size()) << "a refusal is of no case";
  EXPECT_GE(compiled, 310u);
  EXPECT_GE(channelsLast, 40u);
}
} // namespace
