//===- ProfileReport.h - A step's profile for people and programs ---------===//

#ifndef HALFSTEP_TOOLS_PROFILEREPORT_H
#define HALFSTEP_TOOLS_PROFILEREPORT_H

#include "codegen/Profile.h"
#include "llvm/Support/raw_ostream.h"

namespace halfstep {

/// A table for each program, then the step's sum and a line for each device.
void printProfile(const codegen::Profile &profile, llvm::raw_ostream &os);

/// The same as JSON; docs/profile.md describes the form.
void printProfileJson(const codegen::Profile &profile, const codegen::Target &target,
                      llvm::raw_ostream &os);

} // namespace halfstep

#endif
