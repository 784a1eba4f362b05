//===- Files.cpp - Files mapped, and files replaced as a whole --------------------------------===//
//
// POSIX: no standard library maps files, locks them or syncs a folder.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Files.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace halfstep::runtime {

Error systemError(const std::string &subject, const std::string &action) {
  return Error(subject, action + ": " + std::strerror(errno));
}

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  Descriptor old(number);
  number = other.release();
  return *this;
}

Descriptor::~Descriptor() {
  if (number >= 0)
    close(number);
}

int Descriptor::release() { return std::exchange(number, -1); }

//===------------------------------------------------------------------------------------------===//
// MappedFile
//===------------------------------------------------------------------------------------------===//

MappedFile MappedFile::open(const std::string &path) {
  // Not blocking, or opening a pipe would wait for its writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0)
    throw systemError(path, "cannot open");
  if (!S_ISREG(status.st_mode))
    throw Error(path, "is not a regular file");

  MappedFile mapped;
  mapped.name = path;
  if (status.st_size == 0)
    return mapped;
  void *base = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED)
    throw systemError(path, "cannot map");
  mapped.base = base;
  mapped.size = size_t(status.st_size);
  return mapped;
}

MappedFile::MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(base, other.base);
  std::swap(size, other.size);
  return *this;
}

MappedFile::~MappedFile() {
  if (base)
    munmap(base, size);
}

//===------------------------------------------------------------------------------------------===//
// ReplacedFile
//===------------------------------------------------------------------------------------------===//

// Opens and locks the part. Its last owner may have renamed or removed it between our opening and
// our locking it: then the lock is on a file that no longer has the name, and we try again.
static Descriptor openLocked(const std::string &path, const std::string &part) {
  while (true) {
    Descriptor file(
        open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (file.get() < 0)
      throw systemError(path, "cannot write");
    // File systems without locks report another error; there the rename alone has to do.
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw Error(path, "is being written by another process");

    struct stat locked, named;
    if (fstat(file.get(), &locked) != 0)
      throw systemError(path, "cannot write");
    if (stat(part.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
        locked.st_dev == named.st_dev)
      return file;
  }
}

// Where a path leads, through links whose target need not exist yet.
static std::string followLinks(const std::string &path) {
  std::filesystem::path target = std::filesystem::absolute(path);
  std::error_code error;
  // As many as the kernel follows.
  for (int links = 0; links < 40 && std::filesystem::is_symlink(target, error); ++links)
    target = target.parent_path() / std::filesystem::read_symlink(target);
  return target.string();
}

ReplacedFile::ReplacedFile(const std::string &path) : path(path), target(followLinks(path)) {
  struct stat status;
  if (stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error(path, "exists and is not a regular file");
  part = target + ".part";
  file = openLocked(path, part);
  if (ftruncate(file.get(), 0) != 0)
    throw systemError(path, "cannot write");
}

ReplacedFile::~ReplacedFile() {
  if (file.get() >= 0)
    unlink(part.c_str());
}

namespace {
// While this lives, a write beyond the user's file size limit (ulimit -f) fails, instead of also
// ending the process by a signal.
class SizeLimitAsError {
public:
  SizeLimitAsError() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
  }
  ~SizeLimitAsError() {
    constexpr timespec now{};
    if (!sigismember(&before, SIGXFSZ))
      sigtimedwait(&signals, nullptr, &now); // takes back a signal that is waiting
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  sigset_t signals, before;
};
} // namespace

void ReplacedFile::write(const void *data, size_t bytes) {
  SizeLimitAsError guard;
  auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(file.get(), next, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      throw systemError(path, "cannot write");
    next += written;
    bytes -= size_t(written);
  }
}

void ReplacedFile::commit() {
  if (fsync(file.get()) != 0)
    throw systemError(path, "cannot write");
  if (rename(part.c_str(), target.c_str()) != 0)
    throw systemError(path, "cannot replace");
  file = Descriptor();

  // The new name is safe on disk only when its folder is. Some file systems cannot sync folders.
  std::string folder = std::filesystem::path(target).parent_path().string();
  Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || (fsync(directory.get()) != 0 && errno != EINVAL))
    throw systemError(path, "cannot sync its folder");
}

} // namespace halfstep::runtime
