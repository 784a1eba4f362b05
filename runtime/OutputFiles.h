//===- OutputFiles.h - Where results may go -----------------------------------------*- C++ -*-===//
//
// Checks of where results go, made before anything is computed.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_OUTPUTFILES_H
#define HALFSTEP_RUNTIME_OUTPUTFILES_H

#include <string>
#include <vector>

namespace halfstep::runtime {

/// True if both name the same file: the same device and inode or, where one does not exist yet, the
/// same place in the same folder.
bool isSameFile(const std::string &a, const std::string &b);

/// Throws (wrong usage) if the output `path` of `option` is one of `inputs`, in which empty names
/// stand for inputs that are not read.
void checkIsNoInput(const std::string &option, const std::string &path,
                    const std::vector<std::string> &inputs);

} // namespace halfstep::runtime

#endif
