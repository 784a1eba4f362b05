//===- cuda_backend_test.cpp - Walking tables on an emulated device ---------------------------===//

#include "EmulatedCudaTest.h"

#include "runtime/cuda/CudaBackend.h"

#include <thread>

using namespace halfstep::tests;

namespace {

// buffer 0 = 10 * buffer 0 + buffer 1
void appendDigit(void *const *parameters, hs_emulated_thread *self) {
  auto *target = static_cast<int64_t *>(parameters[0]);
  store(self, target, 10 * load(self, target) + load(self, static_cast<int64_t *>(parameters[1])));
}
const hs_emulated_function functions[] = {{"append_digit", appendDigit, 0, "the node"}};
const char ptx[] =
    ".version 7.0\n.target sm_80\n.visible .entry append_digit(\n.param .u64 .ptr .global a,\n"
    ".param .u64 .ptr .global b\n)\n.maxntid 32, 1, 1\n{\nret;\n}\n";

const hs_slice stateWord = {HS_BUFFER_STATE, 64, 8}, arenaWord = {HS_BUFFER_ARENA, 128, 8},
               inputWord = {HS_BUFFER_INPUTS, 16, 8}, recordWords = {HS_BUFFER_STATE, 512, 512};
const hs_grid oneThread = {"append_digit", 1, 1};
const hs_use readWord = {HS_I64, 1, 0, 0}, writtenWord = {HS_I64, 0, 1, 0},
             updatedWord = {HS_I64, 1, 1, 0};

/// An artefact over 4 KiB of state and of arena and one input of 256 bytes: `micro` appends the
/// input's word to the state's, `update` copies that to the records.
struct Table {
  const hs_cuda_code code = {"sm_80", ptx, 1, 1, functions};
  hs_slice copy[2] = {arenaWord, inputWord}, append[2] = {stateWord, arenaWord},
           note[2] = {{HS_BUFFER_STATE, 512, 8}, stateWord};
  hs_use copyUses[2] = {writtenWord, readWord}, appendUses[2] = {updatedWord, readWord};
  std::vector<hs_entry> micro = {{HS_COPY, 2, copy, nullptr, "copy", "", copyUses},
                                 {HS_GRID, 2, append, &oneThread, "append", "", appendUses}},
                        update = {{HS_COPY, 2, note, nullptr, "note", "", copyUses}};
  int64_t shape[2] = {4, 8};
  hs_tensor input{}, record{};
  hs_artefact artefact{};

  explicit Table(uint64_t slots = 2) {
    input.name = "x";
    input.rank = 2;
    input.shape = shape;
    input.slice = {HS_BUFFER_INPUTS, 0, 256};
    record.name = "loss";
    record.role = HS_RECORD;
    record.slice = recordWords;
    artefact.input_count = artefact.tensor_count = artefact.micro_batches = 1;
    artefact.inputs = &input;
    artefact.tensors = &record;
    artefact.state_bytes = artefact.arena_bytes = 4096;
    artefact.input_slots = slots;
    artefact.cuda = &code;
  }

  std::unique_ptr<CudaBackend> backend(uint64_t seed = 0, uint64_t memory = uint64_t(1) << 30,
                                       Use use = Use::Any) {
    artefact.programs[HS_MICRO] = {micro.size(), micro.data()};
    artefact.programs[HS_UPDATE] = {update.size(), update.data()};
    Api api = emulatedCuda(functions, 1, seed);
    setEmulatedMemory(memory);
    return std::make_unique<CudaBackend>("test", artefact, api, 0, use);
  }
};

int64_t word(CudaBackend &backend) {
  return *static_cast<const int64_t *>(backend.view(stateWord));
}

/// The host fills a slot again as soon as it may, and reads records without waiting for more.
TEST(CudaBackend, OrdersCopiesProgramsAndRecordsInEveryOrderThatIsPossible) {
  for (uint64_t slots : {1, 2, 3})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Table table(slots);
      auto backend = table.backend(seed);
      int64_t expected = 0;
      for (int64_t i = 1; i <= 9; ++i) {
        char *slot = backend->inputSlot(0, uint64_t(i) % slots);
        std::memcpy(slot + inputWord.offset, &i, sizeof i);
        backend->bindInput(0, slot);
        for (uint64_t other = 1; other < std::max<uint64_t>(slots, 2); ++other)
          std::memset(backend->inputSlot(0, (uint64_t(i) + other) % slots), 0x55, 256);
        backend->run(HS_MICRO);
        backend->run(HS_UPDATE);
        expected = 10 * expected + i;
        if (i % 3 == 0) {
          int64_t recorded;
          std::memcpy(&recorded, backend->records(table.record), sizeof recorded);
          ASSERT_EQ(recorded, expected) << slots << " slots, seed " << seed;
        }
      }
      ASSERT_EQ(word(*backend), 123456789) << slots << " slots, seed " << seed;
    }
}

TEST(CudaBackend, KeepsAnInputThatIsBoundOnce) {
  Table table;
  auto backend = table.backend();
  EXPECT_ERROR(backend->run(HS_MICRO), "test: input 'x' has no data");
  int64_t data[32] = {0, 0, 3};
  backend->bindInput(0, data);
  for (int i = 0; i < 3; ++i)
    backend->run(HS_MICRO);
  EXPECT_EQ(word(*backend), 333);
  backend->clearState();
  EXPECT_EQ(word(*backend), 0);
  int64_t seven = 7;
  backend->write(stateWord, &seven);
  backend->run(HS_MICRO);
  EXPECT_EQ(word(*backend), 73);
  auto *pinned = reinterpret_cast<int64_t *>(backend->inputSlot(0, 1));
  *pinned = 5;
  backend->write(stateWord, pinned);
  *pinned = 6; // the source is the caller's again
  EXPECT_EQ(word(*backend), 5);
}

TEST(CudaBackend, ShowsWhatEachEntryFindsAndLeaves) {
  Table table;
  auto backend = table.backend();
  int64_t data[32] = {0, 0, 4};
  backend->bindInput(0, data);
  std::vector<int64_t> seen;
  backend->runEntries(HS_MICRO, [&](const hs_entry &, void *const *buffers, auto run) {
    seen.push_back(*static_cast<int64_t *>(buffers[1]));
    run();
    seen.push_back(*static_cast<int64_t *>(buffers[0]));
  });
  EXPECT_EQ(seen, std::vector<int64_t>({4, 4, 4, 4}));
}

TEST(CudaBackend, WaitsForReadersAndCopiesOfTheRightInput) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Table table;
    hs_tensor inputs[] = {table.input, table.input};
    inputs[0].name = "unread";
    inputs[0].slice.bytes = 257; // a slot is 512
    inputs[1].slice.buffer = HS_BUFFER_INPUTS + 1;
    table.artefact.inputs = inputs;
    table.artefact.input_count = 2;
    table.copy[1].buffer = HS_BUFFER_INPUTS + 1;
    auto backend = table.backend(seed);
    EXPECT_GE(backend->inputSlot(1, 0) - backend->inputSlot(0, 1), 512);
    backend->bindInput(0, backend->inputSlot(0, 0));
    for (int64_t i = 1; i <= 9; ++i) {
      char *slot = backend->inputSlot(1, uint64_t(i) % 2);
      std::memcpy(slot + inputWord.offset, &i, sizeof i);
      backend->bindInput(1, slot);
      backend->run(HS_MICRO);
    }
    ASSERT_EQ(word(*backend), 123456789) << "seed " << seed;
  }
}

TEST(CudaBackend, FillsOneSlice) {
  Table table;
  const hs_slice bytes[] = {{HS_BUFFER_STATE, 66, 2}};
  table.update = {{HS_FILL, 1, bytes, nullptr, "fill", "", &writtenWord}};
  auto backend = table.backend();
  int64_t before = 0x1111111111111111;
  backend->write(stateWord, &before);
  backend->run(HS_UPDATE);
  EXPECT_EQ(word(*backend), 0x1111111100001111);
}

TEST(CudaBackend, MultipliesMatrices) {
  Table table;
  const hs_slice word = {HS_BUFFER_STATE, 64, 8}, square = {HS_BUFFER_STATE, 512, 8};
  const hs_slice first[] = {word, word, square},
                 second[] = {square, word, {HS_BUFFER_STATE, 768, 8}};
  const hs_gemm product{HS_F64, HS_F64, HS_F64, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const hs_use uses[] = {readWord, readWord, writtenWord};
  table.update = {{HS_GEMM, 3, first, &product, "square", "", uses},
                  {HS_GEMM, 3, second, &product, "cube", "", uses}};
  auto backend = table.backend();
  double three = 3;
  backend->write(word, &three);
  backend->run(HS_UPDATE);
  EXPECT_EQ(*static_cast<const double *>(backend->view(second[2])), 27);
}

TEST(CudaBackend, HasRecordsOfEntriesThatRunAlone) {
  Table table;
  auto backend = table.backend();
  auto recorded = [&] {
    int64_t result;
    std::memcpy(&result, backend->records(table.record), sizeof result);
    return result;
  };
  EXPECT_EQ(recorded(), 0); // before the first update
  int64_t seven = 7;
  backend->write(stateWord, &seven);
  auto entry = [](const hs_entry &, void *const *, auto run) { run(); };
  EXPECT_ERROR(backend->runEntries(HS_MICRO, entry), "input 'x' has no data");
  backend->runEntries(HS_UPDATE, entry);
  EXPECT_EQ(recorded(), 7);
}

TEST(CudaBackend, FindsEachRecord) {
  Table table;
  table.note[0].offset = 1024;
  hs_tensor tensors[] = {table.record, table.record};
  tensors[1].slice.offset = 1024;
  table.artefact.tensors = tensors;
  table.artefact.tensor_count = 2;
  auto backend = table.backend();
  int64_t seven = 7, recorded;
  backend->write(stateWord, &seven);
  backend->run(HS_UPDATE);
  std::memcpy(&recorded, backend->records(tensors[1]), sizeof recorded);
  EXPECT_EQ(recorded, 7);
}

TEST(CudaBackend, CopiesNoRecordsWhereThereAreNone) {
  Table table;
  hs_tensor tensors[] = {table.record, table.record};
  tensors[0].role = HS_PARAMETER;
  tensors[1].slice.offset = 1 << 20; // not counted, and outside the state
  table.artefact.tensors = tensors;
  auto backend = table.backend();
  backend->run(HS_UPDATE);
  EXPECT_EQ(word(*backend), 0);
}

TEST(CudaBackend, MovesToAnotherThread) {
  Table table;
  auto backend = table.backend();
  std::thread([&] {
    int64_t data[32] = {0, 0, 5};
    backend->bindInput(0, data);
    backend->run(HS_MICRO);
    EXPECT_EQ(word(*backend), 5);
    backend = nullptr; // and ends there
  }).join();
}

TEST(CudaBackend, IsOfUseAfterAProgramThatCannotBeCaptured) {
  Table table;
  const hs_grid noThread = {"append_digit", 1, 0};
  table.micro[1].detail = &noThread;
  auto backend = table.backend();
  int64_t data[32] = {0, 0, 5};
  backend->bindInput(0, data);
  EXPECT_ERROR(backend->run(HS_MICRO), "cuLaunchKernel");
  int64_t seven = 7;
  backend->write(stateWord, &seven);
  EXPECT_EQ(word(*backend), 7);
}

TEST(CudaBackend, ComparesThePlanWithFreeMemory) {
  const uint64_t state = 4096, inputs = 2 * 256;
  {
    Table fitting;
    EXPECT_EQ(errorOf([&] { fitting.backend(0, state + 4096 + inputs); }), "");
  }
  {
    Table round; // numbers of megabytes are rounded up
    round.artefact.arena_bytes = 1000000000000 - state - inputs;
    EXPECT_ERROR(round.backend(0, 50 << 20), "the plan needs 1000000 MB");
  }
  {
    Table single; // room for one of four samples
    single.artefact.arena_bytes = 4000000 - inputs;
    EXPECT_ERROR(single.backend(0, state + 1000000), "compile it with --batch 1");
    single.input.rank = 0;
    EXPECT_EQ(errorOf([&] { single.backend(0, state + 1000000); }).find("--batch"),
              std::string::npos);
    single.artefact.input_count = 0;
    single.micro.clear();
    EXPECT_ERROR(single.backend(0, 1000000), "the plan needs 5 MB; 1 MB are free");
  }
  Table table;
  table.artefact.arena_bytes = 80 << 20; // for a batch of 4
  EXPECT_ERROR(table.backend(0, 50 << 20), "the plan needs 84 MB; 53 MB are free");
  EXPECT_ERROR(table.backend(0, 50 << 20), "compile it with --batch 2");
}

/// Outputs are no part of a training run, labels none of an inference.
TEST(CudaBackend, TakesMemoryForTheProgramsOfItsUse) {
  constexpr uint64_t state = 4096, output = 1 << 20, label = 3 << 20, x = 256;
  Table table(/*slots=*/1);
  hs_tensor inputs[2] = {table.input, {}};
  inputs[1].name = "label";
  inputs[1].role = HS_LABEL;
  inputs[1].slice = {HS_BUFFER_INPUTS + 1, 0, label};
  const hs_slice written = {HS_BUFFER_ARENA, 0, output};
  const hs_entry infer = {HS_FILL, 1, &written, nullptr, "fill", "", &writtenWord};
  table.artefact.inputs = inputs;
  table.artefact.input_count = 2;
  table.artefact.arena_bytes = output;
  table.artefact.programs[HS_INFER] = {1, &infer};
  const uint64_t activations = arenaWord.offset + arenaWord.bytes;
  for (auto [use, bytes] : {std::pair(Use::Training, state + activations + x + label),
                            {Use::Inference, state + output + x},
                            {Use::Any, state + output + x + label}}) {
    EXPECT_ERROR(table.backend(0, bytes - 1, use), "the plan needs");
    EXPECT_EQ(errorOf([&, &memory = bytes, &of = use] { table.backend(0, memory + 4096, of); }),
              "");
  }
  auto backend = table.backend(0, uint64_t(1) << 30, Use::Inference);
  backend->run(HS_INFER);
  EXPECT_EQ(*static_cast<const int64_t *>(backend->view(arenaWord)), 0);
}

Driver driver; // the emulated one
int asked, retained, waits;

TEST(CudaBackend, EndsWhenTheDeviceIsReady) {
  Table table;
  table.backend(); // fills in the programs
  Api api = emulatedCuda(functions, 1, 0);
  setEmulatedMemory(uint64_t(1) << 30);
  driver = api.driver;
  retained = 0;
  api.driver.cuDevicePrimaryCtxRetain = [](Context *context, Device device) {
    return ++retained, driver.cuDevicePrimaryCtxRetain(context, device);
  };
  api.driver.cuDevicePrimaryCtxRelease = [](Device device) {
    return --retained, driver.cuDevicePrimaryCtxRelease(device);
  };
  api.driver.cuStreamSynchronize = [](Stream stream) {
    return ++waits, driver.cuStreamSynchronize(stream);
  };
  api.driver.cuDeviceGetCount = [](int *count) { return *count = 2, Result(success); };
  api.driver.cuDeviceGet = [](Device *device, int number) {
    return asked = number, driver.cuDeviceGet(device, 0);
  };
  {
    CudaBackend backend("test", table.artefact, api, 1);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(retained, 1);
    waits = 0;
  }
  EXPECT_EQ(waits, 2); // for what computes and for what copies
  EXPECT_EQ(retained, 0);
}

TEST(CudaBackend, ReportsWhatTheDriverSays) {
  Table table;
  table.backend(); // fills in the programs
  Api api = emulatedCuda(functions, 1, 0);
  setEmulatedMemory(uint64_t(1) << 30);
  driver = api.driver;
  auto start = [&] { CudaBackend("test", table.artefact, api, 0); };
  api.driver.cuMemAlloc = [](Address *, uint64_t) { return Result(errorInvalidValue); };
  EXPECT_ERROR(start(), "CUDA: cuMemAlloc: invalid argument (1)");
  api.driver.cuMemAlloc = [](Address *, uint64_t) { return Result(errorOutOfMemory); };
  EXPECT_ERROR(start(), "emulated device: has not the 4096 bytes of memory for ");
  api.driver.cuMemAlloc = [](Address *, uint64_t) { return Result(12345); };
  EXPECT_ERROR(start(), "CUDA: cuMemAlloc: unknown error (12345)");
  api.driver.cuMemAlloc = driver.cuMemAlloc;
  api.driver.cuModuleLoadDataEx = [](Module *, const void *, unsigned, int *, void **) {
    return Result(errorInvalidValue);
  };
  EXPECT_ERROR(start(), "CUDA: cuModuleLoadDataEx: invalid argument (1)");
  api.driver.cuModuleLoadDataEx = [](Module *module, const void *ptx, unsigned count, int *options,
                                     void **values) {
    std::strcpy(static_cast<char *>(values[0]), "a remark, not an error");
    EXPECT_EQ(count, 2u);
    return driver.cuModuleLoadDataEx(module, ptx, 0, options, values);
  };
  EXPECT_EQ(errorOf(start), "");
}

TEST(CudaBackend, RefusesWhatTheDeviceCannotRun) {
  {
    Table table;
    const hs_cuda_code code = {"sm_90", ptx, 1, 1, functions};
    table.artefact.cuda = &code;
    EXPECT_EQ(errorOf([&] { table.backend(); }), "");
    EXPECT_ERROR(CudaBackend("test", table.artefact, emulatedCuda(functions, 1, 0), 1),
                 "--device: 1: there is 1 device, counted from 0");
  }
  {
    Table table;
    const hs_cuda_code code = {"sm_80", "no kernels", 1, 1, functions};
    table.artefact.cuda = &code;
    EXPECT_ERROR(table.backend(), "its driver does not accept the kernels");
  }
  {
    Table table;
    const hs_cuda_code code = {"sm_100", ptx, 1, 1, functions};
    table.artefact.cuda = &code;
    EXPECT_ERROR(table.backend(), "emulated device: is sm_90; test was compiled for sm_100");
  }
  Table table;
  table.micro[0].kind = HS_CONV;
  EXPECT_ERROR(table.backend(), "entry 'copy' is of a kind that CUDA has not");
  table.micro[0].kind = HS_COPY;
  table.copy[0].offset = 4096;
  EXPECT_ERROR(table.backend(), "entry 'copy' reaches outside its buffer");
  std::swap(table.micro, table.update);
  table.artefact.programs[HS_INIT] = {table.update.size(), table.update.data()};
  table.update.clear();
  EXPECT_ERROR(table.backend(), "entry 'copy' reaches outside its buffer");
}

} // namespace
