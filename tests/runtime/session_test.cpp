//===- session_test.cpp - Training with a hand-written artefact -------------------------------===//

#include "Models.h"

#include "runtime/Half.h"
#include "runtime/Memory.h"

#include <cmath>
#include <cstring>

using namespace halfstep::runtime;

namespace {

std::vector<float> weightOf(const Session &session) {
  std::vector<float> weight(startWeight.size());
  session.read(*session.find(HS_PARAMETER, "fc.weight"), weight.data());
  return weight;
}

// LinearModel's step in plain C++, with the operations in the same order.
struct Reference {
  std::vector<float> w = startWeight, m = std::vector<float>(5, 0.0f);

  double step(const Batch &batch, double lr) {
    std::vector<float> gradient(5, 0.0f);
    double loss = 0;
    for (int i = 0; i < 4; ++i) {
      float prediction = 0;
      for (int j = 0; j < 5; ++j)
        prediction += batch.x[i * 5 + j] * w[size_t(j)];
      float difference = prediction - batch.label[i];
      loss += double(difference) * difference;
      for (int j = 0; j < 5; ++j)
        gradient[size_t(j)] += batch.x[i * 5 + j] * (difference * 0.5f);
    }
    for (size_t j = 0; j < 5; ++j) {
      m[j] = 0.9f * m[j] + gradient[j];
      w[j] -= float(lr) * m[j];
    }
    return loss / 4;
  }
};

TEST(Session, TrainsAsTheReferenceForAnyThreads) {
  for (int threads : {1, 2, 3}) {
    auto session = startSession(threads);
    Reference reference;
    for (int step = 0; step < 100; ++step) {
      trainOneStep(*session, step);
      Record record = session->record(uint64_t(step));
      ASSERT_EQ(record.loss, reference.step(Batch(step), 0.125)) << step;
      ASSERT_EQ(record.iteration, step + 1);
      ASSERT_EQ(record.applied, step + 1);
      ASSERT_EQ(record.lr, 0.125);
    }
    EXPECT_EQ(weightOf(*session), reference.w);
  }
}

TEST(Session, KeepsTheLast64Records) {
  auto session = startSession();
  std::vector<double> losses;
  for (int step = 0; step < 100; ++step) {
    trainOneStep(*session, step);
    losses.push_back(session->record(uint64_t(step)).loss);
  }
  for (uint64_t step = 36; step < 100; ++step)
    EXPECT_EQ(session->record(step).loss, losses[step]);
  Record record = session->record(99);
  EXPECT_EQ(record.scale, 1);
  EXPECT_TRUE(std::isnan(record.gradNorm));
  EXPECT_FALSE(record.skipped);
}

TEST(Session, FindsByRoleAndName) {
  auto session = startSession();
  EXPECT_EQ(session->find(HS_PARAMETER, "fc.weight")->role, HS_PARAMETER);
  EXPECT_EQ(session->find(HS_GRADIENT, "fc.weight")->role, HS_GRADIENT);
  EXPECT_EQ(session->find(HS_INPUT, "x"), &session->artefact().inputs[0]);
  EXPECT_EQ(session->find(HS_LABEL, "label"), &session->artefact().inputs[1]);
  EXPECT_EQ(session->find(HS_INPUT, "label"), nullptr);
  EXPECT_EQ(session->find(HS_PARAMETER, "fc"), nullptr);
}

TEST(Session, HyperparametersCanBeSet) {
  auto session = startSession();
  const hs_tensor &lr = *session->find(HS_HYPERPARAMETER, "lr");
  EXPECT_EQ(session->readScalar(lr), 0.125);
  session->writeScalar(lr, 0.03125);
  Reference reference;
  trainOneStep(*session, 0);
  reference.step(Batch(0), 0.03125);
  EXPECT_EQ(weightOf(*session), reference.w);
  EXPECT_EQ(session->record(0).lr, 0.03125);
}

TEST(Session, EvaluatesAndInfersWithoutTraining) {
  auto session = startSession();
  Batch batch(3);
  session->bindInput(0, batch.x);
  session->infer(); // reads no label
  float prediction[4];
  session->read(*session->find(HS_OUTPUT, "prediction"), prediction);
  float expected = 0;
  for (size_t j = 0; j < 5; ++j)
    expected += batch.x[j] * startWeight[j];
  EXPECT_EQ(prediction[0], expected);

  EXPECT_ERROR(session->evaluate(), "input 'label' has no data");
  session->bindInput(1, batch.label);
  session->evaluate();
  EXPECT_EQ(session->readScalar(*session->find(HS_METRIC, "loss")), Reference().step(batch, 0));
  EXPECT_EQ(weightOf(*session), startWeight);
}

TEST(Session, StartsFromFreshStateAgain) {
  auto session = startSession();
  for (int step = 0; step < 3; ++step)
    trainOneStep(*session, step);
  std::string weights = weightsFile(startWeight);
  session->initialise(Safetensors::parse("weights", weights));
  trainOneStep(*session, 0);
  EXPECT_EQ(session->record(0).loss, Reference().step(Batch(0), 0));
  EXPECT_EQ(session->record(0).iteration, 1);
}

// Values that every float type represents.
TEST(Session, LoadsParametersOfOtherFloatTypes) {
  auto session = startSession();
  std::vector<float> values = {1, -2, 0.5, 0, 384};
  std::vector<uint16_t> half, bfloat;
  for (float value : values) {
    half.push_back(floatToHalf(value));
    bfloat.push_back(floatToBfloat(value));
  }
  std::vector<double> wide(values.begin(), values.end());
  for (NamedTensor tensor : {NamedTensor{"fc.weight", HS_F16, {5}, half.data(), 10},
                             NamedTensor{"fc.weight", HS_BF16, {5}, bfloat.data(), 10},
                             NamedTensor{"fc.weight", HS_F64, {5}, wide.data(), 40}}) {
    std::string weights = weightsFile(startWeight);
    session->loadParameters(Safetensors::parse("weights", weights));
    std::string other = fileOf({tensor});
    session->loadParameters(Safetensors::parse("other", other));
    EXPECT_EQ(weightOf(*session), values);
  }
}

TEST(Session, RefusesWeightsOfAnotherModel) {
  auto session = startSession();
  std::vector<float> values(6, 7.0f);
  std::vector<int32_t> integers(5, 7);
  auto load = [&](NamedTensor tensor) {
    std::string bytes = fileOf({tensor});
    session->loadParameters(Safetensors::parse("other.safetensors", bytes));
  };
  EXPECT_ERROR(load({"fc.bias", HS_F32, {5}, values.data(), 20}),
               "other.safetensors: has no parameter 'fc.weight'");
  EXPECT_ERROR(load({"fc.weight", HS_F32, {6}, values.data(), 24}),
               "other.safetensors: parameter 'fc.weight' is F32[6], the model has F32[5]");
  EXPECT_ERROR(load({"fc.weight", HS_I32, {5}, integers.data(), 20}),
               "parameter 'fc.weight' is I32[5], the model has F32[5]");
  EXPECT_EQ(weightOf(*session), startWeight);
}

TEST(Session, ClearsASlice) {
  auto session = startSession();
  hs_slice slice = session->find(HS_PARAMETER, "fc.weight")->slice;
  slice.bytes = 2 * sizeof(float);
  session->clear(slice);
  EXPECT_EQ(weightOf(*session), (std::vector<float>{0, 0, 3, 0.5, 0.25}));
}

TEST(Session, SaysWhenMemoryIsNotEnough) {
  EXPECT_ERROR(Memory("state", uint64_t(1) << 60), "cannot reserve 1152921504606846976 bytes");
}

} // namespace
