//===- Description.h - What --describe prints ---------------------------------------*- C++ -*-===//
//
// What `OUT --describe` prints of an artefact.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_DESCRIPTION_H
#define HALFSTEP_RUNTIME_DESCRIPTION_H

#include "runtime/step_abi.h"

#include <string>

namespace halfstep::runtime {

/// Recipe, sizes, inputs and named tensors with role, type and shape, as text for people.
std::string describeArtefact(const hs_artefact &artefact);

} // namespace halfstep::runtime

#endif
