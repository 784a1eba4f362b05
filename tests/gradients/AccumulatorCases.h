//===- AccumulatorCases.h - Sums beyond what 16 bits can add up -----------===//
//
// A running f16 sum of ones sticks at 2048, and of equal numbers at 2048 times the number: every
// sum here is far beyond that, and exact in f32. One case for each way in which a kernel of ours or
// a library adds up.
//
// Where the result is f16 it has to be an f16 number: 69,632 = 17 * 2^12 times 2^-5 is 2176.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_GRADIENTS_ACCUMULATORCASES_H
#define HALFSTEP_TESTS_GRADIENTS_ACCUMULATORCASES_H

#include <map>
#include <string>
#include <vector>

struct Case {
  std::string name;
  std::string result;                                        // type of %y
  std::vector<std::pair<std::string, std::string>> operands; // name and type; p... are trained
  std::string body;                                          // defines %y
  std::map<std::string, double> values = {};                 // of all elements; 1 where not given
  double expected = 70000;
  double tolerance = 0;
  double seed = 0;             // the adjoint of each element of y; 0: y itself is looked at
  std::string gradientOf = ""; // which is then expected
};

std::vector<Case> reductions();
std::vector<Case> products();
/// Under half-grad; every element of the result has the same adjoint.
std::vector<Case> adjoints();

#endif
