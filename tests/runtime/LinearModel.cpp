//===- LinearModel.cpp - An artefact written by hand ------------------------------------------===//
//
// Linear regression with momentum, as code generation would print it: tables and range kernels in a
// shared object of its own. Every kind of program, role and entry but `gemm` occurs. The step is
//
//   prediction = x w,  loss = mean((prediction - label)^2),  m = 0.9 m + dw,  w = w - lr m
//
// Forward reads a copy of w that only `init` and `update` write, as a 16-bit copy would be. The
// macros make other models of it: see CMakeLists.txt.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/step_abi.h"

#include <cstdint>

#ifndef FEATURES
#define FEATURES 5
#endif
#ifndef ABI_VERSION
#define ABI_VERSION HALFSTEP_ABI_VERSION
#endif
#ifndef CPU_FEATURES
#define CPU_FEATURES "avx2,fma"
#endif
#ifndef GRAPH_HASH
#define GRAPH_HASH "abc123"
#endif

static constexpr int64_t batch = 4, features = FEATURES;

// State: a slice for each tensor, then the scalars and records.
static constexpr uint64_t vectorBytes = (features * 4 + 63) / 64 * 64;
static constexpr uint64_t recordBytes = 64 * 8;
static constexpr hs_slice inState(uint64_t vectors, uint64_t scalars, uint64_t records,
                                  uint64_t bytes) {
  return {HS_BUFFER_STATE, vectors * vectorBytes + scalars * 64 + records * recordBytes, bytes};
}
static constexpr hs_slice weight = inState(0, 0, 0, features * 4);
static constexpr hs_slice copyOfWeight = inState(1, 0, 0, features * 4);
static constexpr hs_slice gradient = inState(2, 0, 0, features * 4);
static constexpr hs_slice momentum = inState(3, 0, 0, features * 4);
static constexpr hs_slice iteration = inState(4, 0, 0, 8);
static constexpr hs_slice applied = inState(4, 1, 0, 8);
static constexpr hs_slice learningRate = inState(4, 2, 0, 8);
static constexpr hs_slice records = inState(4, 3, 0, 4 * recordBytes); // four columns
static constexpr uint64_t stateBytes = records.offset + records.bytes;

static constexpr hs_slice prediction = {HS_BUFFER_ARENA, 0, batch * 4};
static constexpr hs_slice predictionAdjoint = {HS_BUFFER_ARENA, 64, batch * 4};
static constexpr hs_slice loss = {HS_BUFFER_ARENA, 128, 8};
static constexpr uint64_t arenaBytes = 192;

static constexpr hs_slice x = {HS_BUFFER_INPUTS, 0, batch *features * 4};
static constexpr hs_slice label = {HS_BUFFER_INPUTS + 1, 0, batch * 4};

//===------------------------------------------------------------------------------------------===//
// Kernels
//===------------------------------------------------------------------------------------------===//

template <typename T> static T *at(void *const *buffers, int index) {
  return static_cast<T *>(buffers[index]);
}

// x, w, prediction
static void multiply(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < features; ++j)
      sum += at<float>(buffers, 0)[i * features + j] * at<float>(buffers, 1)[j];
    at<float>(buffers, 2)[i] = sum;
  }
}

// prediction, label, adjoint of prediction, loss
static void meanSquare(void *const *buffers, int64_t, int64_t) {
  double sum = 0;
  for (int64_t i = 0; i < batch; ++i) {
    float difference = at<float>(buffers, 0)[i] - at<float>(buffers, 1)[i];
    at<float>(buffers, 2)[i] = difference * (2.0f / batch);
    sum += double(difference) * difference;
  }
  *at<double>(buffers, 3) = sum / batch;
}

// x, adjoint of prediction, gradient
static void multiplyTransposed(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t j = lo; j < hi; ++j)
    for (int64_t i = 0; i < batch; ++i)
      at<float>(buffers, 2)[j] +=
          at<float>(buffers, 0)[i * features + j] * at<float>(buffers, 1)[i];
}

// gradient, momentum, w, copy of w, lr
static void applyMomentum(void *const *buffers, int64_t lo, int64_t hi) {
  for (int64_t j = lo; j < hi; ++j) {
    float &m = at<float>(buffers, 1)[j], &w = at<float>(buffers, 2)[j];
    m = 0.9f * m + at<float>(buffers, 0)[j];
    w -= float(*at<double>(buffers, 4)) * m;
    at<float>(buffers, 3)[j] = w;
  }
}

// loss, lr, iteration, applied, records: loss, lr, iteration, applied
static void advance(void *const *buffers, int64_t, int64_t) {
  double &count = *at<double>(buffers, 2), &updates = *at<double>(buffers, 3);
  double *row = at<double>(buffers, 4) + uint64_t(count) % 64;
  row[0] = *at<double>(buffers, 0);
  row[64] = *at<double>(buffers, 1);
  row[128] = ++count;
  row[192] = ++updates;
}

//===------------------------------------------------------------------------------------------===//
// Tables
//===------------------------------------------------------------------------------------------===//

static const hs_launch launchMultiply = {multiply, batch, 1};
static const hs_launch launchMeanSquare = {meanSquare, 1, 1};
static const hs_launch launchMultiplyTransposed = {multiplyTransposed, features, 2};
static const hs_launch launchApplyMomentum = {applyMomentum, features, 2};
static const hs_launch launchAdvance = {advance, 1, 1};

static const hs_slice multiplySlices[] = {x, copyOfWeight, prediction};
static const hs_slice meanSquareSlices[] = {prediction, label, predictionAdjoint, loss};
static const hs_slice fillSlices[] = {gradient};
static const hs_slice transposedSlices[] = {x, predictionAdjoint, gradient};
static const hs_slice momentumSlices[] = {gradient, momentum, weight, copyOfWeight, learningRate};
static const hs_slice advanceSlices[] = {loss, learningRate, iteration, applied, records};
static const hs_slice initSlices[] = {copyOfWeight, weight};

static const hs_entry initEntries[] = {{HS_COPY, 2, initSlices, nullptr, "copy", "", nullptr}};
static const hs_entry microEntries[] = {
    {HS_LAUNCH, 3, multiplySlices, &launchMultiply, "multiply", "fc", nullptr},
    {HS_LAUNCH, 4, meanSquareSlices, &launchMeanSquare, "mean_square", "loss", nullptr},
    {HS_FILL, 1, fillSlices, nullptr, "fill", "", nullptr},
    {HS_LAUNCH, 3, transposedSlices, &launchMultiplyTransposed, "multiply_transposed", "fc", nullptr}};
static const hs_entry updateEntries[] = {
    {HS_LAUNCH, 5, momentumSlices, &launchApplyMomentum, "apply_momentum", "", nullptr},
    {HS_LAUNCH, 5, advanceSlices, &launchAdvance, "advance", "", nullptr}};

static const int64_t xShape[] = {batch, features}, labelShape[] = {batch}, wShape[] = {features};
static const int64_t recordShape[] = {64};

static constexpr hs_slice recordColumn(uint64_t column) {
  return {HS_BUFFER_STATE, records.offset + column * recordBytes, recordBytes};
}

static const hs_tensor inputs[] = {
    {"x", HS_INPUT, HS_F32, 2, 0, xShape, x, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"label", HS_LABEL, HS_F32, 1, 0, labelShape, label, 0, 0, INT64_MIN, HS_F32, nullptr}};
static const hs_tensor tensors[] = {
    {"fc.weight", HS_PARAMETER, HS_F32, 1, 1, wShape, weight, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"fc.weight", HS_GRADIENT, HS_F32, 1, 0, wShape, gradient, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"momentum/fc.weight", HS_OPTIMIZER, HS_F32, 1, 0, wShape, momentum, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"iteration", HS_COUNTER, HS_F64, 0, 0, nullptr, iteration, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"applied", HS_COUNTER, HS_F64, 0, 0, nullptr, applied, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"lr", HS_HYPERPARAMETER, HS_F64, 0, 0, nullptr, learningRate, 0.125, 0, INT64_MIN, HS_F32, nullptr},
    {"loss", HS_RECORD, HS_F64, 1, 0, recordShape, recordColumn(0), 0, 0, INT64_MIN, HS_F32, nullptr},
    {"lr", HS_RECORD, HS_F64, 1, 0, recordShape, recordColumn(1), 0, 0, INT64_MIN, HS_F32, nullptr},
    {"iteration", HS_RECORD, HS_F64, 1, 0, recordShape, recordColumn(2), 0, 0, INT64_MIN, HS_F32, nullptr},
    {"applied", HS_RECORD, HS_F64, 1, 0, recordShape, recordColumn(3), 0, 0, INT64_MIN, HS_F32, nullptr},
    {"prediction", HS_OUTPUT, HS_F32, 1, 0, labelShape, prediction, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"loss", HS_METRIC, HS_F64, 0, 0, nullptr, loss, 0, 0, INT64_MIN, HS_F32, nullptr}};

static const hs_artefact artefact = {ABI_VERSION,
                                     2,
                                     sizeof tensors / sizeof *tensors,
                                     inputs,
                                     tensors,
                                     stateBytes,
                                     arenaBytes,
                                     0,
                                     2,
                                     1,
                                     "{\"optimizer\":\"sgd:lr=0.125,momentum=0.9\"}",
                                     GRAPH_HASH,
                                     CPU_FEATURES,
                                     nullptr,
                                     {{1, initEntries},
                                      {4, microEntries},
                                      {2, updateEntries},
                                      {2, microEntries},   // evaluate: prediction and loss
                                      {1, microEntries}}}; // infer: prediction

extern "C" const hs_artefact *halfstep_query(uint32_t version) {
  return version == ABI_VERSION ? &artefact : nullptr;
}
