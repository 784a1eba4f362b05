//===- anomaly_test.cpp - Which entry made the numbers break down -----------------------------===//

#include "Models.h"

#include "runtime/Anomaly.h"

#include <cmath>

using namespace halfstep::runtime;

namespace {

class AnomalyTest : public ::testing::Test {
protected:
  AnomalyTest() : session(loadModel("MaskedModel"), 1) {
    session.bindInput(0, x);
    set(HS_HYPERPARAMETER, "scale", 1);
    set(HS_HYPERPARAMETER, "lr", 0.125);
    setWeights({1, 1, 1, 1});
  }
  void set(hs_role role, const char *name, double value) {
    session.writeScalar(*session.find(role, name), value);
  }
  void setWeights(std::vector<float> values) {
    session.write(*session.find(HS_PARAMETER, "w"), values.data());
  }
  std::string described(hs_program_kind program) {
    std::optional<Anomaly> anomaly = runChecked(session, program);
    return anomaly ? describe(session, *anomaly) : "";
  }
  std::string explained(hs_program_kind program) {
    Error error("step 1", "stops");
    return explain(error, session, runChecked(session, program).value()).what();
  }

  float x[4] = {1, 2, 3, 4};
  Session session;
};

TEST_F(AnomalyTest, ChecksAndRunsTheProgram) {
  EXPECT_EQ(described(HS_MICRO), "");
  EXPECT_DOUBLE_EQ(session.readScalar(*session.find(HS_COUNTER, "running_loss")),
                   std::exp(1.0f) + double(std::exp(2.0f)) + std::exp(3.0f) + std::exp(4.0f));
  EXPECT_EQ(described(HS_UPDATE), "");
  EXPECT_EQ(described(HS_INIT), ""); // empty
}

TEST_F(AnomalyTest, ForwardOverflowIsFoundWhereItBegins) {
  setWeights({1, 1, 1, 1000});
  EXPECT_EQ(described(HS_MICRO),
            "the forward pass breaks down at exp: 1 of 4 values in F32 are not finite, of finite "
            "operands up to 4000 (kernel k1)");
  EXPECT_EQ(explained(HS_MICRO), "step 1: stops\n  " + described(HS_MICRO) +
                                     "\n  no loss scale can help\n"
                                     "help: lower the learning rate (--set lr=X), or look at the "
                                     "data: very large values?");
}

TEST_F(AnomalyTest, LegalInfinitiesAreNotBlamed) {
  x[0] = x[2] = -1;
  EXPECT_EQ(described(HS_MICRO), "");
  // The 16-bit adjoint lies where the infinities were.
  set(HS_HYPERPARAMETER, "scale", 16384);
  EXPECT_EQ(described(HS_MICRO),
            "the backward pass breaks down at sum, exp: 2 of 4 values in F16 are not finite, of "
            "finite operands up to 16384 (kernel k2)");
  EXPECT_TRUE(runChecked(session, HS_MICRO)->isGradient());
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "help: begin with a smaller scale (--loss-scale dynamic:init_scale=X), keep "
                      "the node in f32 (--pin 'sum|exp=fp32')",
                      explained(HS_MICRO));
}

TEST(Pin, NamesEveryNodeOfAnEntry) {
  hs_entry entry{};
  entry.nodes = "/fc/Gemm, a+b[0]";
  EXPECT_EQ(pinPattern(entry), "/fc/Gemm|a\\+b\\[0\\]");
  entry.nodes = "";
  EXPECT_EQ(pinPattern(entry), "REGEX");
}

TEST_F(AnomalyTest, WhatCameInFromOutside) {
  x[1] = INFINITY;
  EXPECT_EQ(described(HS_MICRO),
            "input x is not finite as the step reads it: 1 of 4 values in F32");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "help: look at the data: NaN or infinities?",
                      explained(HS_MICRO));
  x[1] = 1;
  setWeights({1, NAN, INFINITY, 1});
  EXPECT_EQ(described(HS_MICRO),
            "parameter w is not finite as the step reads it: 2 of 4 values in F32");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "help: start from other weights (--weights CKPT)",
                      explained(HS_MICRO));
  EXPECT_FALSE(runChecked(session, HS_MICRO)->isGradient());
}

TEST_F(AnomalyTest, TheUpdate) {
  session.micro();
  set(HS_HYPERPARAMETER, "lr", 1e37);
  EXPECT_EQ(
      explained(HS_UPDATE),
      "step 1: stops\n  the update breaks down at kernel k4: 2 of 4 values in F32 are not "
      "finite, of finite operands up to 1e+37\n  no loss scale can help\nhelp: lower the "
      "learning rate (--set lr=X), or compile with a bound on the gradients' norm (--clip-norm "
      "X)");
}

} // namespace
