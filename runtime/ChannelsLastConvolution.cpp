//===- ChannelsLastConvolution.cpp - Convolutions whose channels lie together -----------------===//

#include "runtime/ChannelsLastConvolution.h"

#include "runtime/Rows.h"
#include "runtime/ThreadPool.h"
#include "runtime/Window.h"

#include <algorithm>
#include <optional>

namespace halfstep::runtime {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The size of even parts of `whole`, none above `most`.
static int64_t evenPart(int64_t whole, int64_t most) {
  return ceilDiv(whole, ceilDiv(whole, std::max<int64_t>(1, most)));
}

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

//===------------------------------------------------------------------------------------------===//
// Patches
//===------------------------------------------------------------------------------------------===//

namespace {

/// Outputs of one row of one image: rows of the matrix of patches.
struct Segment {
  int64_t image, output[3], length;

  /// Those that begin at row `first`, none from `last` on.
  Segment(const hs_window &window, int64_t first, int64_t last) {
    int64_t at = first % volumeOf(window.output);
    image = first / volumeOf(window.output);
    output[0] = at / window.output[2] / window.output[1];
    output[1] = at / window.output[2] % window.output[1];
    output[2] = at % window.output[2];
    length = std::min(window.output[2] - output[2], last - first);
  }
};

/// The depth of a block, and what an image is made of.
struct Depth {
  int64_t firstPoint, points; // of the window
  int64_t channels;           // of each
  int64_t pixel;              // from one position of x to the next, in elements

  int64_t size() const { return points * channels; }
};

/// Adjacent points of the window and where they lie, for one segment.
struct PointRun {
  int64_t points;
  int64_t column; // of the patches
  int64_t start;  // of the run's first point at the segment's first output, in the row of x
  int64_t row;    // of x, in positions; below 0 in padding
  Range inside;   // outputs of the segment whose points all lie in the row

  PointRun(const hs_window &window, const Depth &depth, const Segment &segment, int64_t point) {
    int64_t k[3] = {point / window.kernel[2] / window.kernel[1],
                    point / window.kernel[2] % window.kernel[1], point % window.kernel[2]};
    bool areAdjacent = window.dilation[2] == 1 && depth.channels == depth.pixel;
    points = areAdjacent
                 ? std::min(window.kernel[2] - k[2], depth.firstPoint + depth.points - point)
                 : 1;
    column = (point - depth.firstPoint) * depth.channels;
    int64_t at[3];
    bool isInside = true;
    for (int i = 0; i < 3; ++i) {
      at[i] = segment.output[i] * window.stride[i] - window.pad[i] + k[i] * window.dilation[i];
      isInside &= i == 2 || (at[i] >= 0 && at[i] < window.input[i]);
    }
    start = at[2];
    row = isInside ? (at[0] * window.input[1] + at[1]) * window.input[2] : -1;
    int64_t stride = window.stride[2], room = window.input[2] - points - start;
    inside.first = std::clamp<int64_t>(start < 0 ? ceilDiv(-start, stride) : 0, 0, segment.length);
    inside.last =
        std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, inside.first, segment.length);
    if (!isInside)
      inside = {segment.length, segment.length};
  }

  /// The run's points at output `i` of the segment that lie in x.
  Range pointsInside(const hs_window &window, int64_t i) const {
    int64_t at = start + i * window.stride[2];
    if (row < 0)
      return {points, points};
    int64_t first = std::clamp<int64_t>(-at, 0, points);
    return {first, std::clamp<int64_t>(window.input[2] - at, first, points)};
  }
};

} // namespace

/// Rows [first, last) of the patches of `x`, which points to the first of the depth's channels.
template <typename To, typename From>
WITH_AVX2 static void gatherPatches(const hs_window &window, const Depth &depth, const From *x,
                                    int64_t first, int64_t last, To *patches) {
  int64_t image = volumeOf(window.input) * depth.pixel;
  while (first < last) {
    Segment segment(window, first, last);
    for (int64_t point = depth.firstPoint; point < depth.firstPoint + depth.points;) {
      PointRun run(window, depth, segment, point);
      const From *row = x + segment.image * image + run.row * depth.pixel;
      To *to = patches + run.column;
      int64_t size = run.points * depth.channels;
      for (int64_t i = 0; i < segment.length; ++i, to += depth.size()) {
        int64_t at = run.start + i * window.stride[2];
        if (run.inside.contains(i)) {
          convertRow(row + at * depth.pixel, 1, size, to);
          continue;
        }
        Range inside = run.pointsInside(window, i);
        std::fill_n(to, inside.first * depth.channels, To{});
        convertRow(row + (at + inside.first) * depth.pixel, 1,
                   (inside.last - inside.first) * depth.channels,
                   to + inside.first * depth.channels);
        std::fill(to + inside.last * depth.channels, to + size, To{});
      }
      point += run.points;
    }
    patches += segment.length * depth.size();
    first += segment.length;
  }
}

/// Adds rows [first, last) of patches to `x`.
template <typename T>
WITH_AVX2 static void addPatches(const hs_window &window, const Depth &depth, const T *patches,
                                 int64_t first, int64_t last, T *x) {
  int64_t image = volumeOf(window.input) * depth.pixel;
  while (first < last) {
    Segment segment(window, first, last);
    for (int64_t point = depth.firstPoint; point < depth.firstPoint + depth.points;) {
      PointRun run(window, depth, segment, point);
      T *row = x + segment.image * image + run.row * depth.pixel;
      const T *from = patches + run.column;
      for (int64_t i = 0; i < segment.length; ++i, from += depth.size()) {
        Range inside = run.inside.contains(i) ? Range{0, run.points} : run.pointsInside(window, i);
        T *to = row + (run.start + i * window.stride[2]) * depth.pixel;
        for (int64_t j = inside.first * depth.channels; j < inside.last * depth.channels; ++j)
          to[j] += from[j];
      }
      point += run.points;
    }
    patches += segment.length * depth.size();
    first += segment.length;
  }
}

//===------------------------------------------------------------------------------------------===//
// Units
//===------------------------------------------------------------------------------------------===//

/// `rows` rows of `count` numbers, `fromLeading` and `toLeading` apart.
template <typename To, typename From>
WITH_AVX2 static void convertRows(const From *from, int64_t fromLeading, int64_t rows,
                                  int64_t count, To *to, int64_t toLeading) {
  for (int64_t row = 0; row < rows; ++row)
    convertRow(from + row * fromLeading, 1, count, to + row * toLeading);
}

template <typename Storage, typename Operand, typename Sum> class ChannelsLastConvolution::Runner {
public:
  Runner(const ChannelsLastConvolution &of, void *const *buffers)
      : of(of), conv(of.conv), block(of.block), worker(ThreadPool::workerIndex()),
        inChannels(conv.groups * conv.input_channels),
        outChannels(conv.groups * conv.output_channels),
        filterSize(of.points * conv.input_channels),
        scratch(reinterpret_cast<Sum *>(of.scratch.at(worker))) {
    // The order of the kinds' slices.
    constexpr int xOf[] = {0, 2, 1}, wOf[] = {1, 1, 2}, yOf[] = {2, 0, 0};
    x = static_cast<Storage *>(buffers[xOf[conv.kind]]);
    w = buffers[wOf[conv.kind]];
    y = static_cast<Storage *>(buffers[yOf[conv.kind]]);
  }

  void run(int64_t unit) const {
    if (of.isKind(HS_CONV_FORWARD))
      return forward(unit / conv.groups, unit % conv.groups);
    int64_t blocks = of.isKind(HS_CONV_INPUT_GRADIENT)
                         ? ceilDiv(conv.input_channels, block.channels)
                         : of.depthBlocks();
    int64_t group = unit / blocks % conv.groups, first = unit / blocks / conv.groups;
    if (of.isKind(HS_CONV_INPUT_GRADIENT))
      inputGradient(first, group, unit % blocks);
    else
      weightGradient(first, group, unit % blocks);
  }

private:
  // Points of the window and channels of a group.
  struct DepthBlock : Depth {
    int64_t group, firstChannel;
  };

  DepthBlock depthBlock(int64_t group, int64_t index) const {
    int64_t channelBlocks = ceilDiv(conv.input_channels, block.channels);
    int64_t point = index / channelBlocks * block.points;
    int64_t channel = index % channelBlocks * block.channels;
    return {{point, std::min(block.points, of.points - point),
             std::min(block.channels, conv.input_channels - channel), inChannels},
            group,
            channel};
  }

  Storage *inputs(const DepthBlock &depth) const {
    return x + depth.group * conv.input_channels + depth.firstChannel;
  }
  Storage *outputs(int64_t row, int64_t group) const {
    return y + row * outChannels + group * conv.output_channels;
  }
  int64_t filterOffset(const DepthBlock &depth) const {
    return depth.group * conv.output_channels * filterSize +
           depth.firstPoint * conv.input_channels + depth.firstChannel;
  }

  void forward(int64_t rowBlock, int64_t group) const {
    int64_t first = rowBlock * block.rows,
            last = std::min(first + block.rows, conv.batch * of.outputs);
    Sum *result = scratch + of.offsets.outputs;
    if constexpr (std::is_same_v<Storage, Sum>)
      result = outputs(first, group);
    for (int64_t i = 0; i < of.depthBlocks(); ++i) {
      DepthBlock depth = depthBlock(group, i);
      of.product({last - first, depth.size(), i != 0})
          .run(worker, patchesOf(depth, first, last), filtersOf(depth), result);
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      convertRows(result, conv.output_channels, last - first, conv.output_channels,
                  outputs(first, group), outChannels);
  }

  void inputGradient(int64_t imageBlock, int64_t group, int64_t channelBlock) const {
    int64_t image = imageBlock * block.images;
    int64_t images = std::min(block.images, conv.batch - image);
    int64_t channelBlocks = ceilDiv(conv.input_channels, block.channels);
    DepthBlock whole = depthBlock(group, channelBlock);
    Storage *dx = inputs(whole) + image * of.inputs * inChannels;
    // Summed up right in dx, or in scratch memory and rounded once.
    Sum *sums = scratch + of.offsets.sums;
    int64_t pixel = whole.channels;
    if constexpr (std::is_same_v<Storage, Sum>)
      sums = dx, pixel = inChannels;
    if (!of.isPatchless)
      for (int64_t i = 0; i < images * of.inputs; ++i)
        std::fill_n(sums + i * pixel, whole.channels, Sum(0));

    for (int64_t first = 0; first < images * of.outputs; first += block.rows) {
      int64_t last = std::min(first + block.rows, images * of.outputs);
      const Operand *dy = outputsOf(image * of.outputs + first, last - first, group);
      for (int64_t i = channelBlock; i < of.depthBlocks(); i += channelBlocks) {
        DepthBlock depth = depthBlock(group, i);
        Sum *patches = of.isPatchless ? sums + first * pixel : scratch;
        of.product({last - first, depth.size(), false}).run(worker, dy, filtersOf(depth), patches);
        depth.pixel = pixel;
        if (!of.isPatchless)
          addPatches(conv.window, depth, patches, first, last, sums);
      }
    }
    if constexpr (!std::is_same_v<Storage, Sum>)
      convertRows(sums, pixel, images * of.inputs, whole.channels, dx, inChannels);
  }

  void weightGradient(int64_t part, int64_t group, int64_t index) const {
    DepthBlock depth = depthBlock(group, index);
    Sum *sums = static_cast<Sum *>(w) + part * conv.groups * conv.output_channels * filterSize +
                filterOffset(depth);
    int64_t blocks = of.rowBlocks();
    int64_t begin = part * blocks / conv.parts, end = (part + 1) * blocks / conv.parts;
    if (begin == end)
      for (int64_t output = 0; output < conv.output_channels; ++output)
        std::fill_n(sums + output * filterSize, depth.size(), Sum(0));
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i * block.rows, last = std::min(first + block.rows, conv.batch * of.outputs);
      of.product({last - first, depth.size(), i != begin})
          .run(worker, outputsOf(first, last - first, group), patchesOf(depth, first, last), sums);
    }
  }

  // The operands of products: where they are, or gathered and converted in scratch memory.

  const Operand *patchesOf(const DepthBlock &depth, int64_t first, int64_t last) const {
    if constexpr (std::is_same_v<Storage, Operand>)
      if (of.isPatchless)
        return inputs(depth) + first * inChannels;
    auto *patches = reinterpret_cast<Operand *>(scratch);
    gatherPatches(conv.window, depth, inputs(depth), first, last, patches);
    return patches;
  }

  const Operand *outputsOf(int64_t first, int64_t rows, int64_t group) const {
    if constexpr (std::is_same_v<Storage, Operand>) {
      return outputs(first, group);
    } else {
      auto *widened = scratch + of.offsets.outputs;
      convertRows(outputs(first, group), outChannels, rows, conv.output_channels, widened,
                  conv.output_channels);
      return widened;
    }
  }

  const Operand *filtersOf(const DepthBlock &depth) const {
    auto *filters = static_cast<const Storage *>(w) + filterOffset(depth);
    if constexpr (std::is_same_v<Storage, Operand>) {
      return filters;
    } else {
      auto *widened = scratch + of.offsets.filters;
      convertRows(filters, filterSize, conv.output_channels, depth.size(), widened, depth.size());
      return widened;
    }
  }

  const ChannelsLastConvolution &of;
  const hs_conv &conv;
  const ChannelsLastBlock &block;
  int worker;
  int64_t inChannels, outChannels, filterSize;
  Sum *scratch;
  Storage *x, *y;
  void *w; // the weight gradient is of the sums' type
};

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
