//===- ChannelsLastConvolution.cpp - Convolutions whose channels lie together -----------------===//
//
// What is decided when a convolution is loaded; ChannelsLastRunner.h has what runs.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/ChannelsLastConvolution.h"

#include "runtime/ChannelsLastRunner.h"
#include "runtime/Parts.h"

#include <algorithm>
#include <optional>

namespace halfstep::runtime {

ChannelsLastBlock chooseChannelsLastBlock(const hs_conv &conv) {
  // A block's patches and outputs: a quarter of a megabyte of f32, which second-level caches hold.
  constexpr int64_t elements = 1 << 16;
  // With fewer rows packing the filters shows.
  constexpr int64_t leastRows = 128, mostDepth = 2048, mostGradientDepth = 512;
  // Multiply-adds that are worth a thread: about 10 microseconds of one core.
  constexpr int64_t worthwhile = 1 << 19;
  // Units of an input gradient that are enough for many threads, and channels that fill vectors.
  constexpr int64_t enoughUnits = 8, leastChannels = 32;
  // Input gradients of 16 bits are summed up in scratch memory: a bound for it.
  constexpr int64_t sumElements = 1 << 20;

  int64_t points = volumeOf(conv.window.kernel), outputs = volumeOf(conv.window.output);
  int64_t inputs = volumeOf(conv.window.input), channels = conv.input_channels;
  int64_t depth = points * channels * conv.output_channels; // multiply-adds of an output
  ChannelsLastBlock block{0, points, channels, conv.batch};
  if (conv.kind == HS_CONV_INPUT_GRADIENT) {
    int64_t enough = ceilDiv(worthwhile, depth * outputs);
    block.images = evenPart(conv.batch, std::max(enough, leastRows / outputs));
    int64_t units = ceilDiv(conv.batch, block.images) * conv.groups;
    if (units < enoughUnits && depth * outputs > enoughUnits * worthwhile)
      block.channels = evenPart(channels, std::max(leastChannels, channels * units / enoughUnits));
    if (conv.c_type != HS_F32 && conv.c_type != HS_F64) {
      block.images = std::clamp<int64_t>(sumElements / (inputs * block.channels), 1, block.images);
      block.channels = std::clamp<int64_t>(sumElements / inputs, 1, block.channels);
    }
  }
  int64_t most = conv.kind == HS_CONV_FORWARD ? mostDepth : mostGradientDepth;
  block.channels = evenPart(channels, std::min(block.channels, most));
  block.points = block.channels < channels ? 1 : evenPart(points, most / channels);
  int64_t rows =
      std::max(leastRows, elements / (block.points * block.channels + conv.output_channels));
  int64_t all = outputs * (conv.kind == HS_CONV_INPUT_GRADIENT ? block.images : conv.batch);
  // Whole vectors, and enough blocks for many threads.
  block.rows = all <= leastRows ? all : std::min(all, ceilDiv(evenPart(all, rows), 16) * 16);
  return block;
}

ChannelsLastConvolution::ChannelsLastConvolution(const hs_conv &conv, WorkerMemory &scratch,
                                                 OneDnn *oneDnn)
    : conv(conv), scratch(scratch), oneDnn(oneDnn), points(volumeOf(conv.window.kernel)),
      inputs(volumeOf(conv.window.input)), outputs(volumeOf(conv.window.output)),
      block(chooseChannelsLastBlock(conv)), storageType(conv.a_type), operandType(conv.a_type),
      sumType(conv.a_type == HS_F64 ? HS_F64 : HS_F32) {
  decideWhatIsInPlace();
  if (!BlockProduct::isSupported(gemmOf(block.rows, block.points * block.channels))) {
    operandType = HS_F32;
    decideWhatIsInPlace();
  }
  reserveScratch();
  createProducts();
}

void ChannelsLastConvolution::decideWhatIsInPlace() {
  const hs_window &window = conv.window;
  bool readsEachOnce = points == 1 && inputs == outputs && window.stride[0] == 1 &&
                       window.stride[1] == 1 && window.stride[2] == 1;
  bool isOperand = storageType == operandType, isSum = storageType == sumType;
  isPatchless = readsEachOnce && (isKind(HS_CONV_INPUT_GRADIENT) ? isSum : isOperand);
  isOutputInPlace = isKind(HS_CONV_FORWARD) ? isSum : isOperand;
}

void ChannelsLastConvolution::reserveScratch() {
  int64_t depth = block.points * block.channels, outputChannels = conv.output_channels;
  auto elementsIf = [](bool isNeeded, int64_t elements) {
    return isNeeded ? ceilDiv(elements, 16) * 16 : 0;
  };
  bool isForward = isKind(HS_CONV_FORWARD), isOfInput = isKind(HS_CONV_INPUT_GRADIENT);
  bool areWidened = storageType != operandType && (isForward || isOfInput);
  bool areSummed = storageType != sumType && isOfInput;
  offsets.outputs = elementsIf(!isPatchless, block.rows * depth);
  offsets.filters = offsets.outputs + elementsIf(!isOutputInPlace, block.rows * outputChannels);
  offsets.sums = offsets.filters + elementsIf(areWidened, outputChannels * depth);
  int64_t all = offsets.sums + elementsIf(areSummed, block.images * inputs * block.channels);
  scratch.reserve(uint64_t(all) * (sumType == HS_F64 ? sizeof(double) : sizeof(float)));
}

int64_t ChannelsLastConvolution::rowBlocks() const {
  return ceilDiv(conv.batch * outputs, block.rows);
}

int64_t ChannelsLastConvolution::depthBlocks() const {
  return ceilDiv(points, block.points) * ceilDiv(conv.input_channels, block.channels);
}

int64_t ChannelsLastConvolution::units() const {
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    return rowBlocks() * conv.groups;
  case HS_CONV_INPUT_GRADIENT:
    return ceilDiv(conv.batch, block.images) * conv.groups *
           ceilDiv(conv.input_channels, block.channels);
  default:
    return conv.parts * conv.groups * depthBlocks();
  }
}

/// Sizes of the parts of `whole`: `part`, and what is left if that is another.
static std::vector<int64_t> partSizes(int64_t whole, int64_t part) {
  int64_t rest = whole % part;
  return rest == 0 ? std::vector{part} : whole < part ? std::vector{rest} : std::vector{part, rest};
}

void ChannelsLastConvolution::createProducts() {
  std::vector<int64_t> rows;
  if (isKind(HS_CONV_INPUT_GRADIENT))
    for (int64_t images : partSizes(conv.batch, block.images))
      for (int64_t size : partSizes(images * outputs, block.rows))
        rows.push_back(size);
  else
    rows = partSizes(conv.batch * outputs, block.rows);
  for (int64_t size : rows)
    for (int64_t points : partSizes(points, block.points))
      for (int64_t channels : partSizes(conv.input_channels, block.channels))
        for (bool accumulate : {false, true}) {
          Size all{size, points * channels, accumulate};
          bool isMade = std::any_of(products.begin(), products.end(),
                                    [&](const auto &made) { return made.first == all; });
          if (!isMade && !(accumulate && isKind(HS_CONV_INPUT_GRADIENT)))
            products.emplace_back(
                all, std::make_unique<BlockProduct>(oneDnn, gemmOf(size, all.depth), accumulate));
        }
}

const BlockProduct &ChannelsLastConvolution::product(Size size) const {
  return *std::find_if(products.begin(), products.end(), [&](const auto &made) {
            return made.first == size;
          })->second;
}

/// The product of a block of so many rows and so much depth.
hs_gemm ChannelsLastConvolution::gemmOf(int64_t rows, int64_t depth) const {
  int64_t patchLeading = isPatchless ? conv.groups * conv.input_channels : depth;
  int64_t outputLeading =
      isOutputInPlace ? conv.groups * conv.output_channels : conv.output_channels;
  int64_t filterLeading = storageType == operandType ? points * conv.input_channels : depth;
  hs_gemm gemm{};
  gemm.a_type = gemm.b_type = operandType;
  gemm.c_type = sumType;
  gemm.batch = 1;
  switch (conv.kind) {
  case HS_CONV_FORWARD:
    gemm.transpose_b = 1;
    gemm.m = rows, gemm.n = conv.output_channels, gemm.k = depth;
    gemm.lda = patchLeading, gemm.ldb = filterLeading, gemm.ldc = outputLeading;
    break;
  case HS_CONV_INPUT_GRADIENT:
    gemm.m = rows, gemm.n = depth, gemm.k = conv.output_channels;
    gemm.lda = outputLeading, gemm.ldb = filterLeading, gemm.ldc = patchLeading;
    break;
  default:
    gemm.transpose_a = 1;
    gemm.m = conv.output_channels, gemm.n = depth, gemm.k = rows;
    gemm.lda = outputLeading, gemm.ldb = patchLeading, gemm.ldc = points * conv.input_channels;
  }
  // A batch of one matrix, but oneDNN asks for a stride that is not 0.
  gemm.a_stride = gemm.m * gemm.k, gemm.b_stride = gemm.k * gemm.n, gemm.c_stride = gemm.m * gemm.n;
  return gemm;
}

void ChannelsLastConvolution::run(void *const *buffers, int64_t lo, int64_t hi) {
  auto &self = *static_cast<const ChannelsLastConvolution *>(buffers[3]);
  std::optional<OnOneThread> guard;
  if (self.oneDnn)
    guard.emplace();
  auto runUnits = [&](auto storage, auto operand, auto sum) {
    Runner<decltype(storage), decltype(operand), decltype(sum)> runner(self, buffers);
    for (int64_t unit = lo; unit < hi; ++unit)
      runner.run(unit);
  };
  bool isWidened = self.storageType != self.operandType;
  switch (self.storageType) {
  case HS_F64:
    return runUnits(double(), double(), double());
  case HS_F16:
    return isWidened ? runUnits(Half(), float(), float()) : runUnits(Half(), Half(), float());
  case HS_BF16:
    return isWidened ? runUnits(BFloat(), float(), float()) : runUnits(BFloat(), BFloat(), float());
  default:
    return runUnits(float(), float(), float());
  }
}

} // namespace halfstep::runtime
