//===- CpuBackend.cpp - The programs of an artefact on the CPU --------------------------------===//

#include "runtime/CpuBackend.h"

#include "runtime/CpuKernels.h"
#include "runtime/Error.h"
#include "runtime/Scratch.h"

#include <algorithm>
#include <cstring>

namespace halfstep::runtime {

// Units of copies and fills worth a task: a quarter of a megabyte.
static constexpr int64_t unitsPerTask = 64;

CpuBackend::CpuBackend(const std::string &name, const hs_artefact &artefact, int threads)
    : name(name), artefact(artefact), state("state", artefact.state_bytes),
      arena("activations", artefact.arena_bytes), inputs(artefact.input_count),
      inputSlots("inputs", layOutInputs()), pool(threads), scratch(threads) {
  reserveScratch();
  // All lists first: resolving takes the addresses of their elements.
  size_t count = 0;
  for (const hs_program &program : artefact.programs)
    for (uint64_t i = 0; i < program.entry_count; ++i)
      count += program.entries[i].slice_count + 1;
  pointers.resize(count);

  void **next = pointers.data();
  for (int kind = 0; kind < HS_PROGRAM_COUNT; ++kind)
    next = resolveProgram(hs_program_kind(kind), next);
}

// Exactly what the plan shows: a table that asks for more or less than its entries do is not ours.
void CpuBackend::reserveScratch() {
  uint64_t needed = 0;
  for (const hs_program &program : artefact.programs)
    for (uint64_t i = 0; i < program.entry_count; ++i)
      needed = std::max(needed, scratchBytes(program.entries[i].kind, program.entries[i].detail));
  if (needed != artefact.scratch_bytes)
    throw Error(name, "the plan has " + std::to_string(artefact.scratch_bytes) +
                          " bytes of scratch memory for each thread, its entries need " +
                          std::to_string(needed))
        .help("the file is damaged; compile it again");
  scratch.reserve(needed);
}

// Returns the bytes of all slots of all inputs: slot after slot, each beginning a cache line.
uint64_t CpuBackend::layOutInputs() {
  uint64_t end = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].slots = end;
    inputs[i].slotBytes = (artefact.inputs[i].slice.bytes + 63) / 64 * 64;
    end += artefact.input_slots * inputs[i].slotBytes;
  }
  return end;
}

//===------------------------------------------------------------------------------------------===//
// Resolving
//===------------------------------------------------------------------------------------------===//

// Returns the end of the pointers that the program takes from `next` on.
void **CpuBackend::resolveProgram(hs_program_kind kind, void **next) {
  const hs_program &program = artefact.programs[kind];
  programs[kind].calls.reserve(program.entry_count);
  for (uint64_t i = 0; i < program.entry_count; ++i) {
    const hs_entry &entry = program.entries[i];
    for (uint32_t j = 0; j < entry.slice_count; ++j)
      resolveSlice(kind, entry, entry.slices[j], next + j);
    programs[kind].calls.push_back(resolveEntry(entry, next));
    next += entry.slice_count + 1;
  }
  return next;
}

void CpuBackend::resolveSlice(hs_program_kind kind, const hs_entry &entry, const hs_slice &slice,
                              void **pointer) {
  checkSlice(name, artefact, entry, slice);
  if (slice.buffer < HS_BUFFER_INPUTS) {
    *pointer = address(slice);
    return;
  }
  size_t input = slice.buffer - HS_BUFFER_INPUTS;
  inputs[input].uses.push_back({pointer, slice.offset});
  if (!inputs[input].isReadBy[kind]) {
    inputs[input].isReadBy[kind] = true;
    ++programs[kind].unboundInputs;
  }
}

CpuBackend::Call CpuBackend::resolveEntry(const hs_entry &entry, void **buffers) {
  // What follows the entry's own buffers.
  void *&detail = buffers[entry.slice_count];
  auto unitsOf = [](const hs_slice &slice) {
    return (int64_t(slice.bytes) + bytesPerUnit - 1) / bytesPerUnit;
  };
  switch (entry.kind) {
  case HS_LAUNCH: {
    auto *launch = static_cast<const hs_launch *>(entry.detail);
    return makeCall(launch->kernel, buffers, launch->units, launch->grain);
  }
  case HS_GEMM:
    return resolveGemm(*static_cast<const hs_gemm *>(entry.detail), buffers, detail);
  case HS_CONV:
    return resolveConvolution(*static_cast<const hs_conv *>(entry.detail), buffers, detail);
  case HS_POOL:
    return resolvePooling(*static_cast<const hs_pool *>(entry.detail), buffers, detail);
  case HS_COPY:
    detail = const_cast<hs_slice *>(&entry.slices[0]);
    return makeCall(copyBytes, buffers, unitsOf(entry.slices[0]), unitsPerTask);
  case HS_FILL:
    detail = const_cast<hs_slice *>(&entry.slices[0]);
    return makeCall(fillBytes, buffers, unitsOf(entry.slices[0]), unitsPerTask);
  default:
    throw Error(name, std::string("entry '") + entry.name + "' is of an unknown kind")
        .help("the file is damaged; compile it again");
  }
}

CpuBackend::Call CpuBackend::resolveGemm(const hs_gemm &gemm, void **buffers, void *&detail) {
  if (gemm.c_type == HS_F64) {
    detail = const_cast<hs_gemm *>(&gemm);
    // A row of 64 x 64 multiply-adds takes about a microsecond.
    int64_t grain = 1 + 65536 / std::max<int64_t>(1, gemm.n * gemm.k);
    return makeCall(gemm.has_bias ? multiplyDoublesWithBias : multiplyDoubles, buffers,
                    gemm.batch * gemm.m, grain);
  }
  gemms.push_back(std::make_unique<OneDnnGemm>(library(), scratch, gemm));
  detail = gemms.back().get();
  hs_kernel run = gemm.has_bias ? OneDnnGemm::runWithBias : OneDnnGemm::run;
  return makeCall(run, buffers, gemms.back()->units(), 1);
}

CpuBackend::Call CpuBackend::resolveConvolution(const hs_conv &conv, void **buffers,
                                                void *&detail) {
  if (isDepthwise(conv)) {
    depthwise.push_back(std::make_unique<DepthwiseConvolution>(conv, scratch));
    detail = depthwise.back().get();
    return makeCall(DepthwiseConvolution::run, buffers, depthwise.back()->units(), 1);
  }
  OneDnn *products = conv.c_type == HS_F64 ? nullptr : &library();
  if (conv.channels_last) {
    channelsLast.push_back(std::make_unique<ChannelsLastConvolution>(conv, scratch, products));
    detail = channelsLast.back().get();
    return makeCall(ChannelsLastConvolution::run, buffers, channelsLast.back()->units(), 1);
  }
  convolutions.push_back(std::make_unique<Convolution>(conv, scratch, products));
  detail = convolutions.back().get();
  return makeCall(Convolution::run, buffers, convolutions.back()->units(), 1);
}

CpuBackend::Call CpuBackend::resolvePooling(const hs_pool &pool, void **buffers, void *&detail) {
  auto make = [&](auto &all) {
    using Kind = typename std::decay_t<decltype(all)>::value_type::element_type;
    all.push_back(std::make_unique<Kind>(pool, scratch));
    const Kind &pooling = *all.back();
    detail = all.back().get();
    return makeCall(pooling.kernel(), buffers, pooling.units(), pooling.grain());
  };
  return pool.channels_last ? make(channelsLastPoolings) : make(poolings);
}

OneDnn &CpuBackend::library() {
  if (!oneDnn)
    oneDnn = std::make_unique<OneDnn>(pool.threads());
  return *oneDnn;
}

CpuBackend::Call CpuBackend::makeCall(hs_kernel kernel, void *const *buffers, int64_t units,
                                      int64_t grain) {
  int64_t tasks = std::min<int64_t>(pool.threads(), units / std::max<int64_t>(1, grain));
  if (tasks > 1)
    pool.start();
  return {kernel, buffers, units, int(std::max<int64_t>(1, tasks))};
}

//===------------------------------------------------------------------------------------------===//
// Running
//===------------------------------------------------------------------------------------------===//

char *CpuBackend::address(const hs_slice &slice) const {
  return (slice.buffer == HS_BUFFER_STATE ? state : arena).data() + slice.offset;
}

void CpuBackend::write(const hs_slice &slice, const void *source) {
  std::memcpy(address(slice), source, slice.bytes);
}

const double *CpuBackend::records(const hs_tensor &tensor) {
  return reinterpret_cast<const double *>(address(tensor.slice));
}

char *CpuBackend::inputSlot(size_t index, uint64_t slot) const {
  return inputSlots.data() + inputs[index].slots + slot * inputs[index].slotBytes;
}

void CpuBackend::bindInput(size_t index, const void *data) {
  Input &input = inputs[index];
  auto *base = static_cast<char *>(const_cast<void *>(data));
  for (const Input::Use &use : input.uses)
    *use.pointer = base + use.offset;
  if (input.isBound)
    return;
  input.isBound = true;
  for (size_t kind = 0; kind < programs.size(); ++kind)
    programs[kind].unboundInputs -= input.isReadBy[kind];
}

void CpuBackend::run(hs_program_kind kind) {
  const Program &program = programs[kind];
  if (program.unboundInputs != 0)
    failUnbound(kind);
  for (const Call &call : program.calls)
    execute(call);
}

void CpuBackend::runEntries(hs_program_kind kind, const EntryVisitor &visit) {
  const Program &program = programs[kind];
  if (program.unboundInputs != 0)
    failUnbound(kind);
  const hs_entry *entry = artefact.programs[kind].entries;
  for (const Call &call : program.calls)
    visit(*entry++, call.buffers, [&] { execute(call); });
}

inline void CpuBackend::execute(const Call &call) {
  if (call.tasks == 1)
    call.kernel(call.buffers, 0, call.units);
  else
    pool.run(call.kernel, call.buffers, call.units, call.tasks);
}

void CpuBackend::failUnbound(hs_program_kind kind) const {
  auto isMissing = [&](const Input &input) { return input.isReadBy[kind] && !input.isBound; };
  size_t index = size_t(std::find_if(inputs.begin(), inputs.end(), isMissing) - inputs.begin());
  throw Error(name, std::string("input '") + artefact.inputs[index].name + "' has no data");
}

} // namespace halfstep::runtime
