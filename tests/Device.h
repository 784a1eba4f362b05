//===- Device.h - What tests run compiled programs on ---------------------===//
//
// The CPU or, where HALFSTEP_TEST_TARGET is `cuda`, the CUDA device that HALFSTEP_TEST_DEVICE says:
// `emulate`, the default, or a number. ctest runs what speaks of semantics on both.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_DEVICE_H
#define HALFSTEP_TESTS_DEVICE_H

#include "codegen/Target.h"
#include "passes/Recipe.h"
#include "runtime/Device.h"
#include <cstdlib>
#include <string>

namespace halfstep {

class TestDevice {
public:
  static TestDevice cpu() { return {}; }
  static TestDevice cuda() {
    const char *device = std::getenv("HALFSTEP_TEST_DEVICE");
    TestDevice result;
    result.choice.device = device ? device : "emulate";
    return result;
  }
  static TestDevice ofEnvironment() {
    const char *target = std::getenv("HALFSTEP_TEST_TARGET");
    return target && std::string(target) == "cuda" ? cuda() : cpu();
  }

  bool isCuda() const { return choice.device != "auto"; }
  const runtime::DeviceChoice &device() const { return choice; }
  /// What the passes have to know of it.
  void setTarget(Recipe &recipe) const { recipe.target = isCuda() ? "cuda" : "cpu"; }
  codegen::Target target(const Recipe &recipe) const {
    codegen::Target target(llvm::cantFail(codegen::CpuTarget::get("native")));
    if (isCuda()) {
      target.cuda = llvm::cantFail(codegen::CudaTarget::get(recipe.arch));
      target.withEmulation = choice.device == "emulate";
    }
    return target;
  }

private:
  runtime::DeviceChoice choice;
};

} // namespace halfstep

#endif
