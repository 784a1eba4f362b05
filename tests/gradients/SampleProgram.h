//===- SampleProgram.h - A sample as a function of parameters -------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_SAMPLEPROGRAM_H
#define HALFSTEP_TESTS_GRADIENTS_SAMPLEPROGRAM_H

#include "Samples.h"

/// How the differentiated operands reach the op.
enum class Arrival {
  Direct, // as parameters
  Low,    // as results of low ops, so that autocast makes them 16 bits wide
  Mixed   // the first as a parameter, the others as results of low ops
};

/// `@forward` over parameters p0, p1, ... and `weights`, by which the sample's result is multiplied
/// so that no two of its elements have the same adjoint. `element` takes the place of f64.
std::string sourceOf(const Sample &sample, const std::string &element = "f64",
                     Arrival arrival = Arrival::Direct);

struct DrawnParameter {
  std::string name;
  bool isDifferentiated;
  std::vector<double> values; // class ids and flags too
};

/// What the parameters of `sourceOf` are set to: always the same.
std::vector<DrawnParameter> drawParameters(const Sample &sample);

#endif
