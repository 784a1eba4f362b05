//===- Link.h - object code into what can be loaded and run --------------------------------===//

#ifndef HALFSTEP_CODEGEN_LINK_H
#define HALFSTEP_CODEGEN_LINK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace halfstep::codegen {

/// Links an object file into a shared object without the C library, and gives its bytes. The
/// functions that it does not define are left to the process that loads it.
llvm::Expected<std::string> linkShared(llvm::StringRef object);

/// What is behind the runner in a training executable, see runtime/Payload.h.
struct ExecutableParts {
  llvm::StringRef artefact;
  llvm::StringRef cudaArtefact; ///< a second one; may be empty
  llvm::StringRef weights;      ///< a safetensors file
};

/// Writes the training executable `path`. The file is complete or not there.
llvm::Error writeExecutable(llvm::StringRef path, const ExecutableParts &parts,
                            llvm::StringRef runnerPath);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_LINK_H
