//===- InputSlots.cpp - Inputs on their way to a device ---------------------------------------===//

#include "runtime/cuda/InputSlots.h"

namespace halfstep::runtime::cuda {

// What a slot begins at a multiple of: 128-bit accesses rely on 16, the driver aligns to 256.
static constexpr uint64_t slotAlignment = 256;

InputSlots::InputSlots(const DeviceContext &context, const hs_artefact &artefact, Use use)
    : context(context), artefact(artefact), inputs(artefact.input_count), memory(context),
      hostMemory(context), copies(makeStream(context)) {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (uint64_t slot = 0; slot < artefact.input_slots; ++slot) {
      inputs[i].slots.push_back({total, makeEvent(context), makeEvent(context)});
      bool isThere = use != Use::Inference || artefact.inputs[i].role != HS_LABEL;
      uint64_t bytes = isThere ? artefact.inputs[i].slice.bytes : 0;
      total += (bytes + slotAlignment - 1) / slotAlignment * slotAlignment;
    }
}

InputSlots::~InputSlots() {
  // Copies use what is destroyed next.
  context.finish(copies.get());
}

void InputSlots::allocateMemory() {
  memory = allocate(context, "inputs", total);
  hostMemory = allocateOnHost(context, total);
}

char *InputSlots::onHost(size_t index, uint64_t slot) const {
  return static_cast<char *>(hostMemory.get()) + inputs[index].slots[slot].offset;
}

void InputSlots::bind(size_t index, const void *data) {
  Input &input = inputs[index];
  input.bound = input.isBound ? (input.bound + 1) % input.slots.size() : 0;
  input.isBound = true;
  const Slot &slot = boundSlot(input);
  const Driver &driver = context.driver();
  context.check(driver.cuStreamWaitEvent(copies.get(), slot.read.get(), 0), "cuStreamWaitEvent");
  context.check(driver.cuMemcpyHtoDAsync(address(index), data, artefact.inputs[index].slice.bytes,
                                         copies.get()),
                "cuMemcpyHtoDAsync");
  context.check(driver.cuEventRecord(slot.copied.get(), copies.get()), "cuEventRecord");
  const Slot &previous = input.slots[(input.bound + input.slots.size() - 1) % input.slots.size()];
  context.check(driver.cuEventSynchronize(previous.copied.get()), "cuEventSynchronize");
}

int64_t InputSlots::firstUnbound(hs_program_kind kind) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].isReadBy[kind] && !inputs[i].isBound)
      return int64_t(i);
  return -1;
}

std::vector<uint64_t> InputSlots::boundTo(hs_program_kind kind) const {
  std::vector<uint64_t> bound;
  for (const Input &input : inputs)
    bound.push_back(input.isReadBy[kind] ? input.bound : 0);
  return bound;
}

Address InputSlots::address(size_t index) const {
  return memory.get() + boundSlot(inputs[index]).offset;
}

void InputSlots::waitForCopies(hs_program_kind kind, Stream stream) const {
  for (const Input &input : inputs)
    if (input.isReadBy[kind])
      context.check(context.driver().cuStreamWaitEvent(stream, boundSlot(input).copied.get(), 0),
                    "cuStreamWaitEvent");
}

void InputSlots::noteReads(hs_program_kind kind, Stream stream) const {
  for (const Input &input : inputs)
    if (input.isReadBy[kind])
      context.check(context.driver().cuEventRecord(boundSlot(input).read.get(), stream),
                    "cuEventRecord");
}

} // namespace halfstep::runtime::cuda
