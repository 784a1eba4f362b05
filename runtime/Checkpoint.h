//===- Checkpoint.h - Runs that can go on where they stopped ------------------------*- C++ -*-===//
//
// Checkpoints: one safetensors file that holds all that a run needs to go on bit for bit.
//
//   NAME                      a parameter (the master weight) under its ONNX name
//   halfstep/SLOT/NAME        optimizer state
//   halfstep/NAME             counters and hyperparameters, f64 scalars
//   metadata                  "format" = "halfstep 1", "recipe", "graph_hash", and the caller's own
//
// What `init` derives (16-bit copies) and what lives within a step is not stored.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_CHECKPOINT_H
#define HALFSTEP_RUNTIME_CHECKPOINT_H

#include "runtime/Safetensors.h"
#include "runtime/Session.h"

#include <string>

namespace halfstep::runtime {

/// Writes a checkpoint aside, syncs it and renames it onto `path`: whatever happens, `path` is
/// either the old file or the complete new one. `extra` joins the metadata (the position in the
/// data, the seed); its keys must not be those above. Throws on a full disk, a read-only folder...
void saveCheckpoint(const Session &session, const std::string &path, const Metadata &extra = {});

/// Continues from a checkpoint and returns its metadata. Throws, before anything is changed, where
/// it is damaged or of another model: the message names the first tensor that differs, is missing
/// or is unknown. The loss scale may be missing, and begins anew, or be there unneeded: so a
/// run goes on in another precision mode, where the types of its weights allow it.
Metadata restoreCheckpoint(Session &session, const std::string &path);

} // namespace halfstep::runtime

#endif
