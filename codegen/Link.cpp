//===- Link.cpp - object code into what can be loaded and run ------------------------------===//

#include "codegen/Link.h"
#include "runtime/Payload.h"

#include "llvm/Support/Alignment.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;

/// The whole content of a file.
static Expected<std::string> readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read '" + path + "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Expected<std::string> halfstep::codegen::linkShared(StringRef object) {
  ErrorOr<std::string> linker = sys::findProgramByName("ld.lld-19");
  if (!linker)
    linker = sys::findProgramByName("ld.lld", {"/usr/lib/llvm-19/bin"});
  if (!linker)
    return createStringError("the linker ld.lld-19 is not there: install the package lld-19");

  SmallString<128> input, output, messages;
  int inputFile;
  for (auto [path, suffix] : {std::pair(&output, "so"), {&messages, "txt"}})
    if (std::error_code error = sys::fs::createTemporaryFile("halfstep", suffix, *path))
      return createStringError(error, "cannot make a temporary file: " + error.message());
  FileRemover removeOutput(output), removeMessages(messages);
  if (std::error_code error = sys::fs::createTemporaryFile("halfstep", "o", inputFile, input))
    return createStringError(error, "cannot make a temporary file: " + error.message());
  FileRemover removeInput(input);
  raw_fd_ostream stream(inputFile, /*shouldClose=*/true);
  stream << object;
  stream.close();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    return createStringError(error, "cannot write '" + input + "': " + error.message());
  }

  std::string failure;
  std::optional<StringRef> redirects[] = {StringRef(), messages.str(), messages.str()};
  int status = sys::ExecuteAndWait(
      *linker, {*linker, "-shared", "--hash-style=gnu", "-z", "noexecstack", "-o", output, input},
      std::nullopt, redirects, /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  if (status == 0)
    return readFile(output);
  if (Expected<std::string> text = readFile(messages))
    failure += StringRef(*text).trim();
  else
    consumeError(text.takeError());
  return createStringError("linking the kernels failed: " + failure);
}

Error halfstep::codegen::writeExecutable(StringRef path, const ExecutableParts &parts,
                                         StringRef runnerPath) {
  Expected<std::string> runner = readFile(runnerPath);
  if (!runner)
    return runner.takeError();
  auto align = [](uint64_t offset) { return alignTo(offset, Align(runtime::payloadAlignment)); };
  runtime::PayloadTrailer trailer{};
  std::memcpy(trailer.magic, runtime::payloadMagic, sizeof trailer.magic);
  trailer.version = runtime::payloadVersion;
  trailer.artefactOffset = align(runner->size());
  trailer.artefactBytes = parts.artefact.size();
  uint64_t cudaOffset = align(trailer.artefactOffset + parts.artefact.size());
  trailer.cudaBytes = parts.cudaArtefact.size();
  trailer.weightsOffset = align(cudaOffset + parts.cudaArtefact.size());
  trailer.weightsBytes = parts.weights.size();

  // Written aside and renamed: whoever runs `path` meanwhile sees the old file or the new one.
  Expected<sys::fs::TempFile> file = sys::fs::TempFile::create(path + ".%%%%%%.tmp", 0777);
  if (!file)
    return file.takeError();
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << *runner;
  auto writeAt = [&](uint64_t offset, StringRef bytes) {
    stream.write_zeros(offset - stream.tell());
    stream << bytes;
  };
  writeAt(trailer.artefactOffset, parts.artefact);
  writeAt(cudaOffset, parts.cudaArtefact);
  writeAt(trailer.weightsOffset, parts.weights);
  stream.write(reinterpret_cast<const char *>(&trailer), sizeof trailer);
  stream.flush();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    consumeError(file->discard());
    return createStringError(error, "cannot write '" + path + "': " + error.message());
  }
  return file->keep(path);
}
