//===- Safetensors.cpp - The safetensors file format ------------------------------------------===//
//
// The reader trusts nothing: every number is checked against the file before it is used, names must
// be unique, and the tensors must cover the data section exactly, as the format demands. A file cut
// short anywhere is therefore always noticed.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Safetensors.h"

#include "runtime/Types.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

namespace halfstep::runtime {

using nlohmann::json;

// The bound that the format's own reader has.
static constexpr uint64_t largestHeader = 100'000'000;

static constexpr char metadataKey[] = "__metadata__";

namespace {

// Parses one header. Every function throws an Error about the file.
class HeaderParser {
public:
  HeaderParser(const std::string &source, std::string_view bytes) : source(source), bytes(bytes) {}

  void parse(std::vector<NamedTensor> &tensors, Metadata &metadata);

private:
  std::string_view headerText();
  json parseJson(std::string_view text);
  void parseMetadata(const json &value, Metadata &metadata);
  NamedTensor parseTensor(const std::string &name, const json &value);
  void checkCoverage(std::vector<NamedTensor> tensors);

  Error damaged(const std::string &what) const {
    return Error(source, what).help("the file is damaged or no safetensors file");
  }
  Error damaged(const std::string &name, const std::string &what) const {
    return damaged("tensor " + json(name).dump() + ": " + what);
  }

  const std::string &source;
  std::string_view bytes; // first the file, then its data section
};

} // namespace

void HeaderParser::parse(std::vector<NamedTensor> &tensors, Metadata &metadata) {
  json header = parseJson(headerText());
  for (const auto &[name, value] : header.items()) {
    if (name == metadataKey)
      parseMetadata(value, metadata);
    else
      tensors.push_back(parseTensor(name, value));
  }
  checkCoverage(tensors);
}

// Splits the file into header and data.
std::string_view HeaderParser::headerText() {
  uint64_t length;
  if (bytes.size() < sizeof length)
    throw damaged("is too short for a safetensors header");
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length > largestHeader || length > bytes.size())
    throw damaged("announces a header of " + std::to_string(length) + " bytes, has " +
                  std::to_string(bytes.size()));
  std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return text;
}

// The library keeps the last of two equal keys; a file that has such was not written by a sane
// program, so they are refused.
json HeaderParser::parseJson(std::string_view text) {
  std::set<std::string> names;
  std::string duplicate;
  auto noteName = [&](int depth, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  json header = json::parse(text.begin(), text.end(), noteName, /*allow_exceptions=*/false);
  if (!header.is_object())
    throw damaged("its header is not a JSON object");
  if (!duplicate.empty())
    throw damaged(duplicate, "appears twice");
  return header;
}

void HeaderParser::parseMetadata(const json &value, Metadata &metadata) {
  if (!value.is_object())
    throw damaged("its metadata is not a JSON object");
  for (const auto &[key, text] : value.items()) {
    if (!text.is_string())
      throw damaged("its metadata " + json(key).dump() + " is not a string");
    metadata[key] = text;
  }
}

NamedTensor HeaderParser::parseTensor(const std::string &name, const json &value) {
  auto isList = [&](const char *key) {
    return value.is_object() && value.contains(key) && value[key].is_array() &&
           std::all_of(value[key].begin(), value[key].end(),
                       [](const json &number) { return number.is_number_unsigned(); });
  };
  if (!isList("shape") || !isList("data_offsets") || value["data_offsets"].size() != 2 ||
      !value.contains("dtype") || !value["dtype"].is_string())
    throw damaged(name, "has no valid dtype, shape and data_offsets");

  std::string typeName = value["dtype"];
  std::optional<hs_type> type = typeOfSafetensorsName(typeName);
  if (!type)
    throw Error(source,
                "tensor " + json(name).dump() + " has the unknown type " + json(typeName).dump());

  NamedTensor tensor{name, *type, {}, nullptr, elementBytes(*type)};
  bool isValid = true, overflow = false, isEmpty = false;
  for (uint64_t extent : value["shape"]) {
    isValid &= extent <= uint64_t(INT64_MAX);
    isEmpty |= extent == 0;
    overflow |= __builtin_mul_overflow(tensor.bytes, extent, &tensor.bytes);
    tensor.shape.push_back(int64_t(extent));
  }
  if (isEmpty)
    tensor.bytes = 0;
  else
    isValid &= !overflow;
  if (!isValid)
    throw damaged(name, "has a shape too large to be true");

  uint64_t begin = value["data_offsets"][0], end = value["data_offsets"][1];
  if (begin > end || end > bytes.size())
    throw damaged(name, "lies outside the file: it ends at byte " + std::to_string(end) +
                            " of the data, which has " + std::to_string(bytes.size()));
  if (end - begin != tensor.bytes)
    throw damaged(name, "has " + std::to_string(end - begin) + " bytes, " +
                            describe(tensor.type, tensor.shape) + " takes " +
                            std::to_string(tensor.bytes));
  tensor.data = bytes.data() + begin;
  return tensor;
}

void HeaderParser::checkCoverage(std::vector<NamedTensor> tensors) {
  auto begin = [](const NamedTensor &tensor) { return static_cast<const char *>(tensor.data); };
  std::sort(tensors.begin(), tensors.end(), [&](const NamedTensor &a, const NamedTensor &b) {
    return std::make_pair(begin(a), a.bytes) < std::make_pair(begin(b), b.bytes);
  });
  const char *next = bytes.data();
  for (const NamedTensor &tensor : tensors) {
    if (begin(tensor) != next)
      throw damaged(tensor.name, begin(tensor) < next ? "overlaps another tensor"
                                                      : "has unused bytes before it");
    next += tensor.bytes;
  }
  if (next != bytes.data() + bytes.size())
    throw damaged("has " + std::to_string(bytes.data() + bytes.size() - next) +
                  " bytes behind its last tensor");
}

//===------------------------------------------------------------------------------------------===//
// Safetensors
//===------------------------------------------------------------------------------------------===//

Safetensors Safetensors::open(const std::string &path) {
  MappedFile file = MappedFile::open(path);
  Safetensors contents = parse(path, file.bytes());
  contents.mapping = std::move(file);
  return contents;
}

Safetensors Safetensors::parse(const std::string &name, std::string_view bytes) {
  Safetensors contents;
  contents.source = name;
  HeaderParser(contents.source, bytes).parse(contents.entries, contents.entriesMetadata);
  return contents;
}

const NamedTensor *Safetensors::find(std::string_view name) const {
  // JSON objects are iterated in the order of their keys.
  auto entry = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const NamedTensor &tensor, std::string_view name) { return tensor.name < name; });
  return entry != entries.end() && entry->name == name ? &*entry : nullptr;
}

//===------------------------------------------------------------------------------------------===//
// Writing
//===------------------------------------------------------------------------------------------===//

void sortForStorage(std::vector<NamedTensor> &tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const NamedTensor &a, const NamedTensor &b) {
    size_t sizeOfA = elementBytes(a.type), sizeOfB = elementBytes(b.type);
    return sizeOfA != sizeOfB ? sizeOfA > sizeOfB : a.name < b.name;
  });
}

std::string safetensorsHeader(const std::string &fileName, const std::vector<NamedTensor> &tensors,
                              const Metadata &metadata) {
  json header = json::object();
  if (!metadata.empty())
    header[metadataKey] = metadata;
  size_t offset = 0;
  for (const NamedTensor &tensor : tensors) {
    if (header.contains(tensor.name))
      throw Error(fileName, "would hold two tensors named '" + tensor.name + "'");
    header[tensor.name] = {{"dtype", safetensorsName(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }

  std::string text;
  try {
    text = header.dump();
  } catch (const json::type_error &) {
    throw Error(fileName, "a tensor's name is not valid UTF-8");
  }
  uint64_t length;
  while ((sizeof length + text.size()) % 64 != 0)
    text += ' ';
  length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), sizeof length) + text;
}

void writeSafetensors(const std::string &path, std::vector<NamedTensor> tensors,
                      const Metadata &metadata) {
  sortForStorage(tensors);
  std::string header = safetensorsHeader(path, tensors, metadata);
  ReplacedFile file(path);
  file.write(header.data(), header.size());
  for (const NamedTensor &tensor : tensors)
    file.write(tensor.data, tensor.bytes);
  file.commit();
}

} // namespace halfstep::runtime
