//===- Library.cpp - Shared libraries loaded on demand ----------------------------------------===//
//
// Two folders are known from the build: where this build is installed to, and where the build took
// oneDNN from.
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
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  std::filesystem::path program = std::filesystem::canonical(executablePath(), error);
  if (!error)
    folders = {program.parent_path(), program.parent_path() / "../lib/halfstep"};
  folders.insert(folders.end(), {HALFSTEP_INSTALLED_LIBRARIES, HALFSTEP_BUILT_LIBRARIES});
  for (const std::filesystem::path &folder : folders)
    if (access((folder / fileName).c_str(), R_OK) == 0)
      return folder.string();
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
