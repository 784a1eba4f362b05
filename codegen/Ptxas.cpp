//===- Ptxas.cpp - PTX as a device executes it ---------------------------------------------===//
//
// ptxas reports in lines of this form, in the order of the kernels:
//
//   ptxas info    : Compiling entry function 'relu' for 'sm_80'
//   ptxas info    : Function properties for relu
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 10 registers, used 1 barriers, 512 bytes smem, 368 bytes cmem[0]
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace halfstep::codegen;

/// The number in front of `unit`; 0 where there is none.
static unsigned numberBefore(StringRef line, StringRef unit) {
  auto [before, behind] = line.split(unit);
  unsigned number = 0;
  if (before.size() < line.size())
    before.rtrim().rsplit(' ').second.getAsInteger(10, number);
  return number;
}

static StringMap<KernelResources> parse(StringRef report) {
  StringMap<KernelResources> kernels;
  KernelResources *kernel = nullptr;
  for (StringRef line : split(report, '\n')) {
    if (line.contains("Compiling entry function '"))
      kernel = &kernels[line.split('\'').second.split('\'').first];
    if (!kernel)
      continue;
    kernel->spillBytes +=
        numberBefore(line, " bytes spill stores") + numberBefore(line, " bytes spill loads");
    if (line.contains("Used ")) {
      kernel->registers = numberBefore(line, " registers");
      kernel->sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return kernels;
}

Expected<Assembled> halfstep::codegen::assemble(StringRef ptx, const CudaTarget &target) {
  SmallString<128> source, report, result;
  int sourceFile;
  for (std::error_code error : {sys::fs::createTemporaryFile("halfstep", "ptx", sourceFile, source),
                                sys::fs::createTemporaryFile("halfstep", "txt", report),
                                sys::fs::createTemporaryFile("halfstep", "cubin", result)})
    if (error)
      return createStringError(error, "cannot make a temporary file: " + error.message());
  FileRemover removeSource(source), removeReport(report), removeResult(result);
  raw_fd_ostream stream(sourceFile, /*shouldClose=*/true);
  stream << ptx;
  stream.close();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    return createStringError(error, "cannot write '" + source + "': " + error.message());
  }
  std::string failure, architecture = "-arch=" + target.architecture;
  std::optional<StringRef> redirects[] = {StringRef(), report.str(), report.str()};
  int status = sys::ExecuteAndWait(
      target.ptxas, {target.ptxas, "-v", architecture, "-o", result, source}, std::nullopt,
      redirects, /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  auto text = MemoryBuffer::getFile(report);
  StringRef said = text ? (*text)->getBuffer() : "";
  if (status != 0)
    return createStringError("ptxas: " + (failure.empty() ? said.trim().str() : failure));
  auto cubin = MemoryBuffer::getFile(result, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!cubin)
    return createStringError(cubin.getError(), "cannot read '" + result + "'");
  return Assembled{(*cubin)->getBuffer().str(), parse(said)};
}
