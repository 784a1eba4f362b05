//===- half_update_test.cpp - Updates from 16-bit gradients ---------------===//
//
// The edges of mixed precision and of loss scaling, in closed form: one weight whose gradient is
// what the test says.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "Source.h"
#include "runtime/Session.h"
#include "runtime/Types.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace halfstep;

namespace {
struct Settings {
  std::string optimizer = "sgd:lr=1", lossScale = "none", precision = "half-grad",
              halfType = "fp16", schedule = "constant";
  double clipNorm = 0;
  int64_t accumulate = 1;
};

/// y = x w with w a [1, 1] weight: its gradient is the adjoint of y (1 for the mean of one element)
/// times x, times the scale, in 16 bits.
class Scaled {
public:
  Scaled(const std::string &optimizer, const std::string &lossScale, float weight)
      : Scaled({optimizer, lossScale}, weight) {}
  Scaled(const Settings &settings, double weight) {
    options.recipe.optimizer = settings.optimizer;
    options.recipe.precision = settings.precision;
    options.recipe.lossScale = settings.lossScale;
    options.recipe.halfType = settings.halfType;
    options.recipe.schedule = settings.schedule;
    options.recipe.clipNorm = settings.clipNorm;
    options.recipe.accumulate = settings.accumulate;
    context = makeContext();
    std::string type = "1x1xf32";
    program = std::make_unique<Program>(
        *context,
        forward({input("x", type), parameter("w", type)},
                typed("%y = train.matmul %x, %w", {type, type}, type), type),
        options);
    program->setParameter("w", {weight});
    session().run(HS_INIT);
  }
  runtime::Session &session() { return program->running(); }
  /// One micro-batch.
  void micro(double x) {
    char input[8];
    runtime::convert(&x, HS_F64, input, hs_type(session().artefact().inputs[0].type), 1);
    session().bindInput(0, input);
    session().micro();
  }
  runtime::Record update() {
    session().update();
    return session().record(steps++);
  }
  runtime::Record step(double x) {
    micro(x);
    return update();
  }
  double value(hs_role role, const char *name) {
    const hs_tensor &tensor = *session().find(role, name);
    double value;
    runtime::convert(session().data(tensor), hs_type(tensor.type), &value, HS_F64, 1);
    return value;
  }
  double weight() { return value(HS_PARAMETER, "w"); }
  double scalar(hs_role role, const char *name) {
    return session().readScalar(*session().find(role, name));
  }

private:
  ProgramOptions options;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Program> program;
  uint64_t steps = 0;
};

TEST(HalfGrad, TheSmallestGradientMovesTheMaster) {
  // 2^-24 is the smallest f16 number: as a gradient at scale 65536 it moves the master by 2^-40.
  Scaled plain("sgd:lr=1", "none", 0);
  plain.step(0x1p-24);
  EXPECT_EQ(plain.weight(), -0x1p-24f);
  Scaled scaled("sgd:lr=1", "65536", 0);
  _Float16 smallest = _Float16(0x1p-24);
  scaled.session().write(*scaled.session().find(HS_GRADIENT, "w"), &smallest);
  scaled.session().update();
  EXPECT_EQ(scaled.weight(), -0x1p-40f);
}

TEST(HalfGrad, EpsBelowF16IsNotZero) {
  // A zero gradient divided by sqrt(0) + 1e-8 is zero, not NaN.
  Scaled adam("adam:lr=0.1", "none", 1);
  adam.step(0);
  EXPECT_EQ(adam.weight(), 1.0f);
  Scaled rmsprop("rmsprop:lr=0.1,eps=1e-7", "none", 1);
  rmsprop.step(0);
  EXPECT_EQ(rmsprop.weight(), 1.0f);
}

TEST(HalfGrad, ASecondMomentBelowF16IsKept) {
  // g^2 (1 - alpha) = 2^-26 * 0.01 is no f16 number; the first step is g / sqrt(v) = 1 / 0.1.
  Scaled scaled("rmsprop:lr=1,eps=0", "none", 0);
  scaled.step(0x1p-13);
  EXPECT_NEAR(scaled.weight(), -10, 1e-5);
}

TEST(LossScale, OverflowSkipsAndBacksOff) {
  Scaled scaled("adam:lr=0.1", "dynamic:init_scale=32768", 1);
  EXPECT_FALSE(scaled.step(0.5).skipped);
  float weight = scaled.weight(), moment, after;
  const hs_tensor &slot = *scaled.session().find(HS_OPTIMIZER, "exp_avg/w");
  scaled.session().read(slot, &moment);
  // 4 * 32768 is no f16 number: weights, slots and `applied` keep their bits, data moves on.
  runtime::Record record = scaled.step(4);
  EXPECT_TRUE(record.skipped);
  EXPECT_EQ(record.scale, 32768);
  EXPECT_EQ(scaled.weight(), weight);
  scaled.session().read(slot, &after);
  EXPECT_EQ(moment, after);
  EXPECT_EQ(scaled.scalar(HS_COUNTER, "applied"), 1);
  EXPECT_EQ(scaled.scalar(HS_COUNTER, "iteration"), 2);
  EXPECT_EQ(scaled.scalar(HS_HYPERPARAMETER, "scale"), 16384);
  EXPECT_TRUE(scaled.step(4).skipped); // 65536 is none either
  EXPECT_FALSE(scaled.step(4).skipped);
  EXPECT_EQ(scaled.scalar(HS_HYPERPARAMETER, "scale"), 8192);
  EXPECT_EQ(scaled.scalar(HS_COUNTER, "applied"), 2);
}

TEST(LossScale, GrowsAfterGoodSteps) {
  Scaled scaled("sgd:lr=0.1", "dynamic:init_scale=4,growth_interval=3", 1);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(scaled.step(1).scale, 4);
  EXPECT_EQ(scaled.scalar(HS_COUNTER, "growth"), 2);
  EXPECT_EQ(scaled.step(1).scale, 4);
  EXPECT_EQ(scaled.step(1).scale, 8);
  EXPECT_EQ(scaled.scalar(HS_COUNTER, "growth"), 1);
}

TEST(LossScale, AnOverflowStartsTheCountAnew) {
  // f16 holds up to 65504: at x = 4 the scales 2^17, 2^16, 2^15 and 2^14 overflow.
  Scaled scaled("sgd:lr=0.1", "dynamic:init_scale=131072,growth_interval=5", 1);
  std::vector<double> scales;
  for (int i = 0; i < 12; ++i)
    scales.push_back(scaled.step(i < 3 ? 4 : i == 6 ? 60000 : 1).scale);
  EXPECT_EQ(scales, (std::vector<double>{131072, 65536, 32768, 16384, 16384, 16384, 16384, 8192,
                                         8192, 8192, 8192, 8192}));
  EXPECT_EQ(scaled.step(1).scale, 16384);
}

TEST(LossScale, TheGradientIsUnscaledByTheScaleItHad) {
  // The scale grows after each of these steps: unscaled by the next one, w would fall by a half.
  Scaled scaled("sgd:lr=1", "dynamic:init_scale=4,growth_interval=1", 8);
  for (double expected : {7, 6, 5}) {
    scaled.step(1);
    EXPECT_EQ(scaled.weight(), expected);
  }
}

TEST(LossScale, GoesBelowOne) {
  // 60000 overflows at every scale from 2 on; 30 overflows in a row would end the run.
  Scaled scaled("sgd:lr=1", "dynamic:init_scale=64,backoff_factor=0.125", 0);
  EXPECT_TRUE(scaled.step(60000).skipped);
  EXPECT_TRUE(scaled.step(60000).skipped);
  EXPECT_FALSE(scaled.step(60000).skipped);
  EXPECT_EQ(scaled.weight(), -60000);
  EXPECT_TRUE(scaled.step(INFINITY).skipped);
  EXPECT_EQ(scaled.scalar(HS_HYPERPARAMETER, "scale"), 0.125);
}

TEST(LossScale, ASkippedStepIsNoStepOfTheSchedule) {
  Settings settings{"adam:lr=3e-5", "dynamic:init_scale=65536"};
  settings.schedule = "cosine:t_max=300";
  Scaled scaled(settings, 1);
  EXPECT_TRUE(scaled.step(4).skipped);
  runtime::Record record = scaled.step(0.5);
  EXPECT_EQ(record.lr, 3e-5);
  // Nor of the bias correction: Adam's first step is lr, whatever the gradient.
  EXPECT_NEAR(scaled.weight(), 1 - 3e-5, 1e-7);
  EXPECT_LT(scaled.step(0.5).lr, 3e-5);
}

TEST(LossScale, ClippingSeesUnscaledGradients) {
  Settings settings{"sgd:lr=1", "1024"};
  settings.clipNorm = 1;
  Scaled scaled(settings, 0);
  EXPECT_EQ(scaled.step(0.5).gradNorm, 0.5);
  EXPECT_EQ(scaled.weight(), -0.5);
}

TEST(LossScale, OverflowInOneMicroBatchSkipsTheUpdate) {
  Settings settings{"sgd:lr=1", "dynamic:init_scale=1024"};
  settings.accumulate = 4;
  Scaled scaled(settings, 1);
  for (double x : {1, 60000, 1, 1})
    scaled.micro(x);
  EXPECT_TRUE(scaled.update().skipped);
  EXPECT_EQ(scaled.weight(), 1);
  for (int i = 0; i < 4; ++i)
    scaled.micro(1);
  EXPECT_FALSE(scaled.update().skipped);
  EXPECT_EQ(scaled.weight(), 0); // the mean over the micro-batches
}

TEST(LossScale, AZeroGradientIsAStep) {
  Scaled scaled("sgd:lr=1", "dynamic:init_scale=1024", 1);
  EXPECT_FALSE(scaled.step(0).skipped);
  EXPECT_EQ(scaled.weight(), 1);
  EXPECT_EQ(scaled.scalar(HS_COUNTER, "applied"), 1);
}

/// All 16-bit modes: arithmetic and state of an optimizer are f32.
class HalfOptimizers : public testing::TestWithParam<std::pair<const char *, const char *>> {
protected:
  Settings settings(const std::string &optimizer) {
    return {optimizer, "none", GetParam().first, GetParam().second};
  }
};

TEST_P(HalfOptimizers, AZeroGradientMovesNothing) {
  for (std::string optimizer : {"adam", "adamw:weight_decay=0", "rmsprop", "sgd:momentum=0.9"}) {
    Scaled scaled(settings(optimizer), 1);
    for (int i = 0; i < 3; ++i)
      EXPECT_FALSE(scaled.step(0).skipped);
    EXPECT_EQ(scaled.weight(), 1) << optimizer;
  }
}

TEST_P(HalfOptimizers, StateIsNotRoundedTo16Bits) {
  // 1e-3 (1e-5)^2 = 1e-13 is no f16 number; bf16 and f16 round g itself.
  Scaled adam(settings("adam"), 0);
  adam.step(1e-5);
  double g = adam.value(HS_OPTIMIZER, "exp_avg/w") / 0.1;
  EXPECT_NEAR(g, 1e-5, 1e-5 * 0x1p-7);
  EXPECT_NEAR(adam.value(HS_OPTIMIZER, "exp_avg_sq/w"), 1e-3 * g * g, 1e-18);
}

INSTANTIATE_TEST_SUITE_P(Modes, HalfOptimizers,
                         testing::Values(std::pair{"autocast", "fp16"},
                                         std::pair{"half-grad", "fp16"},
                                         std::pair{"half-grad", "bf16"}, std::pair{"half", "fp16"},
                                         std::pair{"half", "bf16"}));

TEST(HalfGrad, TheFirstStepOfAdamIsTheSignOfTheGradient) {
  for (auto [w, g] : {std::pair{0.579, -0.001497}, {-0.729, 0.0001875}, {0.5493, -0.013176}}) {
    Scaled scaled("adam:lr=1e-4", "none", w);
    double before = scaled.weight();
    scaled.step(g);
    EXPECT_NEAR(scaled.weight() - before, g < 0 ? 1e-4 : -1e-4, 1e-7);
  }
}

TEST(HalfGrad, EpsIsWherePyTorchHasIt) {
  // RMSprop: lr g / (sqrt((1 - alpha) g^2) + eps); with eps inside the root it would be 9.0e-5.
  Scaled rmsprop("rmsprop:lr=3e-5,alpha=0.99,eps=1e-7", "none", 0);
  rmsprop.step(0x1p-10);
  EXPECT_NEAR(rmsprop.weight(), -3e-5 * 0x1p-10 / (0x1p-10 * 0.1 + 1e-7), 1e-9);
  // Adam: eps is added to the corrected root; to the uncorrected one it would be lr * 0.03.
  Scaled adam("adam:lr=1,eps=5.9604644775390625e-8", "none", 0);
  adam.step(0x1p-24);
  EXPECT_NEAR(adam.weight(), -0.5, 1e-6);
}

TEST(HalfGrad, MastersTakeStepsBelowTheirCopies) {
  // 100 steps of 2^-11: at 1 a bf16 weight cannot move by less than 2^-9 down.
  for (auto [mode, expected] : {std::pair{"half-grad", 1 - 100 * 0x1p-11}, {"half", 1.0}}) {
    Settings settings{"sgd:lr=1", "none", mode, "bf16"};
    Scaled scaled(settings, 1);
    for (int i = 0; i < 100; ++i)
      scaled.step(0x1p-11);
    EXPECT_EQ(scaled.weight(), expected) << mode;
  }
}

TEST(Accumulation, SumsOf16BitGradientsAreF32) {
  // 2048 gradients of 1 and one more: in f16 their sum sticks at 2048. Unscaled, they are averaged.
  Settings settings{"sgd:lr=2049", "2049"};
  settings.accumulate = 2049;
  Scaled scaled(settings, 0);
  for (int i = 0; i < 2049; ++i)
    scaled.micro(1);
  scaled.update();
  EXPECT_NEAR(scaled.weight(), -2049, 0.1);
}
} // namespace
