//===- Library.cpp - Shared libraries loaded on demand ----------------------------------------===//
//
// HALFSTEP_ONEDNN_ROOT is the folder (include/, lib/) that the build took oneDNN from: what a
// training executable finds on the machine where halfstep is installed.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Library.h"

#include <dlfcn.h>
#include <filesystem>
#include <sys/auxv.h>
#include <unistd.h>
#include <vector>

namespace halfstep::runtime {

std::string executablePath() {
  // A program that was deleted while it runs is still there under the link's own name.
  constexpr char link[] = "/proc/self/exe";
  std::error_code error;
  std::string path = std::filesystem::read_symlink(link, error).string();
  if (!error)
    return access(path.c_str(), R_OK) == 0 ? path : link;
  return reinterpret_cast<const char *>(getauxval(AT_EXECFN));
}

// The first folder that has the file; empty for none.
static std::string findFolder(const std::string &fileName) {
  std::error_code error;
  std::filesystem::path program = std::filesystem::canonical(executablePath(), error);
  std::vector<std::string> folders = {HALFSTEP_ONEDNN_ROOT "/lib"};
  if (!error)
    folders.insert(folders.begin(), {program.parent_path().string(),
                                     (program.parent_path() / "../lib/halfstep").string()});
  for (const std::string &folder : folders)
    if (access((folder + "/" + fileName).c_str(), R_OK) == 0)
      return folder;
  return "";
}

Library::Library(const std::string &fileName) {
  std::string folder = findFolder(fileName);
  std::string path = folder.empty() ? fileName : folder + "/" + fileName;
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    message = dlerror();
}

void *Library::address(const char *symbol) const {
  return handle ? dlsym(handle, symbol) : nullptr;
}

} // namespace halfstep::runtime
