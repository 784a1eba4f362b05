//===- Payload.h - What a training executable carries -------------------------------*- C++ -*-===//
//
// What a training executable carries behind the runner's own bytes, and how it is loaded.
//
//   [runner] [artefact: a shared object] [another one, for CUDA] [weights: a safetensors file]
//   [trailer: 64 bytes]
//
// Each begins at a multiple of 4096 bytes, so that it can be mapped; the second artefact is there
// where a model was compiled for CPU and CUDA. Code
// generation writes the trailer; this header is part of the contract as step_abi.h is.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_PAYLOAD_H
#define HALFSTEP_RUNTIME_PAYLOAD_H

#include "runtime/Device.h"
#include "runtime/Safetensors.h"
#include "runtime/step_abi.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace halfstep::runtime {

inline constexpr char payloadMagic[] = "HALFSTEP-PAYLOAD"; // 16 characters
inline constexpr uint64_t payloadVersion = 1;
inline constexpr uint64_t payloadAlignment = 4096;

/// The last 64 bytes of a training executable, little-endian.
struct PayloadTrailer {
  char magic[16];
  uint64_t version;
  uint64_t artefactOffset, artefactBytes;
  uint64_t weightsOffset, weightsBytes;
  uint64_t cudaBytes; // of the second artefact; 0: there is none
};
static_assert(sizeof(PayloadTrailer) == 64);

/// A loaded artefact: its code is mapped as long as this object lives.
class Artefact {
public:
  /// Loads a shared object from memory. Throws where it is damaged, speaks another version of the
  /// ABI, or needs CPU features that this machine lacks. `name` stands for it in messages.
  static std::shared_ptr<const Artefact> load(const std::string &name, std::string_view object);

  Artefact(const Artefact &) = delete;
  Artefact &operator=(const Artefact &) = delete;
  ~Artefact();

  const std::string &name() const { return source; }
  const hs_artefact &tables() const { return *artefact; }

private:
  Artefact() = default;

  std::string source;
  Descriptor file; // of the object in memory; open as long as the library is
  void *library = nullptr;
  const hs_artefact *artefact = nullptr;
};

/// An artefact and the weights it starts from.
struct Payload {
  /// Opens a training executable ("/proc/self/exe" for the running one), or a shared object as
  /// `--emit shared` writes it, which may come without weights.
  /// Of two artefacts it loads the one that `choice` needs; by itself the one for CUDA where there
  /// is a device.
  static Payload open(const std::string &path, const DeviceChoice &choice = {});

  std::shared_ptr<const Artefact> artefact;
  std::optional<Safetensors> weights; // a view into `file`
  MappedFile file;
};

} // namespace halfstep::runtime

#endif
