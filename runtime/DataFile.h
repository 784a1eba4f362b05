//===- DataFile.h - A mapped file of samples ----------------------------------------*- C++ -*-===//
//
// A .npy file with samples, mapped rather than read.
//
// A mapped file can be truncated by somebody else while it is in use: reading a page beyond its new
// end raises SIGBUS, and the rest of its last page silently reads as zeros. Both are answered here:
// `LostPages` turns the signal into a flag that the loops check after each step, and
// `checkComplete`, called before any result is kept, compares the file's size. A system call before
// each batch would be simpler, but slower than a small step, and still racy.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_DATAFILE_H
#define HALFSTEP_RUNTIME_DATAFILE_H

#include "runtime/Files.h"
#include "runtime/Npy.h"

namespace halfstep::runtime {

class DataFile {
public:
  /// Maps `path` and checks its header; throws as MappedFile and parseNpyHeader do.
  explicit DataFile(const std::string &path);

  const std::string &path() const { return file.path(); }
  const NpyHeader &header() const { return npy; }
  /// The first element; not necessarily aligned.
  const char *elements() const { return file.bytes().data() + npy.dataOffset; }

  /// Throws if the file has become shorter since it was mapped.
  void checkComplete() const;

private:
  MappedFile file;
  Descriptor descriptor; // of the same file, to ask for its size
  NpyHeader npy;
};

/// While objects of this class live, reading a page of a mapped file that is no longer there gives
/// zeros and makes `occurred` true, in whatever thread. To be made and destroyed by one thread.
class LostPages {
public:
  LostPages();
  LostPages(const LostPages &) = delete;
  LostPages &operator=(const LostPages &) = delete;
  ~LostPages();

  /// Since the first of the living objects was made.
  static bool occurred();
};

} // namespace halfstep::runtime

#endif
