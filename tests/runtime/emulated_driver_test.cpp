//===- emulated_driver_test.cpp - Error codes of the emulated driver --------------------------===//

#include "EmulatedCudaTest.h"

#include <thread>

using namespace halfstep::tests;

namespace {

constexpr unsigned blockSize = 64;

/// y = x + 1
void addOne(void *const *parameters, hs_emulated_thread *self) {
  uint32_t i = self->block * blockSize + self->thread;
  const float *x = static_cast<const float *>(parameters[0]);
  float *y = static_cast<float *>(parameters[1]);
  store(self, y + i, load(self, x + i) + 1);
}
/// Each thread writes its shared memory's last element.
void useShared(void *const *, hs_emulated_thread *self) {
  store(self, reinterpret_cast<float *>(self->shared) + 16 + self->thread, 1.0f);
}

class Driver : public EmulatedCudaTest {
protected:
  Driver()
      : EmulatedCudaTest({{"add_one", addOne, 0, "Add_0", nullptr},
                          {"use_shared", useShared, 64, nullptr, nullptr},
                          {"greedy", useShared, 49153, nullptr, nullptr}}) {}
};

TEST_F(Driver, WantsInitialisationAndContext) {
  api = emulatedCuda(functions.data(), functions.size(), 1);
  int count = 0;
  Address address = 0;
  Context context = nullptr;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), errorNotInitialized);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorNotInitialized);
  EXPECT_EQ(driver.cuInit(1), errorInvalidValue);
  EXPECT_EQ(driver.cuInit(0), success);
  EXPECT_EQ(driver.cuDeviceGetCount(&count), success);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorInvalidContext);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), errorInvalidContext);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 1), errorInvalidDevice);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorInvalidContext); // it is not current
  EXPECT_EQ(driver.cuCtxSetCurrent(context), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), success);
  // A context is current to a thread.
  std::thread([&] { EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorInvalidContext); }).join();
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorInvalidContext);
  EXPECT_EQ(driver.cuCtxSetCurrent(context), errorInvalidContext);
}

TEST_F(Driver, DescribesItself) {
  Device device = 7;
  EXPECT_EQ(driver.cuDeviceGet(&device, 1), errorInvalidDevice);
  ASSERT_EQ(driver.cuDeviceGet(&device, 0), success);
  char name[9];
  ASSERT_EQ(driver.cuDeviceGetName(name, sizeof name, device), success);
  EXPECT_STREQ(name, "emulated");
  int value = 0;
  ASSERT_EQ(driver.cuDeviceGetAttribute(&value, attributeMaxThreadsPerBlock, device), success);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(driver.cuDeviceGetAttribute(&value, 12345, device), errorInvalidValue);
  const char *text = nullptr;
  ASSERT_EQ(driver.cuGetErrorString(errorOutOfMemory, &text), success);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(driver.cuGetErrorString(12345, &text), errorInvalidValue);
  EXPECT_EQ(text, nullptr);
}

TEST_F(Driver, HasSoMuchMemory) {
  setEmulatedMemory(1 << 20);
  size_t free = 0, total = 0;
  ASSERT_EQ(driver.cuMemGetInfo(&free, &total), success);
  EXPECT_EQ(free, size_t(1) << 20);
  EXPECT_EQ(total, size_t(1) << 20);
  Address address = 0, second = 0;
  EXPECT_EQ(driver.cuMemAlloc(&address, 0), errorInvalidValue);
  EXPECT_EQ(driver.cuMemAlloc(&address, (1 << 20) + 1), errorOutOfMemory);
  ASSERT_EQ(driver.cuMemAlloc(&address, 1 << 19), success);
  EXPECT_EQ(address % 256, 0u);
  EXPECT_EQ(driver.cuMemAlloc(&second, (1 << 19) + 1), errorOutOfMemory);
  ASSERT_EQ(driver.cuMemGetInfo(&free, &total), success);
  EXPECT_EQ(free, size_t(1) << 19);
  EXPECT_EQ(driver.cuMemFree(address + 256), errorInvalidValue);
  EXPECT_EQ(driver.cuMemFree(address), success);
  EXPECT_EQ(driver.cuMemFree(address), errorInvalidValue);
  EXPECT_EQ(driver.cuMemAlloc(&second, 1 << 20), success);
}

TEST_F(Driver, CopiesRefuseWrongPointers) {
  float *device = allocate(16), *pinned = allocatePinned(16);
  float pageable[32] = {};
  auto toDevice = [&](const void *target, const void *source, size_t bytes) {
    return driver.cuMemcpyHtoDAsync(at(target), source, bytes, nullptr);
  };
  auto toHost = [&](void *target, const void *source, size_t bytes) {
    return driver.cuMemcpyDtoHAsync(target, at(source), bytes, nullptr);
  };
  EXPECT_EQ(toDevice(pageable, pageable, 4), errorInvalidValue); // host memory as device memory
  EXPECT_EQ(toDevice(pinned, pageable, 4), errorInvalidValue);
  EXPECT_EQ(toDevice(device, device, 4), errorInvalidValue); // and the reverse
  EXPECT_EQ(toDevice(device, nullptr, 4), errorInvalidValue);
  EXPECT_EQ(toDevice(device, pageable, 65), errorInvalidValue); // beyond the allocation
  EXPECT_EQ(toDevice(device + 16, pageable, 4), errorInvalidValue);
  EXPECT_EQ(toDevice(device, pinned + 1, 64), errorInvalidValue); // beyond the pinned one
  EXPECT_EQ(toDevice(device, pinned, 64), success);
  EXPECT_EQ(toHost(device, device, 4), errorInvalidValue);
  EXPECT_EQ(toHost(nullptr, device, 4), errorInvalidValue);
  EXPECT_EQ(toHost(pageable, pageable, 4), errorInvalidValue);
  EXPECT_EQ(toHost(pageable, device, 65), errorInvalidValue);
  EXPECT_EQ(toHost(pageable, device, 64), success);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(at(device), at(pinned), 4, nullptr), errorInvalidValue);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(at(pinned), at(device), 4, nullptr), errorInvalidValue);
  EXPECT_EQ(driver.cuMemsetD8Async(at(device), 0, 65, nullptr), errorInvalidValue);
  EXPECT_EQ(driver.cuMemsetD8Async(at(pinned), 0, 4, nullptr), errorInvalidValue);
  EXPECT_EQ(toDevice(nullptr, nullptr, 0), success);
  float *freed = allocate(16);
  EXPECT_EQ(driver.cuMemFree(at(freed)), success);
  EXPECT_EQ(toDevice(freed, pageable, 4), errorInvalidValue);
  EXPECT_EQ(driver.cuMemFreeHost(pageable), errorInvalidValue);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), success);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), errorInvalidValue);
}

TEST_F(Driver, KnowsDestroyedHandles) {
  Stream stream = createStream();
  Event event = createEvent();
  float *device = allocate(4);
  EXPECT_EQ(driver.cuStreamCreate(&stream, 4), errorInvalidValue);
  EXPECT_EQ(driver.cuEventCreate(&event, 64), errorInvalidValue);
  ASSERT_EQ(driver.cuStreamDestroy(stream), success);
  EXPECT_EQ(driver.cuStreamDestroy(stream), errorInvalidHandle);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), errorInvalidHandle);
  EXPECT_EQ(driver.cuMemsetD8Async(at(device), 0, 4, stream), errorInvalidHandle);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync(at(device), at(device), 0, stream), errorInvalidHandle);
  EXPECT_EQ(driver.cuEventRecord(event, stream), errorInvalidHandle);
  EXPECT_EQ(driver.cuStreamWaitEvent(stream, event, 0), errorInvalidHandle);
  EXPECT_EQ(driver.cuStreamBeginCapture(stream, captureThreadLocal), errorInvalidHandle);
  ASSERT_EQ(driver.cuEventDestroy(event), success);
  EXPECT_EQ(driver.cuEventDestroy(event), errorInvalidHandle);
  EXPECT_EQ(driver.cuEventRecord(event, nullptr), errorInvalidHandle);
  EXPECT_EQ(driver.cuEventSynchronize(event), errorInvalidHandle);
  EXPECT_EQ(driver.cuStreamWaitEvent(nullptr, event, 0), errorInvalidHandle);
}

TEST_F(Driver, WantsAPlaceForItsResults) {
  Function function = loadFunction("use_shared", 0);
  Stream stream = createStream();
  Module module = nullptr;
  Address address = 0;
  int option = jitErrorLogBuffer;
  char name[4];
  void *value = nullptr;
  size_t bytes = 0;
  const char *ptx = ".version 7.0 .target sm_80 .visible .entry use_shared() { ret; }";
  ASSERT_EQ(driver.cuModuleLoadDataEx(&module, ptx, 0, nullptr, nullptr), success);
  for (Result result :
       {driver.cuDeviceGetCount(nullptr),
        driver.cuDeviceGet(nullptr, 0),
        driver.cuDeviceGetName(nullptr, 4, 0),
        driver.cuDeviceGetName(name, 0, 0),
        driver.cuDeviceGetAttribute(nullptr, attributeMaxGridDimX, 0),
        driver.cuDevicePrimaryCtxRetain(nullptr, 0),
        driver.cuMemGetInfo(nullptr, &bytes),
        driver.cuMemGetInfo(&bytes, nullptr),
        driver.cuMemAlloc(nullptr, 4),
        driver.cuMemHostAlloc(nullptr, 4, 0),
        driver.cuMemHostAlloc(&value, 0, 0),
        driver.cuMemHostAlloc(&value, 4, 8),
        driver.cuStreamCreate(nullptr, 0),
        driver.cuEventCreate(nullptr, 0),
        driver.cuModuleLoadDataEx(nullptr, ptx, 0, nullptr, nullptr),
        driver.cuModuleLoadDataEx(&module, nullptr, 0, nullptr, nullptr),
        driver.cuModuleLoadDataEx(&module, ptx, 1, nullptr, &value),
        driver.cuModuleLoadDataEx(&module, ptx, 1, &option, nullptr),
        driver.cuModuleGetFunction(nullptr, module, "use_shared"),
        driver.cuModuleGetFunction(&function, module, nullptr),
        driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, &value)})
    EXPECT_EQ(result, errorInvalidValue);
  for (Result result : {driver.cuDeviceGetName(name, 1, 1),
                        driver.cuDeviceGetAttribute(&option, attributeMaxGridDimX, 1),
                        driver.cuDevicePrimaryCtxRelease(1)})
    EXPECT_EQ(result, errorInvalidDevice);
  EXPECT_EQ(driver.cuMemFree(0), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), success);
}

TEST_F(Driver, ChecksTheNumberOfItsContexts) {
  Context context = nullptr;
  Address address = 0;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), success); // twice now
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), success);
  EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), errorInvalidContext);
  EXPECT_EQ(driver.cuCtxSetCurrent(context), success);
  EXPECT_EQ(driver.cuMemAlloc(&address, 4), success);
}

TEST_F(Driver, LoadsWhatTheExecutableHas) {
  Module module = nullptr;
  char log[120] = "";
  int options[] = {jitErrorLogBuffer, jitErrorLogBufferBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  auto loadText = [&](const char *ptx) {
    return driver.cuModuleLoadDataEx(&module, ptx, 2, options, values);
  };
  EXPECT_EQ(loadText("nonsense"), errorInvalidPtx);
  EXPECT_STREQ(log, "PTX: the text names neither version nor target");
  EXPECT_EQ(loadText(".version 7.0 .target sm_80 .visible .entry nobody() { ret; }"),
            errorInvalidPtx);
  EXPECT_STREQ(log, "nobody: there is PTX of this kernel, and no emulated one");
  const std::string head = ".version 7.0 .target sm_80 .visible .entry ";
  EXPECT_EQ(loadText((head + "add_one(.param .u32 n) { ret; }").c_str()), errorInvalidPtx);
  EXPECT_STREQ(log, "PTX: a parameter of add_one is .u32; emulated kernels have parameters of "
                    "64 bits only");
  EXPECT_EQ(loadText((head + "greedy() { ret; }").c_str()), errorInvalidPtx);
  EXPECT_STREQ(log, "greedy: uses 49153 bytes of shared memory, of which a block has 49152");
  EXPECT_EQ(loadText((head + "{ ret; }").c_str()), errorInvalidPtx);
  EXPECT_STREQ(log, "PTX: an entry has no name or no body");
  EXPECT_EQ(loadText((head + "add_one(.param .u64 n { ret; } )").c_str()), errorInvalidPtx);
  EXPECT_STREQ(log, "PTX: the parameters of add_one do not end");
  ASSERT_EQ(loadText(".version 7.0 .target sm_80 .visible .entry use_shared() { ret; }"), success);
  Function function = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "add_one"), errorNotFound);
  ASSERT_EQ(driver.cuModuleGetFunction(&function, module, "use_shared"), success);
  EXPECT_EQ(driver.cuModuleUnload(module), success);
  EXPECT_EQ(driver.cuModuleUnload(module), errorInvalidHandle);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "use_shared"), errorInvalidHandle);
  EXPECT_EQ(launch(function, 1, 1, {}), errorInvalidHandle);
}

TEST_F(Driver, LaunchesWithinTheLimitsOfTheDevice) {
  float *x = upload(std::vector<float>(256, 1.0f)), *y = allocate(256);
  Function function = loadFunction("add_one", 2);
  auto launchShape = [&](std::array<unsigned, 3> grid, std::array<unsigned, 3> block) {
    void *parameters[] = {&x, &y};
    return driver.cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                 0, nullptr, parameters, nullptr);
  };
  for (int i = 0; i < 3; ++i) {
    std::array<unsigned, 3> zero{1, 1, 1};
    zero[size_t(i)] = 0;
    EXPECT_EQ(launchShape(zero, {blockSize, 1, 1}), errorInvalidValue);
    EXPECT_EQ(launchShape({1, 1, 1}, zero), errorInvalidValue);
  }
  EXPECT_EQ(launchShape({1, 1, 1}, {1025, 1, 1}), errorInvalidValue);
  EXPECT_EQ(launchShape({1, 1, 1}, {64, 32, 1}), errorInvalidValue);
  EXPECT_EQ(launchShape({2147483648u, 1, 1}, {1, 1, 1}), errorInvalidValue);
  EXPECT_EQ(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            errorInvalidValue);
  EXPECT_EQ(launch(loadFunction("add_one", 2, ".maxntid 32, 1, 1\n"), 1, 64, {x, y}),
            errorLaunchOutOfResources);
  ASSERT_EQ(launchShape({4, 1, 1}, {blockSize, 1, 1}), success);
  EXPECT_EQ(download(y, 256, nullptr), std::vector<float>(256, 2.0f));
  EXPECT_ERROR(launchShape({1, 2, 1}, {blockSize, 1, 1}),
               "is launched with a grid or blocks of more than one dimension");
}

TEST_F(Driver, GivesSharedMemoryOnWish) {
  Function function = loadFunction("use_shared", 0);
  constexpr unsigned limit = 49152 - 64, wishLimit = 227 * 1024 - 64;
  EXPECT_EQ(launch(function, 1, 4, {}, nullptr, 16), success);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(launch(function, 1, 4, {}, nullptr, limit), success);
  EXPECT_EQ(launch(function, 1, 4, {}, nullptr, limit + 1), errorInvalidValue);
  EXPECT_EQ(driver.cuFuncSetAttribute(function, functionMaxDynamicSharedBytes, wishLimit + 1),
            errorInvalidValue);
  EXPECT_EQ(driver.cuFuncSetAttribute(function, functionMaxDynamicSharedBytes, -1),
            errorInvalidValue);
  EXPECT_EQ(driver.cuFuncSetAttribute(function, 99, 0), errorInvalidValue);
  EXPECT_EQ(driver.cuFuncSetAttribute(function, functionMaxDynamicSharedBytes, wishLimit), success);
  EXPECT_EQ(launch(function, 1, 4, {}, nullptr, wishLimit), success);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(launch(function, 1, 4, {}, nullptr, 12), success);
  EXPECT_ERROR(driver.cuStreamSynchronize(nullptr), "beyond the block's shared memory");
}

TEST_F(Driver, IsOfNoUseAfterAFault) {
  Function function = loadFunction("add_one", 2);
  float *x = allocate(blockSize), *y = allocate(blockSize);
  ASSERT_EQ(launch(function, 1, blockSize, {x, y}), success);
  EXPECT_ERROR(driver.cuStreamSynchronize(nullptr), "kernel add_one (Add_0)");
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), errorLaunchFailed);
  EXPECT_EQ(driver.cuMemFree(at(x)), errorLaunchFailed);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), success);
  restart(1);
  EXPECT_EQ(driver.cuStreamSynchronize(nullptr), success);
}

// Memory is freed in destructors: the fault is told by the next call.
TEST_F(Driver, DoesNotThrowWhereItFrees) {
  Function function = loadFunction("add_one", 2);
  float *x = allocate(blockSize), *y = allocate(blockSize);
  ASSERT_EQ(launch(function, 1, blockSize, {x, y}), success);
  EXPECT_EQ(driver.cuMemFree(at(x)), errorLaunchFailed);
  EXPECT_ERROR(driver.cuStreamSynchronize(nullptr), "kernel add_one");
}

} // namespace
