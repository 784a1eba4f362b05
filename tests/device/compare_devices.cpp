//===- compare_devices.cpp - A step on two devices, entry by entry ----------------------------===//
//
//   compare_devices EXECUTABLE DEVICE NAME=FILE...
//
// Runs a training step of a CUDA executable on the emulated device, then on DEVICE, each entry of
// which finds what the emulated one found, and compares what they leave. Prints the entries in
// which they differ, and fails where that is more than rounding: sums in another order, and the
// functions of libdevice. On "emulate", the same device with another seed, nothing may differ.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Error.h"
#include "runtime/Half.h"
#include "runtime/Loader.h"
#include "runtime/Payload.h"
#include "runtime/RunOptions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace halfstep::runtime;

namespace {

/// What the entries of a step found and left, slice by slice; empty where a slice is not used so.
struct Trace {
  struct Execution {
    std::vector<std::vector<char>> read, written;
  };
  std::vector<Execution> executions;
};

/// Runs one step; with `given`, every entry on what is noted there.
Trace trace(const Payload &payload, const std::vector<std::string> &data,
            const DeviceChoice &device, const Trace *given) {
  Session session(payload.artefact, 1, device);
  session.initialise(*payload.weights);
  Loader loader(session, matchFiles(session.artefact(), data, "data", /*needLabel=*/true));
  loader.bindRange(0);
  Trace result;
  for (hs_program_kind program : {HS_MICRO, HS_UPDATE})
    session.runEntries(program, [&](const hs_entry &entry, void *const *buffers, auto run) {
      Trace::Execution execution{std::vector<std::vector<char>>(entry.slice_count),
                                 std::vector<std::vector<char>>(entry.slice_count)};
      auto note = [&](uint32_t hs_use::*isUsed, std::vector<std::vector<char>> &slices) {
        for (uint32_t i = 0; i < entry.slice_count; ++i)
          if (entry.uses[i].*isUsed) {
            auto *bytes = static_cast<const char *>(buffers[i]);
            slices[i].assign(bytes, bytes + entry.slices[i].bytes);
          }
      };
      note(&hs_use::is_read, execution.read);
      if (given)
        for (uint32_t i = 0; i < entry.slice_count; ++i)
          if (entry.uses[i].is_read && entry.slices[i].buffer < HS_BUFFER_INPUTS) {
            hs_tensor place{};
            place.slice = entry.slices[i];
            session.write(place, given->executions[result.executions.size()].read[i].data());
          }
      run();
      note(&hs_use::is_written, execution.written);
      result.executions.push_back(std::move(execution));
    });
  return result;
}

/// The largest difference, as a part of the largest magnitude; of integers, 1 if any differs.
template <typename T> double difference(const std::vector<char> &x, const std::vector<char> &y) {
  auto *a = reinterpret_cast<const T *>(x.data()), *b = reinterpret_cast<const T *>(y.data());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < x.size() / sizeof(T); ++i) {
    double u = widen(a[i]), v = widen(b[i]);
    if (std::isfinite(u) && std::isfinite(v)) {
      worst = std::max(worst, std::fabs(u - v));
      largest = std::max({largest, std::fabs(u), std::fabs(v)});
    } else if (!(u == v || (std::isnan(u) && std::isnan(v)))) {
      return INFINITY;
    }
  }
  return largest ? worst / largest : 0;
}

double difference(uint32_t type, const std::vector<char> &x, const std::vector<char> &y) {
  switch (type) {
  case HS_F32:
    return difference<float>(x, y);
  case HS_F64:
    return difference<double>(x, y);
  case HS_F16:
    return difference<Half>(x, y);
  case HS_BF16:
    return difference<BFloat>(x, y);
  default:
    return x == y ? 0 : 1;
  }
}

/// Two roundings of a result of that type, or what reordered sums of f32 may add.
double bound(uint32_t type) { return type == HS_F16 ? 0x1p-10 : type == HS_BF16 ? 0x1p-7 : 1e-5; }

int compare(const std::string &executable, const std::string &device,
            const std::vector<std::string> &data) {
  Payload payload = Payload::open(executable, {"emulate", 0});
  Trace emulated = trace(payload, data, {"emulate", 0}, nullptr);
  Trace other = trace(payload, data, {device, 1}, &emulated);
  int failures = 0;
  size_t number = 0;
  for (hs_program_kind program : {HS_MICRO, HS_UPDATE}) {
    const hs_program &entries = payload.artefact->tables().programs[program];
    for (uint64_t i = 0; i < entries.entry_count; ++i, ++number)
      for (uint32_t j = 0; j < entries.entries[i].slice_count; ++j) {
        const hs_entry &entry = entries.entries[i];
        uint32_t type = entry.uses[j].type;
        double found = difference(type, emulated.executions[number].written[j],
                                  other.executions[number].written[j]);
        bool isWrong = found > (device == "emulate" ? 0 : bound(type));
        failures += isWrong;
        if (found > 0)
          std::printf("%s %s (%s), slice %u: %g%s\n", program == HS_MICRO ? "micro" : "update",
                      entry.name, entry.nodes, j, found, isWrong ? ", too much" : "");
      }
  }
  std::printf("%zu entries compared\n", number);
  return failures ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  try {
    return compare(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const Error &error) {
    std::fprintf(stderr, "compare_devices: %s\n", error.what());
    return 1;
  }
}
