//===- c_interface_test.cpp - The shared library as a host program sees it --------------------===//
//
// Linked against libhalfstep.so alone: what Models.h offers in C++ is not to be had here.
//
//===------------------------------------------------------------------------------------------===//

#include "halfstep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <string>

namespace {

const std::string model = MODEL_DIR "/LinearModel.so";

class CInterface : public testing::Test {
protected:
  void SetUp() override {
    std::string header = R"({"fc.weight":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}})";
    uint64_t length = header.size();
    const float values[] = {1, -2, 3, 0.5, 0.25};
    std::ofstream file(weights, std::ios::binary);
    file.write(reinterpret_cast<char *>(&length), 8) << header;
    file.write(reinterpret_cast<const char *>(values), sizeof values);
    file.close();
    session = hs_open(model.c_str(), weights.c_str(), 1);
    ASSERT_NE(session, nullptr) << hs_last_error();
  }
  void TearDown() override {
    hs_close(session);
    remove(weights.c_str());
    remove(checkpoint.c_str());
  }

  hs_record step(uint64_t iteration) {
    hs_record record;
    EXPECT_EQ(hs_run(session, HS_MICRO), HS_OK) << hs_last_error();
    EXPECT_EQ(hs_run(session, HS_UPDATE), HS_OK) << hs_last_error();
    EXPECT_EQ(hs_read_record(session, iteration, &record), HS_OK);
    return record;
  }

  void expectFailure(hs_status status, const std::string &message) {
    EXPECT_EQ(status, HS_ERROR);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, message, std::string(hs_last_error()));
  }

  std::string folder = testing::TempDir();
  std::string weights = folder + "c_interface.weights", checkpoint = folder + "c_interface.ckpt";
  hs_session *session = nullptr;
  float x[20] = {1, 0, 0, 0, 0, 0, 1}, label[4] = {0, 1, 2, 3};
};

TEST_F(CInterface, TrainsSavesAndRestores) {
  EXPECT_EQ(hs_version(), HALFSTEP_API_VERSION);
  EXPECT_EQ(hs_describe(session)->input_count, 2u);
  ASSERT_EQ(hs_bind(session, 0, x), HS_OK);
  ASSERT_EQ(hs_bind(session, 1, label), HS_OK);
  // Predictions are 1, -2, 0, 0.
  EXPECT_EQ(step(0).loss, (1 + 9 + 4 + 9) / 4.0);
  ASSERT_EQ(hs_save(session, checkpoint.c_str()), HS_OK) << hs_last_error();
  hs_record second = step(1);
  EXPECT_LT(second.loss, 5.75);
  EXPECT_EQ(second.iteration, 2);
  EXPECT_EQ(second.skipped, 0);
  EXPECT_TRUE(std::isnan(second.grad_norm));

  ASSERT_EQ(hs_restore(session, checkpoint.c_str()), HS_OK) << hs_last_error();
  EXPECT_EQ(step(1).loss, second.loss);
}

TEST_F(CInterface, ReadsAndWritesTensors) {
  const hs_tensor *weight = hs_find(session, HS_PARAMETER, "fc.weight");
  ASSERT_NE(weight, nullptr);
  float values[5] = {};
  ASSERT_EQ(hs_read(session, weight, values), HS_OK);
  EXPECT_EQ(values[1], -2);
  const hs_tensor *lr = hs_find(session, HS_HYPERPARAMETER, "lr");
  double zero = 0;
  ASSERT_EQ(hs_write(session, lr, &zero), HS_OK);
  ASSERT_EQ(hs_bind(session, 0, x), HS_OK);
  ASSERT_EQ(hs_bind(session, 1, label), HS_OK);
  EXPECT_EQ(step(0).lr, 0);
  EXPECT_EQ(step(1).loss, 5.75);
  EXPECT_EQ(hs_find(session, HS_PARAMETER, "none"), nullptr);
}

TEST_F(CInterface, ReturnsErrors) {
  expectFailure(hs_run(session, HS_MICRO), "input 'x' has no data");
  expectFailure(hs_run(session, HS_PROGRAM_COUNT), "no such program");
  expectFailure(hs_bind(session, 2, x), "has no input 2");
  expectFailure(hs_read(session, hs_find(session, HS_INPUT, "x"), x), "'x' is an input");
  expectFailure(hs_write(session, hs_find(session, HS_LABEL, "label"), x), "'label' is an input");
  expectFailure(hs_save(session, "/no/such/folder/file"), "/no/such/folder/file: cannot write");
  expectFailure(hs_restore(session, weights.c_str()), "is not a checkpoint");

  auto expectNoSession = [&](const char *path, const char *weights, int threads,
                             const std::string &message) {
    EXPECT_EQ(hs_open(path, weights, threads), nullptr);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, message, std::string(hs_last_error()));
  };
  expectNoSession("none", nullptr, 1, "none: cannot open");
  expectNoSession(model.c_str(), nullptr, 1, "carries no weights");
  expectNoSession(model.c_str(), weights.c_str(), 0, "the number of threads must be at least 1");
  expectNoSession(model.c_str(), model.c_str(), 1, "LinearModel.so: announces a header");
  hs_close(nullptr);
}

TEST(SharedLibrary, ShowsNothingElse) {
  EXPECT_NE(dlsym(RTLD_DEFAULT, "hs_open"), nullptr);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "_ZN8halfstep7runtime7Session5clearEv"), nullptr);
}

} // namespace
