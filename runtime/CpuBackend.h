//===- CpuBackend.h - The programs of an artefact on the CPU ------------------------*- C++ -*-===//
//
// The programs of an artefact on the CPU: memory, and a flat list of calls for each program.
//
// Every kind of entry becomes a range kernel with its list of pointers: those that are not
// generated get a pointer to their own detail behind the buffers. A step is then one short loop.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CPUBACKEND_H
#define HALFSTEP_RUNTIME_CPUBACKEND_H

#include "runtime/Backend.h"
#include "runtime/ChannelsLastConvolution.h"
#include "runtime/ChannelsLastPooling.h"
#include "runtime/Convolution.h"
#include "runtime/DepthwiseConvolution.h"
#include "runtime/Memory.h"
#include "runtime/OneDnnGemm.h"
#include "runtime/Pooling.h"
#include "runtime/ThreadPool.h"
#include "runtime/step_abi.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace halfstep::runtime {

class CpuBackend : public Backend {
public:
  /// Resolves all entries. `name` is the artefact's, for messages.
  CpuBackend(const std::string &name, const hs_artefact &artefact, int threads);

  /// The address of a slice of state or arena.
  char *address(const hs_slice &slice) const;
  void clearState() override { state.clear(); }
  const void *view(const hs_slice &slice) override { return address(slice); }
  void write(const hs_slice &slice, const void *source) override;
  char *inputSlot(size_t index, uint64_t slot) const override;
  void bindInput(size_t index, const void *data) override;
  void run(hs_program_kind program) override;
  void runEntries(hs_program_kind program, const EntryVisitor &visit) override;
  const double *records(const hs_tensor &tensor) override;

private:
  struct Call {
    hs_kernel kernel;
    void *const *buffers;
    int64_t units;
    int tasks; // into how many ranges it is worth splitting
  };
  struct Program {
    std::vector<Call> calls;
    size_t unboundInputs = 0; // of those that it reads
  };
  // Where the pointers into one input are kept.
  struct Input {
    struct Use {
      void **pointer;
      uint64_t offset;
    };
    std::vector<Use> uses;
    std::array<bool, HS_PROGRAM_COUNT> isReadBy{};
    bool isBound = false;
    uint64_t slots = 0, slotBytes = 0; // where its slots are, and how far apart
  };

  void reserveScratch();
  uint64_t layOutInputs();
  void **resolveProgram(hs_program_kind kind, void **next);
  void resolveSlice(hs_program_kind kind, const hs_entry &entry, const hs_slice &slice,
                    void **pointer);
  Call resolveEntry(const hs_entry &entry, void **buffers);
  Call resolveGemm(const hs_gemm &gemm, void **buffers, void *&detail);
  Call resolveConvolution(const hs_conv &conv, void **buffers, void *&detail);
  Call resolvePooling(const hs_pool &pool, void **buffers, void *&detail);
  OneDnn &library();
  Call makeCall(hs_kernel kernel, void *const *buffers, int64_t units, int64_t grain);
  void execute(const Call &call);
  [[noreturn]] void failUnbound(hs_program_kind kind) const;

  const std::string name;
  const hs_artefact &artefact;
  Memory state, arena;
  std::vector<Input> inputs;
  Memory inputSlots; // untouched, and so free of cost, where the host binds memory of its own
  ThreadPool pool;
  std::vector<void *> pointers; // of all calls, one list after the other
  WorkerMemory scratch;
  std::unique_ptr<OneDnn> oneDnn;
  std::vector<std::unique_ptr<OneDnnGemm>> gemms;
  std::vector<std::unique_ptr<Convolution>> convolutions;
  std::vector<std::unique_ptr<ChannelsLastConvolution>> channelsLast;
  std::vector<std::unique_ptr<DepthwiseConvolution>> depthwise;
  std::vector<std::unique_ptr<Pooling>> poolings;
  std::vector<std::unique_ptr<ChannelsLastPooling>> channelsLastPoolings;
  std::array<Program, HS_PROGRAM_COUNT> programs;
};

} // namespace halfstep::runtime

#endif
