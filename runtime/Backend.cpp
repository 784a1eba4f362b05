//===- Backend.cpp - What executes an artefact's programs -------------------------------------===//
//
// Tables come from our own compiler, yet each slice is checked against its buffer when a back end
// is made: that is cheap, and a wrong offset would otherwise show as a wrong number much later.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Backend.h"

#include "runtime/Error.h"

namespace halfstep::runtime {

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
