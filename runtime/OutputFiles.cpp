//===- OutputFiles.cpp - Where results may go -------------------------------------------------===//

#include "runtime/OutputFiles.h"

#include "runtime/Error.h"

#include <filesystem>
#include <sys/stat.h>

namespace halfstep::runtime {

/// The absolute path without links, as far as its folders exist.
static std::filesystem::path resolve(const std::string &path) {
  std::filesystem::path absolute = std::filesystem::absolute(path);
  std::error_code unresolvable; // leaves the path as it is
  std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute, unresolvable);
  return unresolvable ? absolute : resolved;
}

bool isSameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  if (stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0)
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  return resolve(a) == resolve(b);
}

void checkIsNoInput(const std::string &option, const std::string &path,
                    const std::vector<std::string> &inputs) {
  for (const std::string &input : inputs)
    if (!input.empty() && isSameFile(path, input)) {
      Error error(option, path + " is also read: it would be overwritten");
      if (path != input)
        error.detail("it is the same file as " + input);
      throw error.exitWith(2);
    }
}

} // namespace halfstep::runtime
