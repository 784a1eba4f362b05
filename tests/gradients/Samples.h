//===- Samples.h - A use of every differentiable op -----------------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_SAMPLES_H
#define HALFSTEP_TESTS_GRADIENTS_SAMPLES_H

#include <string>
#include <vector>

/// Where the values of an operand are drawn from: away from points where the op has no derivative.
enum class Domain {
  Any,      // [-2, 2], at least 0.1 from zero
  Positive, // [0.5, 2]
  Spread,   // a shuffled arithmetic sequence: no two values closer than 0.1
  Fixed,    // as Any, but a label: not differentiated
  Ids,      // i64 class ids, not differentiated
  Bits,     // i32, of both signs, not differentiated
  Flags     // i1, not differentiated
};

struct Operand {
  std::string type; // "2x3xf64"
  Domain domain = Domain::Any;
};

struct Sample {
  std::string op;                // the mnemonic that it is a sample of
  std::string family;            // as the .td file is called
  std::vector<Operand> operands; // %0, %1, ...
  std::string body;              // defines %y
  std::string result;
};

const std::vector<Sample> &samples();

/// A sample of the op alone: %y = train.OP %0, %1, ... ATTRIBUTES.
Sample sampleOf(const std::string &op, const std::string &family,
                const std::vector<Operand> &operands, const std::string &attributes,
                const std::string &result);

/// Adds the samples of slice, pad and concat.
void addParts(std::vector<Sample> &all);
/// Adds those of convolution and pooling.
void addWindows(std::vector<Sample> &all);

#endif
