//===- WindowSamples.cpp - Convolution and pooling ------------------------===//

#include "Samples.h"
#include "Source.h"

static void addConvolutions(std::vector<Sample> &all) {
  struct Shapes {
    std::string x, w, strides, dilations, pads, groups, result;
  };
  for (auto &s : std::vector<Shapes>{
           {"2x3x7xf64", "4x3x3xf64", "1", "1", "1, 1", "1", "2x4x7xf64"},
           {"2x2x5x6xf64", "3x2x3x2xf64", "1, 1", "1, 1", "0, 0, 0, 0", "1", "2x3x3x5xf64"},
           {"2x2x5x6xf64", "3x2x3x3xf64", "2, 2", "1, 1", "1, 1, 1, 1", "1", "2x3x3x3xf64"},
           {"1x2x7x6xf64", "2x2x3x2xf64", "1, 2", "2, 2", "1, 0, 2, 3", "1", "1x2x6x4xf64"},
           {"2x4x4x4xf64", "6x2x3x3xf64", "1, 1", "1, 1", "1, 1, 1, 1", "2", "2x6x4x4xf64"},
           {"2x3x4x4xf64", "3x1x3x3xf64", "1, 1", "1, 1", "1, 0, 1, 2", "3", "2x3x4x4xf64"},
           {"2x3x4x4xf64", "5x3x1x1xf64", "1, 1", "1, 1", "0, 0, 0, 0", "1", "2x5x4x4xf64"},
           {"2x3x5x5xf64", "2x3x1x1xf64", "2, 2", "1, 1", "0, 0, 0, 0", "1", "2x2x3x3xf64"},
           {"1x2x3x4x3xf64", "2x2x2x3x2xf64", "1, 2, 1", "1, 1, 2", "1, 1, 1, 0, 1, 1", "1",
            "1x2x3x2x3xf64"}})
    all.push_back(sampleOf("conv", "convolution", {{s.x}, {s.w}},
                           "{strides = " + array(s.strides) +
                               ", dilations = " + array(s.dilations) + ", pads = " + array(s.pads) +
                               ", groups = " + s.groups + " : i64}",
                           s.result));
}

void addWindows(std::vector<Sample> &all) {
  addConvolutions(all);
  struct Shapes {
    std::string x, kernel, strides, dilations, pads, countedPads, result;
  };
  for (auto &s : std::vector<Shapes>{
           {"2x3x7xf64", "3", "2", "1", "1, 1", "1, 1", "2x3x4xf64"},
           {"2x2x6x6xf64", "2, 2", "2, 2", "1, 1", "0, 0, 0, 0", "0, 0, 0, 0", "2x2x3x3xf64"},
           {"1x2x5x6xf64", "3, 2", "1, 1", "1, 1", "1, 0, 1, 1", "0, 0, 0, 0", "1x2x5x6xf64"},
           {"1x2x5x6xf64", "3, 3", "2, 2", "1, 1", "1, 1, 2, 2", "1, 1, 1, 1", "1x2x3x4xf64"},
           {"1x1x7x7xf64", "2, 3", "1, 2", "2, 2", "1, 2, 1, 1", "1, 2, 0, 0", "1x1x7x3xf64"},
           {"1x2x3x4x3xf64", "2, 2, 3", "1, 2, 1", "1, 1, 1", "1, 0, 1, 0, 0, 1",
            "1, 0, 1, 0, 0, 1", "1x2x3x2x3xf64"}}) {
    std::string window = "kernel = " + array(s.kernel) + ", strides = " + array(s.strides) +
                         ", dilations = " + array(s.dilations) + ", pads = " + array(s.pads);
    all.push_back(
        sampleOf("max_pool", "window", {{s.x, Domain::Spread}}, "{" + window + "}", s.result));
    all.push_back(sampleOf("average_pool", "window", {{s.x}},
                           "{" + window + ", countedPads = " + array(s.countedPads) + "}",
                           s.result));
  }
}
