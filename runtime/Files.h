//===- Files.h - Files mapped, and files replaced as a whole ------------------------*- C++ -*-===//
//
// Files as the runtime needs them: mapped for reading, and replaced as a whole for writing.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_FILES_H
#define HALFSTEP_RUNTIME_FILES_H

#include "runtime/Error.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace halfstep::runtime {

/// Owns a file descriptor.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor();

  int get() const { return number; }
  int release();

private:
  int number;
};

/// Bytes of a regular file, mapped read-only: pages that nobody reads cost nothing.
class MappedFile {
public:
  /// Maps the whole file. Throws where it cannot be opened or is not a regular file.
  static MappedFile open(const std::string &path);

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::string &path() const { return name; }
  std::string_view bytes() const { return {static_cast<const char *>(base), size}; }

private:
  MappedFile() = default;

  std::string name;
  void *base = nullptr;
  size_t size = 0;
};

/// A file that appears under its name only when it is complete: written to PATH.part beside it,
/// synced, renamed. Until `commit` returns, an older file of that name stays as it was; without
/// `commit` the part is removed. The lock on the part keeps two writers of one path apart.
class ReplacedFile {
public:
  /// Throws where the folder cannot be written to, the path exists and is not a regular file, or
  /// somebody else is writing it. A symbolic link is followed.
  explicit ReplacedFile(const std::string &path);
  ReplacedFile(const ReplacedFile &) = delete;
  ReplacedFile &operator=(const ReplacedFile &) = delete;
  ~ReplacedFile();

  void write(const void *data, size_t bytes);
  void commit();

private:
  std::string path; // as the user wrote it
  std::string target, part;
  Descriptor file;
};

} // namespace halfstep::runtime

#endif
