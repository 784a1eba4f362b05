//===- RefusalTest.h - Models that are refused, and in which words --------===//

#ifndef HALFSTEP_TESTS_FRONTEND_REFUSALTEST_H
#define HALFSTEP_TESTS_FRONTEND_REFUSALTEST_H

#include "ModelBuilder.h"

namespace halfstep::test {

/// A model of operator set `opset`, and what its import says.
struct Refusal {
  const char *name;
  int64_t opset;
  void (*build)(Model &);
  const char *message;
};

inline void PrintTo(const Refusal &each, std::ostream *os) { *os << each.name; }

inline std::string nameOf(const ::testing::TestParamInfo<Refusal> &info) { return info.param.name; }

inline void expectRefused(const Refusal &refusal) {
  Model model(refusal.opset);
  refusal.build(model);
  EXPECT_TRUE(contains(import(model), {refusal.message}));
}

} // namespace halfstep::test

#endif // HALFSTEP_TESTS_FRONTEND_REFUSALTEST_H
