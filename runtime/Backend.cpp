//===- Backend.cpp - What executes an artefact's programs -------------------------------------===//
//
// Tables come from our own compiler, yet each slice is checked against its buffer when a back end
// is made: that is cheap, and a wrong offset would otherwise show as a wrong number much later.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Backend.h"

#include "runtime/Error.h"

#include <algorithm>

namespace halfstep::runtime {

bool isRunIn(Use use, hs_program_kind program) {
  return use == Use::Any || program == HS_INIT || (program == HS_INFER) == (use == Use::Inference);
}

uint64_t arenaBytes(const hs_artefact &artefact, Use use) {
  if (use == Use::Any)
    return artefact.arena_bytes;
  uint64_t end = 0;
  for (int kind = 0; kind < HS_PROGRAM_COUNT; ++kind) {
    if (!isRunIn(use, hs_program_kind(kind)))
      continue;
    const hs_program &program = artefact.programs[kind];
    for (uint64_t i = 0; i < program.entry_count; ++i)
      for (uint32_t j = 0; j < program.entries[i].slice_count; ++j)
        if (const hs_slice &slice = program.entries[i].slices[j]; slice.buffer == HS_BUFFER_ARENA)
          end = std::max(end, slice.offset + slice.bytes);
  }
  return end;
}

void checkSlice(const std::string &name, const hs_artefact &artefact, const hs_entry &entry,
                const hs_slice &slice) {
  uint64_t input = slice.buffer - HS_BUFFER_INPUTS, bytes = 0;
  if (slice.buffer >= HS_BUFFER_INPUTS)
    bytes = input < artefact.input_count ? artefact.inputs[input].slice.bytes : 0;
  else
    bytes = slice.buffer == HS_BUFFER_STATE ? artefact.state_bytes : artefact.arena_bytes;
  if (slice.offset > bytes || slice.bytes > bytes - slice.offset)
    throw Error(name, std::string("entry '") + entry.name + "' reaches outside its buffer")
        .help("the file is damaged; compile it again");
}

} // namespace halfstep::runtime
