//===- MaskedModel.cpp - An artefact with a legal infinity ------------------------------------===//
//
// For the search for what breaks down: an infinity that is there on purpose, a kernel with values
// of both passes, a gradient in 16 bits, and memory that is used twice. On four numbers:
//
//   masked = x > 0 ? x w : -inf,  weighted = exp(masked),  loss = sum(weighted)
//   adjoint = f16(scale weighted), in masked's memory,  dw = adjoint x,  w = w - lr dw
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Half.h"
#include "runtime/step_abi.h"

#include <cmath>
#include <cstdint>

using halfstep::runtime::floatToHalf;
using halfstep::runtime::halfToFloat;

static constexpr int64_t count = 4;

static constexpr hs_slice weight = {HS_BUFFER_STATE, 0, count * 4};
static constexpr hs_slice gradient = {HS_BUFFER_STATE, 64, count * 4};
static constexpr hs_slice loss = {HS_BUFFER_STATE, 128, 8};
static constexpr hs_slice scale = {HS_BUFFER_STATE, 192, 8};
static constexpr hs_slice learningRate = {HS_BUFFER_STATE, 256, 8};

static constexpr hs_slice masked = {HS_BUFFER_ARENA, 0, count * 4};
static constexpr hs_slice adjoint = {HS_BUFFER_ARENA, 0, count * 2};
static constexpr hs_slice weighted = {HS_BUFFER_ARENA, 64, count * 4};

static constexpr hs_slice x = {HS_BUFFER_INPUTS, 0, count * 4};

template <typename T> static T *at(void *const *buffers, int index) {
  return static_cast<T *>(buffers[index]);
}

static void mask(void *const *buffers, int64_t, int64_t) {
  for (int64_t i = 0; i < count; ++i) {
    float value = at<float>(buffers, 0)[i];
    at<float>(buffers, 2)[i] = value > 0 ? value * at<float>(buffers, 1)[i] : -INFINITY;
  }
}

static void exponential(void *const *buffers, int64_t, int64_t) {
  for (int64_t i = 0; i < count; ++i)
    at<float>(buffers, 1)[i] = std::exp(at<float>(buffers, 0)[i]);
}

static void sum(void *const *buffers, int64_t, int64_t) {
  *at<double>(buffers, 2) = 0;
  for (int64_t i = 0; i < count; ++i) {
    float value = at<float>(buffers, 0)[i];
    *at<double>(buffers, 2) += value;
    at<uint16_t>(buffers, 3)[i] = floatToHalf(value * float(*at<double>(buffers, 1)));
  }
}

static void multiply(void *const *buffers, int64_t, int64_t) {
  for (int64_t i = 0; i < count; ++i)
    at<float>(buffers, 2)[i] = halfToFloat(at<uint16_t>(buffers, 0)[i]) * at<float>(buffers, 1)[i];
}

static void descend(void *const *buffers, int64_t, int64_t) {
  for (int64_t i = 0; i < count; ++i)
    at<float>(buffers, 2)[i] -= float(*at<double>(buffers, 1)) * at<float>(buffers, 0)[i];
}

static constexpr hs_use reads(hs_type type) { return {type, 1, 0, 0}; }
static constexpr hs_use writes(hs_type type) { return {type, 0, 1, 0}; }
static constexpr hs_use writesGradient(hs_type type) { return {type, 0, 1, 1}; }

static const hs_slice maskSlices[] = {x, weight, masked}, expSlices[] = {masked, weighted},
                      sumSlices[] = {weighted, scale, loss, adjoint},
                      multiplySlices[] = {adjoint, x, gradient},
                      descendSlices[] = {gradient, learningRate, weight};
static const hs_use maskUses[] = {reads(HS_F32), reads(HS_F32), writes(HS_F32)},
                    expUses[] = {reads(HS_F32), writes(HS_F32)},
                    sumUses[] = {reads(HS_F32), reads(HS_F64), writes(HS_F64),
                                 writesGradient(HS_F16)},
                    multiplyUses[] = {reads(HS_F16), reads(HS_F32), writesGradient(HS_F32)},
                    descendUses[] = {reads(HS_F32), reads(HS_F64), {HS_F32, 1, 1, 0}};
static const hs_launch launchMask = {mask, 1, 1}, launchExp = {exponential, 1, 1},
                       launchSum = {sum, 1, 1}, launchMultiply = {multiply, 1, 1},
                       launchDescend = {descend, 1, 1};

static const hs_entry microEntries[] = {
    {HS_LAUNCH, 3, maskSlices, &launchMask, "k0", "mask", maskUses},
    {HS_LAUNCH, 2, expSlices, &launchExp, "k1", "exp", expUses},
    {HS_LAUNCH, 4, sumSlices, &launchSum, "k2", "sum, exp", sumUses},
    {HS_LAUNCH, 3, multiplySlices, &launchMultiply, "k3", "mask", multiplyUses}};
static const hs_entry updateEntries[] = {
    {HS_LAUNCH, 3, descendSlices, &launchDescend, "k4", "", descendUses}};

static const int64_t shape[] = {count};
static const hs_tensor inputs[] = {
    {"x", HS_INPUT, HS_F32, 1, 0, shape, x, 0, 0, INT64_MIN, HS_F32, nullptr}};
static const hs_tensor tensors[] = {
    {"w", HS_PARAMETER, HS_F32, 1, 1, shape, weight, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"w", HS_GRADIENT, HS_F32, 1, 0, shape, gradient, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"running_loss", HS_COUNTER, HS_F64, 0, 0, nullptr, loss, 0, 0, INT64_MIN, HS_F32, nullptr},
    {"scale", HS_HYPERPARAMETER, HS_F64, 0, 0, nullptr, scale, 1, 0, INT64_MIN, HS_F32, nullptr},
    {"lr", HS_HYPERPARAMETER, HS_F64, 0, 0, nullptr, learningRate, 0.125, 0, INT64_MIN, HS_F32, nullptr}};

static const hs_artefact artefact = {
    HALFSTEP_ABI_VERSION, 1, 5, inputs, tensors, 320, 128, 0, 1, 1, "{}", "00", "", nullptr,
    {{}, {4, microEntries}, {1, updateEntries}, {}, {}}};

extern "C" const hs_artefact *halfstep_query(uint32_t version) {
  return version == HALFSTEP_ABI_VERSION ? &artefact : nullptr;
}
