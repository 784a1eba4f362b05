//===- TouchMap.cpp - Who touched which byte within a launch ----------------------------------===//

#include "runtime/emulator/TouchMap.h"

#include <algorithm>

namespace halfstep::runtime {

TouchMap::Page &TouchMap::page(uintptr_t address) {
  Page *&page = pages[address / pageBytes];
  if (!page) {
    if (pool.size() < pages.size())
      pool.push_back(std::make_unique<Page>());
    page = pool[pages.size() - 1].get();
    page->begin(address / pageBytes * pageBytes);
  }
  return *page;
}

void TouchMap::clear() { pages.clear(); }

std::vector<TouchMap::Page *> TouchMap::sorted() const {
  std::vector<Page *> all;
  for (const auto &entry : pages)
    all.push_back(entry.second);
  std::sort(all.begin(), all.end(),
            [](const Page *a, const Page *b) { return a->address < b->address; });
  return all;
}

void TouchMap::Page::refine(uint32_t finer) {
  if (shift == untouched) {
    marks.assign(pageBytes >> finer, {});
    shift = finer;
    return;
  }
  uint32_t copies = 1u << (shift - finer);
  std::vector<Marks> refined;
  refined.reserve(marks.size() * copies);
  for (const Marks &each : marks)
    refined.insert(refined.end(), copies, each);
  marks = std::move(refined);
  shift = finer;
}

} // namespace halfstep::runtime
