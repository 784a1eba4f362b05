//===- EmulatedModules.cpp - The emulated driver: modules and launches ------------------------===//

#include "runtime/emulator/Emulation.h"
#include "runtime/emulator/PtxEntries.h"

#include <cstring>

namespace halfstep::runtime {

using namespace cuda;
using Needs = Emulation::Needs;

namespace {

constexpr uint64_t maxSharedBytes = 48 << 10;        // of a block, where nothing else is said
constexpr uint64_t maxSharedBytesOnWish = 227 << 10; // an H100's

/// Where the caller wants to read what is wrong with a module.
struct Log {
  char *text = nullptr;
  size_t bytes = 0;

  Log(unsigned count, const int *options, void *const *values) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == jitErrorLogBuffer)
        text = static_cast<char *>(values[i]);
      else if (options[i] == jitErrorLogBufferBytes)
        bytes = size_t(uintptr_t(values[i]));
    }
  }
  void write(const std::string &message) const {
    if (!text || bytes == 0)
      return;
    size_t length = std::min(message.size(), bytes - 1);
    std::memcpy(text, message.data(), length);
    text[length] = 0;
  }
};

Emulation::FunctionState functionOf(const PtxEntry &entry) {
  auto found = emulation().functions.find(entry.name);
  if (found == emulation().functions.end())
    throw Error(entry.name, "there is PTX of this kernel, and no emulated one");
  if (found->second->shared_bytes > maxSharedBytes)
    throw Error(entry.name, "uses " + std::to_string(found->second->shared_bytes) +
                                " bytes of shared memory, of which a block has " +
                                std::to_string(maxSharedBytes));
  return {nullptr, found->second, entry.parameters, entry.maxThreads,
          maxSharedBytes - found->second->shared_bytes};
}

Result loadModule(Module *module, const void *image, unsigned count, int *options, void **values) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    if (!module || !image || (count && (!options || !values)))
      return errorInvalidValue;
    if (Result result = emulation().refuseWhileCapturing())
      return result;
    std::vector<std::pair<std::string, Emulation::FunctionState>> functions;
    try {
      for (const PtxEntry &entry : parsePtxEntries(static_cast<const char *>(image)))
        functions.emplace_back(entry.name, functionOf(entry));
    } catch (const Error &error) {
      Log(count, options, values).write(error.what());
      return errorInvalidPtx;
    }
    *module = emulation().modules.add({});
    for (auto &[name, function] : functions) {
      function.module = *module;
      emulation().modules.find(*module)->functions[name] = emulation().kernels.add(function);
    }
    return success;
  });
}

Result unloadModule(Module module) {
  return emulation().enterToFree([&]() -> Result {
    Emulation::ModuleState *state = emulation().modules.find(module);
    if (!state)
      return errorInvalidHandle;
    for (auto &entry : state->functions)
      emulation().kernels.erase(entry.second);
    emulation().modules.erase(module);
    return success;
  });
}

Result getFunction(Function *function, Module module, const char *name) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::ModuleState *state = emulation().modules.find(module);
    if (!state)
      return errorInvalidHandle;
    if (!function || !name)
      return errorInvalidValue;
    auto found = state->functions.find(name);
    if (found == state->functions.end())
      return errorNotFound;
    *function = found->second;
    return success;
  });
}

Result setAttribute(Function function, int attribute, int value) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::FunctionState *state = emulation().kernels.find(function);
    if (!state)
      return errorInvalidHandle;
    if (attribute != functionMaxDynamicSharedBytes || value < 0 ||
        uint64_t(value) > maxSharedBytesOnWish - state->function->shared_bytes)
      return errorInvalidValue;
    state->maxDynamicSharedBytes = uint64_t(value);
    return success;
  });
}

Result launchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                    unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                    Stream stream, void **parameters, void **extra) {
  return emulation().enter(Needs::Context, [&]() -> Result {
    Emulation::FunctionState *state = emulation().kernels.find(function);
    if (!state || !emulation().stream(stream))
      return errorInvalidHandle;
    constexpr unsigned maxGridX = 2147483647, maxThreads = 1024;
    if (gridX == 0 || gridY == 0 || gridZ == 0 || blockX == 0 || blockY == 0 || blockZ == 0 ||
        gridX > maxGridX || uint64_t(blockX) * blockY * blockZ > maxThreads ||
        sharedBytes > state->maxDynamicSharedBytes || extra || (state->parameters && !parameters))
      return errorInvalidValue;
    if (uint64_t(blockX) * blockY * blockZ > state->maxThreads)
      return errorLaunchOutOfResources;
    if (gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1)
      throw Error(describe(*state->function), "is launched with a grid or blocks of more than one "
                                              "dimension; it only knows the first");
    std::vector<void *> values(state->parameters);
    for (uint32_t i = 0; i < state->parameters; ++i) {
      if (!parameters[i])
        return errorInvalidValue;
      std::memcpy(&values[i], parameters[i], sizeof values[i]);
    }
    return emulation().submit(stream,
                              emulation().device->launch(*state->function, std::move(values), gridX,
                                                         blockX, sharedBytes));
  });
}

} // namespace

void setModuleFunctions(Driver &driver) {
  driver.cuModuleLoadDataEx = loadModule;
  driver.cuModuleUnload = unloadModule;
  driver.cuModuleGetFunction = getFunction;
  driver.cuFuncSetAttribute = setAttribute;
  driver.cuLaunchKernel = launchKernel;
}

} // namespace halfstep::runtime
