//===- Safetensors.h - The safetensors file format ----------------------------------*- C++ -*-===//
//
// Reads and writes safetensors files: 8 bytes of header length, a JSON header, the tensors' bytes.
// Weights and checkpoints are stored in it because every framework can read it and a file can be
// mapped and checked before a byte of it is used.
// Format: https://github.com/huggingface/safetensors#format
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_SAFETENSORS_H
#define HALFSTEP_RUNTIME_SAFETENSORS_H

#include "runtime/Files.h"
#include "runtime/step_abi.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::runtime {

/// The string-to-string map that the format carries beside the tensors.
using Metadata = std::map<std::string, std::string>;

/// One tensor of a file: row-major, `bytes` = element count * element size. The data is not owned
/// and not necessarily aligned.
struct NamedTensor {
  std::string name;
  hs_type type;
  std::vector<int64_t> shape;
  const void *data;
  size_t bytes;
};

/// The checked contents of a safetensors file.
class Safetensors {
public:
  /// Maps and checks a file; the mapping lives as long as this object.
  static Safetensors open(const std::string &path);

  /// Checks bytes that the caller keeps alive; `name` stands for them in messages.
  static Safetensors parse(const std::string &name, std::string_view bytes);

  /// The file's name, for messages.
  const std::string &name() const { return source; }
  /// All tensors, sorted by name.
  const std::vector<NamedTensor> &tensors() const { return entries; }
  /// A tensor by name, or null.
  const NamedTensor *find(std::string_view name) const;
  const Metadata &metadata() const { return entriesMetadata; }

private:
  Safetensors() = default;

  std::optional<MappedFile> mapping;
  std::string source;
  std::vector<NamedTensor> entries;
  Metadata entriesMetadata;
};

/// Puts tensors into the order in which they are stored: larger elements first, so that every
/// tensor is aligned, then by name, so that equal contents give equal files.
void sortForStorage(std::vector<NamedTensor> &tensors);

/// The header, length field included, of a file holding `tensors` in this order; their data follows
/// it without gaps. Padded so that the data begins at a multiple of 64 bytes. Data pointers are not
/// read. Throws on a duplicate name.
std::string safetensorsHeader(const std::string &fileName, const std::vector<NamedTensor> &tensors,
                              const Metadata &metadata);

/// Writes a whole file, tensor by tensor.
void writeSafetensors(const std::string &path, std::vector<NamedTensor> tensors,
                      const Metadata &metadata);

} // namespace halfstep::runtime

#endif
