//===- EmulatedCudaTest.h - An emulated device to test ------------------------------*- C++ -*-===//
#ifndef HALFSTEP_TESTS_RUNTIME_EMULATEDCUDATEST_H
#define HALFSTEP_TESTS_RUNTIME_EMULATEDCUDATEST_H

#include "runtime/Error.h"
#include "runtime/emulator/EmulatedCuda.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace halfstep::tests {

using namespace halfstep::runtime;
using namespace halfstep::runtime::cuda;

/// Announces an access and makes it, as retargeted kernels do.
template <typename T> T load(hs_emulated_thread *self, const T *address) {
  self->access(self, address, sizeof(T), sizeof(T), 0);
  return *address;
}
template <typename T> void store(hs_emulated_thread *self, T *address, T value) {
  self->access(self, address, sizeof(T), sizeof(T), 1);
  *address = value;
}

/// What an Error says that `call` throws; "" if it throws none.
template <typename F> std::string errorOf(F call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

#define EXPECT_ERROR(CALL, TEXT)                                                                   \
  EXPECT_PRED2([](const std::string &message,                                                      \
                  const std::string &part) { return message.find(part) != std::string::npos; },    \
               errorOf([&] { (void)(CALL); }), std::string(TEXT))

/// A device with a current context.
class EmulatedCudaTest : public testing::Test {
protected:
  explicit EmulatedCudaTest(std::vector<hs_emulated_function> functions = {})
      : functions(std::move(functions)) {
    restart(1);
  }

  void restart(uint64_t seed) {
    api = emulatedCuda(functions.data(), functions.size(), seed);
    EXPECT_EQ(driver.cuInit(0), success);
    Context context;
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), success);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), success);
  }

  template <typename T = float> T *allocate(size_t count) {
    Address address = 0;
    EXPECT_EQ(driver.cuMemAlloc(&address, count * sizeof(T)), success);
    return reinterpret_cast<T *>(address);
  }
  template <typename T = float> T *allocatePinned(size_t count) {
    void *address = nullptr;
    EXPECT_EQ(driver.cuMemHostAlloc(&address, count * sizeof(T), hostAllocPortable), success);
    return static_cast<T *>(address);
  }
  static Address at(const void *pointer) { return Address(pointer); }
  Stream createStream() {
    Stream stream = nullptr;
    EXPECT_EQ(driver.cuStreamCreate(&stream, streamNonBlocking), success);
    return stream;
  }
  Event createEvent() {
    Event event = nullptr;
    EXPECT_EQ(driver.cuEventCreate(&event, eventDisableTiming), success);
    return event;
  }

  /// Device memory with these values.
  template <typename T> T *upload(const std::vector<T> &values) {
    T *address = allocate<T>(values.size());
    EXPECT_EQ(
        driver.cuMemcpyHtoDAsync(at(address), values.data(), values.size() * sizeof(T), nullptr),
        success);
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), success);
    return address;
  }
  /// What device memory holds, read when all is done that `stream` has.
  template <typename T> std::vector<T> download(const T *address, size_t count, Stream stream) {
    std::vector<T> values(count);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync(values.data(), at(address), count * sizeof(T), stream),
              success);
    return values;
  }

  /// The function of a module that has nothing else.
  Function loadFunction(const std::string &name, int parameters,
                        const std::string &directives = "") {
    std::string ptx = ".version 7.0\n.target sm_80\n.visible .entry " + name + "(";
    for (int i = 0; i < parameters; ++i)
      ptx += std::string(i ? ",\n" : "") + "  .param .u64 .ptr .align 1 " + name + "_param_" +
             std::to_string(i);
    ptx += ")\n" + directives + "{\n  ret;\n}\n";
    Module module = nullptr;
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), success);
    Function function = nullptr;
    EXPECT_EQ(driver.cuModuleGetFunction(&function, module, name.c_str()), success);
    return function;
  }
  Result launch(Function function, unsigned blocks, unsigned threads,
                std::vector<const void *> arguments, Stream stream = nullptr,
                unsigned sharedBytes = 0) {
    std::vector<void *> pointers;
    for (const void *&argument : arguments)
      pointers.push_back(&argument);
    return driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, sharedBytes, stream,
                                 pointers.data(), nullptr);
  }

  std::vector<hs_emulated_function> functions;
  Api api;
  Driver &driver = api.driver;
  CublasLt &blas = api.blas;
};

} // namespace halfstep::tests

#endif
