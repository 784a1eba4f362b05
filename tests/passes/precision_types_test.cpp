//===- precision_types_test.cpp - Which type an op gets, and why ----------===//
//
// The modes, pins and targets on single ops; what whole programs become is in
// assign_precision.mlir.
//
//===----------------------------------------------------------------------===//

#include "PassTest.h"

using namespace halfstep::test;

namespace {

/// A product, an op that follows it, one that is always in f32, and a sum of all.
class PrecisionTypes : public PassTest {
protected:
  void SetUp() override {
    ASSERT_TRUE(build(
        R"(%x: tensor<4x8xf32> {train.input = "x"}, %w: tensor<8x8xf32> {train.parameter = "w"})",
        R"(%product = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
           %follows = train.tanh %product : (tensor<4x8xf32>) -> tensor<4x8xf32>
           %full = train.exp %follows : (tensor<4x8xf32>) -> tensor<4x8xf32>
           %joined = train.add %follows, %full : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>)",
        R"(%joined: tensor<4x8xf32> {train.output = "y"})"))
        << errors;
  }

  /// "TYPE REASON" of a line.
  std::string of(llvm::StringRef name) { return type(name) + " " + reason(name); }
};

TEST_F(PrecisionTypes, FloatKeepsTheTypesOfTheFile) {
  ASSERT_TRUE(run("assign-precision{mode=as-is}")) << errors;
  EXPECT_EQ(of("product"), "4x8xf32 ");
}

TEST_F(PrecisionTypes, AutocastIsByCategory) {
  ASSERT_TRUE(run("assign-precision{mode=autocast}")) << errors;
  EXPECT_EQ(of("product"), "4x8xf16 category");
  EXPECT_EQ(of("follows"), "4x8xf16 policy");
  EXPECT_EQ(of("full"), "4x8xf32 category");
  EXPECT_EQ(of("joined"), "4x8xf32 widened");
  EXPECT_EQ(typeOf("forward", "train.parameter", "w"), "8x8xf32");
}

TEST_F(PrecisionTypes, HalfHasWeightsAndResultsOfSixteenBits) {
  ASSERT_TRUE(run("assign-precision{mode=half half-type=bf16}")) << errors;
  EXPECT_EQ(of("product"), "4x8xbf16 category");
  EXPECT_EQ(of("full"), "4x8xf32 category"); // inside; its readers see bf16
  EXPECT_EQ(of("joined"), "4x8xbf16 policy");
  EXPECT_EQ(typeOf("forward", "train.parameter", "w"), "8x8xbf16");
}

TEST_F(PrecisionTypes, PinsBeatCategories) {
  ASSERT_TRUE(run("assign-precision{mode=autocast pin=full=fp16,product=fp32}")) << errors;
  EXPECT_EQ(of("product"), "4x8xf32 pinned");
  EXPECT_EQ(of("full"), "4x8xf16 pinned");
  EXPECT_EQ(of("joined"), "4x8xf32 widened");
}

TEST_F(PrecisionTypes, TwoTypesOfSixteenBitsMeetInF32) {
  ASSERT_TRUE(run("assign-precision{mode=autocast pin=full=bf16}")) << errors;
  EXPECT_EQ(of("follows"), "4x8xf16 policy");
  EXPECT_EQ(of("full"), "4x8xbf16 pinned");
  EXPECT_EQ(of("joined"), "4x8xf32 widened");
}

TEST_F(PrecisionTypes, ATargetTakesBackWhatItCannotMultiply) {
  ASSERT_TRUE(
      run("assign-precision{mode=autocast half-type=bf16},legalize-precision{target=sm_75}"))
      << errors;
  EXPECT_EQ(of("product"), "4x8xf32 target");
  EXPECT_EQ(of("follows"), "4x8xbf16 policy");
}

TEST_F(PrecisionTypes, SayWhatIsWrongWithAPin) {
  EXPECT_FALSE(run("assign-precision{mode=autocast pin=full=fp8}"));
  EXPECT_EQ(errors, "--pin full=fp8: the type must be fp32, fp16 or bf16\n");
  EXPECT_FALSE(run("assign-precision{mode=autocast pin==fp16}"));
  EXPECT_EQ(errors, "--pin =fp16: there is no pattern\n");
  EXPECT_FALSE(run("assign-precision{mode=autocast pin=*=fp16}"));
  EXPECT_EQ(errors, "--pin *=fp16: not a regular expression\n");
  EXPECT_FALSE(run("assign-precision{mode=half pin=nothing=fp16}"));
  EXPECT_EQ(errors, "--pin nothing=fp16 matches no node and no op\n");
}

TEST_F(PrecisionTypes, SayWhichModesThereAre) {
  EXPECT_FALSE(run("assign-precision{mode=quarter}"));
  EXPECT_EQ(errors, "unknown precision 'quarter'\n");
  EXPECT_FALSE(run("assign-precision{mode=half half-type=fp8}"));
  EXPECT_EQ(errors, "--half-type must be fp16 or bf16, not 'fp8'\n");
  EXPECT_FALSE(run("legalize-precision{target=sm_10}"));
  EXPECT_EQ(errors, "legalize-precision: unknown target 'sm_10'\n");
}

} // namespace
