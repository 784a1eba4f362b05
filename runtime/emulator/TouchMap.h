//===- TouchMap.h - Who touched which byte within a launch --------------------------*- C++ -*-===//
//
// The last reader and writer of all memory that a launch touches, to tell when two threads that
// nothing orders meet. A page remembers pieces as small as its finest access, so that an access
// mostly finds one mark, whatever its width.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EMULATOR_TOUCHMAP_H
#define HALFSTEP_RUNTIME_EMULATOR_TOUCHMAP_H

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace halfstep::runtime {

/// Who makes an access: the thread's number in the grid; how many barriers there were, in all
/// blocks so far, now and when its block began; how often the thread has synchronised with lanes of
/// its warp, and with which last, a bit each. Blocks run one after the other.
struct Toucher {
  uint32_t thread, epoch, blockEpoch, warpEpoch, members;
};

class TouchMap {
public:
  static constexpr uint64_t pageBytes = 4096;
  class Page;

  /// The page of an address; stays where it is until the map is cleared.
  Page &page(uintptr_t address);
  void clear();

  /// Calls `f(begin, end, isRead, isWritten)` for all that was touched, in order of addresses.
  template <typename F> void forEachRange(F f) const;

private:
  std::vector<Page *> sorted() const;

  std::unordered_map<uintptr_t, Page *> pages;
  std::vector<std::unique_ptr<Page>> pool; // the first pages.size() of it are in use
};

class TouchMap::Page {
public:
  /// Notes an access within the page; the number of the thread it races with, if with any.
  std::optional<uint32_t> touch(uint32_t offset, uint32_t bytes, const Toucher &by, bool isStore) {
    uint32_t odd = (offset | bytes) & ((1u << shift) - 1);
    if (odd)
      refine(uint32_t(__builtin_ctz(odd)));
    Marks *mark = &marks[offset >> shift], *end = mark + (bytes >> shift);
    for (; mark != end; ++mark)
      if (!(isStore ? mark->store(by) : mark->load(by)))
        return isStore && mark->hasRacingReader(by) ? mark->reader.thread : mark->writer.thread;
    return std::nullopt;
  }

private:
  friend class TouchMap;
  struct Mark {
    uint32_t thread = 0, epoch = 0, warpEpoch = 0;
    /// Whether a barrier or a synchronisation of the warp lies between the two.
    bool isOrderedBefore(const Toucher &after) const {
      if (thread == after.thread)
        return true;
      if (epoch < after.blockEpoch)
        return false; // of another block
      bool isMember = thread / 32 == after.thread / 32 && (after.members >> thread % 32 & 1);
      return epoch != after.epoch || (isMember && warpEpoch != after.warpEpoch);
    }
  };
  struct Marks {
    Mark writer, reader;
    bool isWritten = false, isRead = false;
    // Besides `reader`: others that nothing has ordered since, or of another block.
    bool hasOtherReaders = false, hasForeignReaders = false;
    bool areOthersOfWarp = false; // if there are others: the reader's

    /// Whether other readers race with `by`, which is the reader's thread: neither a barrier nor,
    /// if they are of its warp, a synchronisation of all its lanes lies between.
    bool hasRacingOthers(const Toucher &by) const {
      constexpr uint32_t allLanes = ~uint32_t(0);
      bool isWarpOrdered =
          areOthersOfWarp && reader.warpEpoch != by.warpEpoch && by.members == allLanes;
      return hasOtherReaders && reader.epoch == by.epoch && !isWarpOrdered;
    }
    bool hasRacingReader(const Toucher &by) const {
      return isRead && (!reader.isOrderedBefore(by) || hasForeignReaders ||
                        (reader.thread == by.thread && hasRacingOthers(by)));
    }
    /// Whether nobody races with the access.
    bool store(const Toucher &by) {
      if ((isWritten && !writer.isOrderedBefore(by)) || hasRacingReader(by))
        return false;
      writer = {by.thread, by.epoch, by.warpEpoch};
      isWritten = true;
      return true;
    }
    bool load(const Toucher &by) {
      if (isWritten && !writer.isOrderedBefore(by))
        return false;
      if (isRead && reader.thread != by.thread) {
        hasForeignReaders |= reader.epoch < by.blockEpoch;
        bool isOfWarp = reader.thread / 32 == by.thread / 32;
        areOthersOfWarp = isOfWarp && (areOthersOfWarp || !hasOtherReaders);
        hasOtherReaders = !reader.isOrderedBefore(by);
      } else {
        hasOtherReaders = hasRacingOthers(by);
      }
      reader = {by.thread, by.epoch, by.warpEpoch};
      isRead = true;
      return true;
    }
  };
  static constexpr uint32_t untouched = 31;

  void begin(uintptr_t address) {
    this->address = address;
    shift = untouched;
    marks.clear();
  }
  /// Makes the pieces `1 << finer` bytes.
  void refine(uint32_t finer);

  uintptr_t address = 0;
  uint32_t shift = untouched;
  std::vector<Marks> marks; // of each piece
};

template <typename F> void TouchMap::forEachRange(F f) const {
  uintptr_t begin = 0, end = 0;
  bool isRead = false, isWritten = false;
  for (const Page *page : sorted())
    for (size_t i = 0; i < page->marks.size(); ++i) {
      const Page::Marks &marks = page->marks[i];
      if (!marks.isRead && !marks.isWritten)
        continue;
      uintptr_t at = page->address + (i << page->shift);
      if (at != end || marks.isRead != isRead || marks.isWritten != isWritten) {
        if (begin != end)
          f(begin, end, isRead, isWritten);
        begin = at;
        isRead = marks.isRead;
        isWritten = marks.isWritten;
      }
      end = at + (uintptr_t(1) << page->shift);
    }
  if (begin != end)
    f(begin, end, isRead, isWritten);
}

} // namespace halfstep::runtime

#endif
