//===- windows.cpp - Convolutions and poolings in either layout -------------------------------===//
//
// One entry at a time on one thread, by CPU time, in GFLOP/s (poolings: reads of the window as
// such). What passes/LayoutCost.cpp reckons with. Names are KIND/TYPE/LAYOUT/SHAPE.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/CpuBackend.h"
#include "runtime/Scratch.h"
#include "runtime/Types.h"
#include "runtime/Window.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

using namespace halfstep::runtime;

namespace {

struct Shape {
  const char *name;
  int64_t batch, groups, inputChannels, outputChannels; // channels of a group
  int64_t size, kernel, stride;                         // of both spatial dimensions
};

// The user's network, a stem, the stages of a residual network, pointwise, depthwise and grouped
// convolutions, and the digits.
const Shape convolutionShapes[] = {
    {"keknet555", 1, 1, 3, 64, 555, 3, 1},  {"stem224", 4, 1, 3, 64, 224, 7, 2},
    {"64x56", 8, 1, 64, 64, 56, 3, 1},      {"128x28", 8, 1, 128, 128, 28, 3, 1},
    {"256x14", 8, 1, 256, 512, 14, 3, 2},   {"512x7", 8, 1, 512, 512, 7, 3, 1},
    {"point56", 8, 1, 64, 256, 56, 1, 1},   {"point14", 8, 1, 512, 512, 14, 1, 1},
    {"depth56", 8, 64, 1, 1, 56, 3, 1},     {"depth14", 8, 512, 1, 1, 14, 3, 1},
    {"groups56", 8, 32, 4, 4, 56, 3, 1},    {"digits1x8", 16, 1, 1, 16, 8, 3, 1},
    {"digits16x8", 16, 1, 16, 32, 8, 3, 1},
};
const Shape poolingShapes[] = {{"64x112", 4, 1, 64, 64, 112, 3, 2},
                               {"64x56", 8, 1, 64, 64, 56, 2, 2},
                               {"16x8", 16, 1, 16, 16, 8, 2, 2}};

hs_window windowOf(const Shape &shape) {
  int64_t pad = shape.kernel / 2, output = (shape.size + 2 * pad - shape.kernel) / shape.stride + 1;
  return {{1, shape.kernel, shape.kernel},
          {1, shape.stride, shape.stride},
          {1, 1, 1},
          {0, pad, pad},
          {1, shape.size, shape.size},
          {1, output, output}};
}

/// An entry on zeros; `work` is what it does in one run.
void runEntry(benchmark::State &state, hs_entry_kind kind, const void *detail,
              const std::vector<uint64_t> &bytes, double work) {
  std::vector<std::vector<char>> buffers;
  std::vector<hs_tensor> inputs(bytes.size());
  std::vector<hs_slice> slices;
  for (size_t i = 0; i < bytes.size(); ++i) {
    buffers.emplace_back(bytes[i]);
    inputs[i].slice = {HS_BUFFER_INPUTS + i, 0, bytes[i]};
    slices.push_back(inputs[i].slice);
  }
  hs_entry entry = {uint32_t(kind), uint32_t(slices.size()), slices.data(), detail, "entry", ""};
  hs_artefact artefact{};
  artefact.input_count = uint32_t(inputs.size());
  artefact.inputs = inputs.data();
  artefact.programs[HS_MICRO] = {1, &entry};
  artefact.scratch_bytes = scratchBytes(entry.kind, detail);
  CpuBackend backend("window", artefact, 1);
  for (size_t i = 0; i < bytes.size(); ++i)
    backend.bindInput(i, buffers[i].data());
  for (auto _ : state)
    backend.run(HS_MICRO);
  state.counters["G/s"] = benchmark::Counter(
      work / 1e9, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void convolve(benchmark::State &state, const Shape &shape, hs_conv_kind kind, uint32_t type,
              bool channelsLast) {
  bool isPartial = kind == HS_CONV_WEIGHT_GRADIENT;
  hs_conv conv{uint32_t(kind),
               type,
               type,
               isPartial ? uint32_t(HS_F32) : type,
               channelsLast,
               shape.batch,
               shape.groups,
               shape.inputChannels,
               shape.outputChannels,
               isPartial ? std::min<int64_t>(4, shape.batch) : 1,
               windowOf(shape)};
  int64_t outputs = volumeOf(conv.window.output), points = shape.kernel * shape.kernel;
  uint64_t size = elementBytes(hs_type(type));
  uint64_t x =
      uint64_t(shape.batch * shape.groups * shape.inputChannels * volumeOf(conv.window.input)) *
      size;
  uint64_t y = uint64_t(shape.batch * shape.groups * shape.outputChannels * outputs) * size;
  uint64_t filters = uint64_t(shape.groups * shape.outputChannels * shape.inputChannels * points);
  double work = 2.0 * double(filters) * double(shape.batch * outputs);
  std::vector<uint64_t> bytes = {x, filters * size, y};
  if (kind == HS_CONV_INPUT_GRADIENT)
    bytes = {y, filters * size, x};
  else if (isPartial)
    bytes = {y, x, filters * uint64_t(conv.parts) * sizeof(float)};
  runEntry(state, HS_CONV, &conv, bytes, work);
}

void pool(benchmark::State &state, const Shape &shape, hs_pool_kind kind, bool channelsLast) {
  hs_pool pool{uint32_t(kind),      HS_F32,          channelsLast, shape.batch,
               shape.inputChannels, windowOf(shape), {},           {}};
  uint64_t planes = uint64_t(shape.batch * shape.inputChannels);
  uint64_t x = planes * uint64_t(volumeOf(pool.window.input)) * sizeof(float);
  uint64_t y = planes * uint64_t(volumeOf(pool.window.output)) * sizeof(float);
  std::vector<uint64_t> bytes = {x, y};
  if (kind == HS_POOL_MAX_GRADIENT)
    bytes = {x, y, x};
  else if (kind == HS_POOL_AVERAGE_GRADIENT)
    bytes = {y, x};
  runEntry(state, HS_POOL, &pool, bytes,
           double(y / sizeof(float)) * double(shape.kernel * shape.kernel));
}

void registerAll() {
  using Name = std::pair<const char *, uint32_t>;
  auto title = [](const char *kind, const char *type, bool channelsLast, const Shape &shape) {
    return std::string(kind) + "/" + type + (channelsLast ? "/last/" : "/first/") + shape.name;
  };
  for (const Shape &shape : convolutionShapes)
    for (auto [type, number] : {Name{"f32", HS_F32}, {"bf16", HS_BF16}, {"f16", HS_F16}})
      for (auto [kind, which] : {Name{"forward", HS_CONV_FORWARD},
                                 {"input_gradient", HS_CONV_INPUT_GRADIENT},
                                 {"weight_gradient", HS_CONV_WEIGHT_GRADIENT}})
        for (bool channelsLast : {false, true})
          benchmark::RegisterBenchmark(title(kind, type, channelsLast, shape).c_str(), convolve,
                                       shape, hs_conv_kind(which), number, channelsLast);
  for (const Shape &shape : poolingShapes)
    for (auto [kind, which] : {Name{"max", HS_POOL_MAX},
                               {"average", HS_POOL_AVERAGE},
                               {"max_gradient", HS_POOL_MAX_GRADIENT},
                               {"average_gradient", HS_POOL_AVERAGE_GRADIENT}})
      for (bool channelsLast : {false, true})
        benchmark::RegisterBenchmark(title(kind, "f32", channelsLast, shape).c_str(), pool, shape,
                                     hs_pool_kind(which), channelsLast);
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  registerAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
