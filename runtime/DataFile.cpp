//===- DataFile.cpp - A mapped file of samples ------------------------------------------------===//

#include "runtime/DataFile.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace halfstep::runtime {

DataFile::DataFile(const std::string &path)
    : file(MappedFile::open(path)), descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      npy(parseNpyHeader(path, file.bytes())) {
  if (descriptor.get() < 0)
    throw systemError(path, "cannot be opened");
}

void DataFile::checkComplete() const {
  struct stat status;
  if (fstat(descriptor.get(), &status) != 0)
    throw systemError(path(), "cannot be read");
  if (size_t(status.st_size) < file.bytes().size())
    throw Error(path(), "it was truncated while it was in use, from " +
                            std::to_string(file.bytes().size()) + " to " +
                            std::to_string(status.st_size) + " bytes")
        .help("write data files aside and rename them; what was computed since is not kept");
}

namespace {

std::atomic<bool> pageLost{false};
static_assert(decltype(pageLost)::is_always_lock_free); // so that a handler may write it
struct sigaction previousAction;
int livingGuards = 0;

/// Replaces the page that cannot be read by one of zeros and lets the thread go on. A SIGBUS that
/// is not about a missing page, or not mendable, takes its usual course when the instruction is
/// retried.
void replaceLostPage(int, siginfo_t *info, void *) {
  uintptr_t pageBytes = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t page = uintptr_t(info->si_addr) & ~(pageBytes - 1);
  void *mended = MAP_FAILED;
  if (info->si_code == BUS_ADRERR)
    mended = mmap(reinterpret_cast<void *>(page), pageBytes, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (mended == MAP_FAILED)
    sigaction(SIGBUS, &previousAction, nullptr);
  else
    pageLost = true;
}

} // namespace

LostPages::LostPages() {
  if (livingGuards++ > 0)
    return;
  pageLost = false;
  struct sigaction action = {};
  action.sa_sigaction = replaceLostPage;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO; // see SignalStack.h
  sigaction(SIGBUS, &action, &previousAction);
}

LostPages::~LostPages() {
  if (--livingGuards == 0)
    sigaction(SIGBUS, &previousAction, nullptr);
}

bool LostPages::occurred() { return pageLost.load(std::memory_order_relaxed); }

} // namespace halfstep::runtime
