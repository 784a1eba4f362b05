//===- Library.h - Shared libraries loaded on demand --------------------------------*- C++ -*-===//
//
// Shared libraries that are loaded only when a plan needs them, and where they are looked for.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_LIBRARY_H
#define HALFSTEP_RUNTIME_LIBRARY_H

#include <string>

namespace halfstep::runtime {

/// The path of the running program; where /proc is not mounted, the one it was started by.
std::string executablePath();

/// A library that stays loaded to the end of the process.
class Library {
public:
  /// Tries the folder of the running program, ../lib/halfstep beside it, where halfstep is
  /// installed and what it was built with, then the system's search path.
  explicit Library(const std::string &fileName);

  bool isLoaded() const { return handle != nullptr; }
  /// What the loader said, if it is not loaded.
  const std::string &reason() const { return message; }

  /// Sets `function` to a symbol; null and false where it is missing.
  template <typename Function> bool resolve(const char *symbol, Function *&function) const {
    function = reinterpret_cast<Function *>(address(symbol));
    return function != nullptr;
  }

private:
  void *address(const char *symbol) const;

  void *handle = nullptr;
  std::string message;
};

} // namespace halfstep::runtime

#endif
