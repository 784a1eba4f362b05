//===- scratch_test.cpp - Scratch memory does not grow with the shape -------------------------===//

#include "WindowTest.h"

#include "runtime/OneDnnGemm.h"

using namespace halfstep::runtime;

namespace {

TEST(Scratch, NoShapePassesTheBound) {
  uint64_t most = 0;
  auto check = [&](hs_entry_kind kind, const auto &detail, std::array<int64_t, 4> sizes) {
    uint64_t bytes = scratchBytes(kind, &detail);
    most = std::max(most, bytes);
    EXPECT_LE(bytes, mostScratchBytes)
        << "kind " << detail.kind << ", last " << detail.channels_last << ", batch and channels "
        << testing::PrintToString(sizes) << ", kernel " << volumeOf(detail.window.kernel)
        << ", input " << volumeOf(detail.window.input);
  };
  std::minstd_rand random(1);
  // From 1 to 2^bits, as often small as large.
  auto size = [&](int bits) {
    return int64_t(random() % (1u << random() % unsigned(bits + 1))) + 1;
  };
  for (int i = 0; i < 100000; ++i) {
    int64_t input[3] = {size(8), size(12), size(18)};
    Sliding sliding{{size(3), size(7), size(8)}, {size(2), size(2), size(4)}};
    for (int d = 0; d < 3; ++d)
      input[d] = std::max(input[d], sliding.kernel[d]);
    hs_window window = windowOf({input[0], input[1], input[2]}, sliding);
    for (uint32_t type : allTypes)
      for (bool channelsLast : {false, true}) {
        for (uint32_t kind = 0; kind < 3; ++kind) {
          uint32_t result = kind != HS_CONV_WEIGHT_GRADIENT ? type
                            : type == HS_F64                ? uint32_t(HS_F64)
                                                            : uint32_t(HS_F32);
          hs_conv conv{kind,     type,     type,     result,  channelsLast, size(16),
                       size(16), size(20), size(20), size(4), window};
          if (i % 4 == 0)
            conv.input_channels = conv.output_channels = 1;
          check(HS_CONV, conv,
                {conv.batch, conv.groups, conv.input_channels, conv.output_channels});
        }
        for (uint32_t kind = 0; kind < 4; ++kind) {
          hs_pool pool{kind, type, channelsLast, size(16), size(16), window, {}, {}};
          check(HS_POOL, pool, {pool.batch, pool.channels});
        }
      }
  }
  EXPECT_GT(most, mostScratchBytes / 4); // no bound that means nothing
}

// What a primitive asks for besides, which is not in the plan.
TEST(Scratch, TheLibrarysIsBoundedToo) {
  for (uint32_t type : {HS_F32, HS_F16, HS_BF16})
    for (uint32_t kind = 0; kind < 3; ++kind)
      for (bool channelsLast : {false, true})
        for (auto [batch, inputChannels, outputChannels, size, kernel] :
             {std::array<int64_t, 5>{1, 4096, 4096, 12, 3},
              {1, 3, 65536, 40, 2},
              {200, 65536, 7, 1, 1},
              {2, 64, 64, 600, 7}}) {
          Sliding sliding{{1, kernel, kernel}};
          hs_conv conv{kind,
                       type,
                       type,
                       kind == HS_CONV_WEIGHT_GRADIENT ? uint32_t(HS_F32) : type,
                       channelsLast,
                       batch,
                       1,
                       inputChannels,
                       outputChannels,
                       1,
                       windowOf({1, size, size}, sliding)};
          OneDnn oneDnn(1);
          if (channelsLast)
            ChannelsLastConvolution(conv, oneDnn.scratch, &oneDnn);
          else
            Convolution(conv, oneDnn.scratch, &oneDnn);
          EXPECT_LE(oneDnn.scratch.bytes(), 2u << 20)
              << type << ", kind " << kind << ", channels " << inputChannels << " and "
              << outputChannels << ", last " << channelsLast;
        }
}

} // namespace
