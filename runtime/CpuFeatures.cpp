//===- CpuFeatures.cpp - What an artefact asks of the CPU -------------------------------------===//
//
// Asked of the compiler's runtime library, which also knows whether the operating system saves the
// wide registers. The builtin takes literals only.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/CpuFeatures.h"

namespace halfstep::runtime {

static bool hasCpuFeature(std::string_view name) {
#define FEATURE(NAME)                                                                              \
  if (name == NAME)                                                                                \
    return __builtin_cpu_supports(NAME);
  FEATURE("sse3")
  FEATURE("ssse3")
  FEATURE("sse4.1")
  FEATURE("sse4.2")
  FEATURE("popcnt")
  FEATURE("avx")
  FEATURE("avx2")
  FEATURE("fma")
  FEATURE("f16c")
  FEATURE("bmi")
  FEATURE("bmi2")
  FEATURE("lzcnt")
  FEATURE("movbe")
  FEATURE("avx512f")
  FEATURE("avx512bw")
  FEATURE("avx512cd")
  FEATURE("avx512dq")
  FEATURE("avx512vl")
  FEATURE("avx512fp16")
  FEATURE("avx512bf16")
#undef FEATURE
  return false;
}

std::string missingCpuFeatures(std::string_view features) {
  __builtin_cpu_init();
  std::string missing;
  while (!features.empty()) {
    size_t comma = features.find(',');
    std::string_view name = features.substr(0, comma);
    features.remove_prefix(comma == features.npos ? features.size() : comma + 1);
    if (!name.empty() && !hasCpuFeature(name))
      missing += (missing.empty() ? "" : ",") + std::string(name);
  }
  return missing;
}

} // namespace halfstep::runtime
