//===- CudaBackend.h - The programs of an artefact on a CUDA device -----------------*- C++ -*-===//
//
// State, arena and input slots are the device's memory, allocated once. A program is captured into
// a graph when it first runs, and launched as a whole from then on: a graph for each combination of
// input slots, since addresses are part of it.
//
// Inputs are copied on a stream of their own, while programs before still run. Two kinds of events
// order the streams: a program waits for the copies into the slots that it reads, a copy into a
// slot for the program that read it last.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CUDA_CUDABACKEND_H
#define HALFSTEP_RUNTIME_CUDA_CUDABACKEND_H

#include "runtime/Backend.h"
#include "runtime/cuda/Context.h"
#include "runtime/cuda/CudaGemm.h"
#include "runtime/cuda/InputSlots.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace halfstep::runtime {

class CudaBackend : public Backend {
public:
  /// Allocates memory, loads the kernels and makes ready what programs call. `name` is the
  /// artefact's, for messages. Throws where the device lacks memory or is too old.
  CudaBackend(const std::string &name, const hs_artefact &artefact, const cuda::Api &api,
              int device, Use use = Use::Any);
  ~CudaBackend() override;

  void clearState() override;
  const void *view(const hs_slice &slice) override;
  void write(const hs_slice &slice, const void *source) override;
  char *inputSlot(size_t index, uint64_t slot) const override { return inputs.onHost(index, slot); }
  void bindInput(size_t index, const void *data) override {
    context.enter();
    inputs.bind(index, data);
  }
  void run(hs_program_kind program) override;
  void runEntries(hs_program_kind program, const EntryVisitor &visit) override;
  const double *records(const hs_tensor &tensor) override;

private:
  void checkArchitecture() const;
  void checkMemory() const;
  void layOutRecords();
  void resolve(hs_program_kind kind, const hs_entry &entry);
  void loadKernels();

  cuda::Address address(const hs_slice &slice) const;
  void checkBound(hs_program_kind kind) const;
  cuda::GraphExec graphOf(hs_program_kind kind);
  cuda::OwnedGraphExec capture(hs_program_kind kind);
  void enqueue(const hs_entry &entry);
  void copyRecords();
  void copyToHost(void *target, const hs_slice &slice);
  void synchronise();
  void check(cuda::Result result, const char *call) const { context.check(result, call); }
  const cuda::Driver &driver() const { return context.driver(); }

  const std::string name;
  const hs_artefact &artefact;
  const Use use;
  cuda::DeviceContext context;
  cuda::InputSlots inputs;
  cuda::OwnedMemory state, arena;
  cuda::OwnedHostMemory hostRecords;
  cuda::OwnedStream compute;
  cuda::OwnedEvent updated;
  hs_slice recorded{}; ///< from the first tensor of records to the last
  /// By buffer, offset and bytes; valid until the next program runs.
  std::map<std::array<uint64_t, 3>, std::vector<char>> views;

  cuda::OwnedModule kernels;
  std::unordered_map<std::string, cuda::Function> functions;
  std::unique_ptr<cuda::Blas> blas;
  std::unordered_map<const hs_entry *, std::unique_ptr<cuda::CudaGemm>> gemms;
  /// By program and the inputs' slots.
  std::map<std::pair<hs_program_kind, std::vector<uint64_t>>, cuda::OwnedGraphExec> graphs;
};

} // namespace halfstep::runtime

#endif
