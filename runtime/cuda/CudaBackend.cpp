//===- CudaBackend.cpp - The programs of an artefact on a CUDA device -------------------------===//

#include "runtime/cuda/CudaBackend.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

namespace halfstep::runtime {

using namespace cuda;

//===------------------------------------------------------------------------------------------===//
// Getting ready
//===------------------------------------------------------------------------------------------===//

CudaBackend::CudaBackend(const std::string &name, const hs_artefact &artefact, const Api &api,
                         int device, Use use)
    : name(name), artefact(artefact), use(use), context(api, device),
      inputs(context, artefact, use), state(context), arena(context), hostRecords(context),
      compute(makeStream(context)), updated(makeEvent(context)), kernels(context) {
  layOutRecords();
  checkArchitecture();
  loadKernels();
  for (int i = 0; i < HS_PROGRAM_COUNT; ++i)
    if (auto kind = hs_program_kind(i); isRunIn(use, kind))
      for (uint64_t entry = 0; entry < artefact.programs[kind].entry_count; ++entry)
        resolve(kind, artefact.programs[kind].entries[entry]);
  checkMemory(); // without what kernels and libraries have taken
  state = allocate(context, "the state", artefact.state_bytes);
  arena = allocate(context, "activations", arenaBytes(artefact, use));
  inputs.allocateMemory();
  hostRecords = allocateOnHost(context, recorded.bytes);
  std::memset(hostRecords.get(), 0, recorded.bytes);
  clearState();
}

CudaBackend::~CudaBackend() {
  // What is still running uses what is destroyed next.
  context.finish(compute.get());
}

/// Throws where the device is older than what the kernels are for.
void CudaBackend::checkArchitecture() const {
  std::string architecture = artefact.cuda->architecture;
  int needed = 0;
  std::from_chars(architecture.data() + strlen("sm_"), architecture.data() + architecture.size(),
                  needed);
  if (context.capability() < needed)
    throw Error(context.name(), "is sm_" + std::to_string(context.capability()) + "; " + name +
                                    " was compiled for " + architecture)
        .help(context.capability() < 80 ? "kernels need sm_80 or newer"
                                        : "compile it with --arch sm_80, which newer devices run");
}

/// Throws where the plan does not fit into the memory that is free.
void CudaBackend::checkMemory() const {
  uint64_t ofBatch = arenaBytes(artefact, use) + inputs.bytes(),
           planned = artefact.state_bytes + ofBatch;
  uint64_t free = context.freeBytes();
  if (planned <= free)
    return;
  auto megabytes = [](uint64_t bytes) {
    return std::to_string((bytes + 999999) / 1000000) + " MB";
  };
  Error error(context.name(),
              "the plan needs " + megabytes(planned) + "; " + megabytes(free) + " are free");
  const hs_tensor *input = artefact.input_count ? &artefact.inputs[0] : nullptr;
  if (input && input->rank && free > artefact.state_bytes) {
    // Activations and inputs are in proportion to the batch.
    double fits = double(free - artefact.state_bytes) / double(ofBatch) * double(input->shape[0]);
    if (fits >= 1)
      error.help("compile it with --batch " +
                 std::to_string(uint64_t(fits) * artefact.micro_batches) +
                 ", or with --accumulate");
  }
  throw error;
}

void CudaBackend::layOutRecords() {
  uint64_t begin = UINT64_MAX, end = 0;
  for (uint64_t i = 0; i < artefact.tensor_count; ++i)
    if (const hs_tensor &tensor = artefact.tensors[i]; tensor.role == HS_RECORD) {
      begin = std::min(begin, tensor.slice.offset);
      end = std::max(end, tensor.slice.offset + tensor.slice.bytes);
    }
  if (end)
    recorded = {HS_BUFFER_STATE, begin, end - begin};
}

void CudaBackend::loadKernels() {
  char log[4096] = "";
  int options[] = {jitErrorLogBuffer, jitErrorLogBufferBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  Result result =
      driver().cuModuleLoadDataEx(kernels.target(), artefact.cuda->ptx, 2, options, values);
  if (result != success && *log)
    throw Error(context.name(), "its driver does not accept the kernels").detail(log);
  check(result, "cuModuleLoadDataEx");
}

void CudaBackend::resolve(hs_program_kind kind, const hs_entry &entry) {
  for (uint32_t i = 0; i < entry.slice_count; ++i) {
    checkSlice(name, artefact, entry, entry.slices[i]);
    if (entry.slices[i].buffer >= HS_BUFFER_INPUTS)
      inputs.addReader(entry.slices[i].buffer - HS_BUFFER_INPUTS, kind);
  }
  if (entry.kind == HS_GEMM) {
    if (!blas)
      blas = std::make_unique<Blas>(context);
    gemms[&entry] = std::make_unique<CudaGemm>(*blas, entry);
  } else if (entry.kind == HS_GRID) {
    const char *function = static_cast<const hs_grid *>(entry.detail)->function;
    check(driver().cuModuleGetFunction(&functions[function], kernels.get(), function),
          "cuModuleGetFunction");
  } else if (entry.kind != HS_COPY && entry.kind != HS_FILL) {
    throw Error(name, std::string("entry '") + entry.name + "' is of a kind that CUDA has not")
        .help("the file is damaged; compile it again");
  }
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

Address CudaBackend::address(const hs_slice &slice) const {
  if (slice.buffer == HS_BUFFER_STATE)
    return state.get() + slice.offset;
  if (slice.buffer == HS_BUFFER_ARENA)
    return arena.get() + slice.offset;
  return inputs.address(slice.buffer - HS_BUFFER_INPUTS) + slice.offset;
}

void CudaBackend::synchronise() {
  check(driver().cuStreamSynchronize(compute.get()), "cuStreamSynchronize");
}

void CudaBackend::clearState() {
  context.enter();
  check(driver().cuMemsetD8Async(state.get(), 0, artefact.state_bytes, compute.get()),
        "cuMemsetD8Async");
}

void CudaBackend::copyToHost(void *target, const hs_slice &slice) {
  check(driver().cuMemcpyDtoHAsync(target, address(slice), slice.bytes, compute.get()),
        "cuMemcpyDtoHAsync");
  synchronise();
}

const void *CudaBackend::view(const hs_slice &slice) {
  context.enter();
  std::vector<char> &copy = views[{slice.buffer, slice.offset, slice.bytes}];
  copy.resize(slice.bytes);
  copyToHost(copy.data(), slice);
  return copy.data();
}

void CudaBackend::write(const hs_slice &slice, const void *source) {
  context.enter();
  check(driver().cuMemcpyHtoDAsync(address(slice), source, slice.bytes, compute.get()),
        "cuMemcpyHtoDAsync");
  synchronise(); // the source is the caller's
}

const double *CudaBackend::records(const hs_tensor &tensor) {
  context.enter();
  check(driver().cuEventSynchronize(updated.get()), "cuEventSynchronize");
  return reinterpret_cast<const double *>(static_cast<const char *>(hostRecords.get()) +
                                          (tensor.slice.offset - recorded.offset));
}

//===------------------------------------------------------------------------------------------===//
// Running
//===------------------------------------------------------------------------------------------===//

void CudaBackend::enqueue(const hs_entry &entry) {
  std::vector<Address> buffers(entry.slice_count);
  std::transform(entry.slices, entry.slices + entry.slice_count, buffers.begin(),
                 [&](const hs_slice &slice) { return address(slice); });
  switch (entry.kind) {
  case HS_GRID: {
    const hs_grid &grid = *static_cast<const hs_grid *>(entry.detail);
    std::vector<void *> parameters;
    for (Address &buffer : buffers)
      parameters.push_back(&buffer);
    return check(driver().cuLaunchKernel(functions.at(grid.function), grid.blocks, 1, 1,
                                         grid.threads, 1, 1, 0, compute.get(), parameters.data(),
                                         nullptr),
                 "cuLaunchKernel");
  }
  case HS_GEMM:
    return gemms.at(&entry)->run(buffers.data(), compute.get());
  case HS_COPY:
    return check(
        driver().cuMemcpyDtoDAsync(buffers[0], buffers[1], entry.slices[0].bytes, compute.get()),
        "cuMemcpyDtoDAsync");
  default: // HS_FILL
    return check(driver().cuMemsetD8Async(buffers[0], 0, entry.slices[0].bytes, compute.get()),
                 "cuMemsetD8Async");
  }
}

void CudaBackend::copyRecords() {
  if (recorded.bytes)
    check(driver().cuMemcpyDtoHAsync(hostRecords.get(), address(recorded), recorded.bytes,
                                     compute.get()),
          "cuMemcpyDtoHAsync");
}

OwnedGraphExec CudaBackend::capture(hs_program_kind kind) {
  const hs_program &program = artefact.programs[kind];
  check(driver().cuStreamBeginCapture(compute.get(), captureThreadLocal), "cuStreamBeginCapture");
  OwnedGraph graph(context);
  try {
    for (uint64_t i = 0; i < program.entry_count; ++i)
      enqueue(program.entries[i]);
    if (kind == HS_UPDATE)
      copyRecords();
  } catch (const Error &) {
    driver().cuStreamEndCapture(compute.get(), graph.target()); // the stream is of use again
    throw;
  }
  check(driver().cuStreamEndCapture(compute.get(), graph.target()), "cuStreamEndCapture");
  OwnedGraphExec executable(context);
  check(driver().cuGraphInstantiateWithFlags(executable.target(), graph.get(), 0),
        "cuGraphInstantiateWithFlags");
  return executable;
}

GraphExec CudaBackend::graphOf(hs_program_kind kind) {
  auto key = std::make_pair(kind, inputs.boundTo(kind));
  auto found = graphs.find(key);
  if (found == graphs.end())
    found = graphs.emplace(key, capture(kind)).first;
  return found->second.get();
}

void CudaBackend::checkBound(hs_program_kind kind) const {
  if (int64_t index = inputs.firstUnbound(kind); index >= 0)
    throw Error(name, std::string("input '") + artefact.inputs[index].name + "' has no data");
}

void CudaBackend::run(hs_program_kind kind) {
  assert(isRunIn(use, kind) && "it was opened for other programs");
  context.enter();
  views.clear();
  checkBound(kind);
  if (artefact.programs[kind].entry_count == 0)
    return;
  GraphExec graph = graphOf(kind);
  inputs.waitForCopies(kind, compute.get());
  check(driver().cuGraphLaunch(graph, compute.get()), "cuGraphLaunch");
  inputs.noteReads(kind, compute.get());
  if (kind == HS_UPDATE)
    check(driver().cuEventRecord(updated.get(), compute.get()), "cuEventRecord");
}

void CudaBackend::runEntries(hs_program_kind kind, const EntryVisitor &visit) {
  assert(isRunIn(use, kind) && "it was opened for other programs");
  context.enter();
  views.clear();
  checkBound(kind);
  inputs.waitForCopies(kind, compute.get());
  const hs_program &program = artefact.programs[kind];
  for (uint64_t i = 0; i < program.entry_count; ++i) {
    const hs_entry &entry = program.entries[i];
    std::vector<std::vector<char>> copies(entry.slice_count);
    std::vector<void *> buffers;
    auto fetch = [&](uint32_t hs_use::*isUsed) {
      for (uint32_t j = 0; j < entry.slice_count; ++j)
        if (entry.uses[j].*isUsed)
          copyToHost(copies[j].data(), entry.slices[j]);
    };
    for (uint32_t j = 0; j < entry.slice_count; ++j) {
      copies[j].resize(entry.slices[j].bytes);
      buffers.push_back(copies[j].data());
    }
    fetch(&hs_use::is_read);
    visit(entry, buffers.data(), [&] {
      enqueue(entry);
      fetch(&hs_use::is_written);
    });
  }
  inputs.noteReads(kind, compute.get());
  if (kind == HS_UPDATE) {
    copyRecords();
    check(driver().cuEventRecord(updated.get(), compute.get()), "cuEventRecord");
  }
}

} // namespace halfstep::runtime
