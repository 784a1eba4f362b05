//===- PtxEntries.cpp - What a module's PTX declares ------------------------------------------===//

#include "runtime/emulator/PtxEntries.h"

#include "runtime/Error.h"

#include <cctype>
#include <cstdlib>

namespace halfstep::runtime {

static std::string nextWord(const std::string &text, size_t &at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
    ++at;
  size_t begin = at;
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                              text[at] == '_' || text[at] == '$' || text[at] == '.'))
    ++at;
  return text.substr(begin, at - begin);
}

/// The product of up to three numbers: `.maxntid 16, 16, 1`.
static uint32_t threadsOf(const std::string &text, size_t at) {
  uint32_t product = 1;
  const char *from = text.c_str() + at;
  for (;;) {
    char *end;
    unsigned long value = std::strtoul(from, &end, 10);
    if (end == from)
      return product;
    product *= uint32_t(value);
    while (std::isspace(static_cast<unsigned char>(*end)))
      ++end;
    if (*end != ',')
      return product;
    from = end + 1;
  }
}

static PtxEntry parseEntry(const std::string &ptx, size_t at) {
  PtxEntry entry;
  entry.name = nextWord(ptx, at);
  size_t body = ptx.find('{', at), open = ptx.find('(', at);
  size_t close = ptx.find(')', at);
  if (entry.name.empty() || body == std::string::npos)
    throw Error("PTX", "an entry has no name or no body");
  if (open < body) {
    if (close > body)
      throw Error("PTX", "the parameters of " + entry.name + " do not end");
    const std::string parameters = ptx.substr(open, close - open), word = ".param";
    for (size_t i = parameters.find(word); i != std::string::npos;
         i = parameters.find(word, i + 1)) {
      size_t type = i + word.size();
      std::string name = nextWord(parameters, type);
      if (name != ".u64" && name != ".b64" && name != ".s64")
        throw Error("PTX", "a parameter of " + entry.name + " is " + name +
                               "; emulated kernels have parameters of 64 bits only");
      ++entry.parameters;
    }
  }
  const std::string word = ".maxntid";
  if (size_t limit = ptx.find(word, at); limit < body)
    entry.maxThreads = threadsOf(ptx, limit + word.size());
  return entry;
}

std::vector<PtxEntry> parsePtxEntries(const std::string &ptx) {
  if (ptx.find(".version") == std::string::npos || ptx.find(".target") == std::string::npos)
    throw Error("PTX", "the text names neither version nor target");
  std::vector<PtxEntry> entries;
  const std::string word = ".visible .entry";
  for (size_t i = ptx.find(word); i != std::string::npos; i = ptx.find(word, i + 1))
    entries.push_back(parseEntry(ptx, i + word.size()));
  return entries;
}

} // namespace halfstep::runtime
