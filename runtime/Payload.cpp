//===- Payload.cpp - What a training executable carries ---------------------------------------===//
//
// A shared object in the middle of a file cannot be loaded by the system's loader, so it is copied
// into a file that exists in memory only. Where neither that nor /proc is to be had (a bare
// container), a temporary file that loses its name at once takes its place.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Payload.h"

#include "runtime/CpuFeatures.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace halfstep::runtime {

//===------------------------------------------------------------------------------------------===//
// Artefact
//===------------------------------------------------------------------------------------------===//

static Error damaged(const std::string &name, const std::string &what) {
  return Error(name, what).help("the file is damaged; compile it again");
}

// The system's loader trusts the object: make sure that it is whole.
static void checkObject(const std::string &name, std::string_view object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof header)
    throw damaged(name, "has no compiled code");
  std::memcpy(&header, object.data(), sizeof header);
  constexpr char expected[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB};
  uint64_t segments = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  if (std::memcmp(header.e_ident, expected, sizeof expected) != 0 || header.e_type != ET_DYN ||
      header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phoff > object.size() || segments > object.size() - header.e_phoff)
    throw damaged(name, "its compiled code is no x86-64 shared object");
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, object.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_offset > object.size() || segment.p_filesz > object.size() - segment.p_offset)
      throw damaged(name, "its compiled code is cut short");
  }
}

static bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0)
      return false;
    bytes.remove_prefix(size_t(written));
  }
  return true;
}

// Loads through a file in memory. The descriptor stays open with the library: the loader takes two
// libraries of one path for one, and a closed descriptor's number, hence its path, is used again.
static void *loadFromMemory(std::string_view object, Descriptor &file) {
  file = Descriptor(memfd_create("halfstep", MFD_CLOEXEC));
  std::string path = "/proc/self/fd/" + std::to_string(file.get());
  if (file.get() < 0 || access(path.c_str(), R_OK) != 0 || !writeAll(file.get(), object))
    return nullptr;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

static void *loadFromTemporaryFile(std::string_view object) {
  const char *chosen = getenv("TMPDIR");
  for (const char *folder : {chosen ? chosen : "/tmp", "/var/tmp", "/dev/shm", "."}) {
    std::string path = std::string(folder) + "/halfstep-XXXXXX";
    Descriptor file(mkstemp(path.data()));
    if (file.get() < 0)
      continue;
    void *library =
        writeAll(file.get(), object) ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path.c_str());
    if (library)
      return library;
  }
  return nullptr;
}

std::shared_ptr<const Artefact> Artefact::load(const std::string &name, std::string_view object) {
  checkObject(name, object);
  // Kernels call libm without naming it; a host program may have it out of sight.
  dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);

  std::shared_ptr<Artefact> loaded(new Artefact);
  loaded->source = name;
  loaded->library = loadFromMemory(object, loaded->file);
  if (!loaded->library)
    loaded->library = loadFromTemporaryFile(object);
  if (!loaded->library) {
    const char *reason = dlerror();
    throw Error(name, "its compiled code cannot be loaded")
        .detail(reason ? reason : "neither memory files nor a temporary folder can be used")
        .help("set TMPDIR to a folder that files can be executed from");
  }

  auto *query =
      reinterpret_cast<halfstep_query_function>(dlsym(loaded->library, HALFSTEP_QUERY_SYMBOL));
  if (!query)
    throw Error(name, "is not a training executable")
        .help("make one with: halfstep compile MODEL.onnx -o OUT");
  loaded->artefact = query(HALFSTEP_ABI_VERSION);
  if (!loaded->artefact || loaded->artefact->abi_version != HALFSTEP_ABI_VERSION)
    throw Error(name, "was compiled by another version of halfstep")
        .help("compile it again with this one");

  std::string missing = missingCpuFeatures(loaded->artefact->cpu_features);
  if (!missing.empty())
    throw Error(name, "was compiled for another CPU; this one lacks " + missing)
        .help("compile it here, or with --cpu x86-64-v3 for every CPU with AVX2");
  return loaded;
}

Artefact::~Artefact() {
  if (library)
    dlclose(library);
}

//===------------------------------------------------------------------------------------------===//
// Payload
//===------------------------------------------------------------------------------------------===//

static std::string_view section(const std::string &path, std::string_view bytes, uint64_t offset,
                                uint64_t size) {
  uint64_t end = bytes.size() - sizeof(PayloadTrailer);
  if (offset % payloadAlignment != 0 || offset > end || size > end - offset)
    throw damaged(path, "its payload lies outside the file");
  return bytes.substr(offset, size);
}

Payload Payload::open(const std::string &path, const DeviceChoice &choice) {
  MappedFile file = MappedFile::open(path);
  std::string_view bytes = file.bytes();

  PayloadTrailer trailer{};
  if (bytes.size() >= sizeof trailer)
    std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof trailer, sizeof trailer);
  if (std::memcmp(trailer.magic, payloadMagic, sizeof trailer.magic) != 0)
    return {Artefact::load(path, bytes), std::nullopt, std::move(file)};

  if (trailer.version != payloadVersion)
    throw Error(path, "was made by another version of halfstep")
        .help("compile it again with this one");
  std::string_view object = section(path, bytes, trailer.artefactOffset, trailer.artefactBytes);
  if (trailer.cudaBytes) {
    uint64_t end = trailer.artefactOffset + trailer.artefactBytes;
    uint64_t begin = (end + payloadAlignment - 1) / payloadAlignment * payloadAlignment;
    std::string_view forCuda = section(path, bytes, begin, trailer.cudaBytes);
    if (takesCuda(choice))
      object = forCuda;
  }
  std::string_view weights = section(path, bytes, trailer.weightsOffset, trailer.weightsBytes);
  return {Artefact::load(path, object), Safetensors::parse(path, weights), std::move(file)};
}

} // namespace halfstep::runtime
