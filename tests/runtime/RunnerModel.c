//===- RunnerModel.c - An artefact for data, loop and runner ---------------------------------===//
//
// An artefact written by hand: linear regression of one output on three features, four samples a
// batch, loss mean((x w - label)^2), stochastic gradient descent with momentum 1/2. What the
// compiler prints as tables is written as tables here, so that data, loop and runner are tested
// without it.
//
//   MICRO_BATCHES      micro-batches of a step (default 1)
//   INPUT_SLOTS        staging slots of each input (default 2)
//   LABEL, LABEL_TYPE  the label's type in C and in the directory (default float, HS_F32)
//   CLASSES            the labels are ids of so many classes, -100 has no loss (default 0)
//   WITH_EPOCH         a counter "epoch", whose last value the record "grad_norm" shows
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/step_abi.h"

#include <math.h>
#include <stddef.h>

#ifndef MICRO_BATCHES
#define MICRO_BATCHES 1
#endif
#ifndef INPUT_SLOTS
#define INPUT_SLOTS 2
#endif
#ifndef LABEL
#define LABEL float
#define LABEL_TYPE HS_F32
#endif
#ifndef CLASSES
#define CLASSES 0
#endif

enum { BATCH = 4, FEATURES = 3 };

typedef LABEL label_t;
#define IGNORED_CLASS (CLASSES ? -100 : INT64_MIN)

// The state, in the order of its directory below.
typedef struct {
  _Alignas(64) float weight[FEATURES];
  _Alignas(64) float momentum[FEATURES];
  _Alignas(64) float gradient[FEATURES];
  _Alignas(64) double iteration;
  _Alignas(64) double applied;
  _Alignas(64) double epoch;
  _Alignas(64) double lr;
  _Alignas(64) double loss_sum;
  _Alignas(64) double loss[64], lr_record[64], scale[64], grad_norm[64], skipped[64];
  _Alignas(64) double iteration_record[64], applied_record[64];
} state_t;

typedef struct {
  _Alignas(64) float y[BATCH];
  _Alignas(64) double loss;
  _Alignas(64) double mae;
} arena_t;

static float predict(const float *x, const float *weight) {
  return x[0] * weight[0] + x[1] * weight[1] + x[2] * weight[2];
}

// buffers: state, x, label
static void micro(void *const *buffers, int64_t lo, int64_t hi) {
  state_t *state = buffers[0];
  const float *x = buffers[1];
  const label_t *label = buffers[2];
  for (int64_t i = 0; i < BATCH; ++i) {
    if ((double)label[i] == IGNORED_CLASS)
      continue;
    float difference = predict(x + i * FEATURES, state->weight) - (float)label[i];
    state->loss_sum += (double)(difference * difference) / (BATCH * MICRO_BATCHES);
    for (int j = 0; j < FEATURES; ++j)
      state->gradient[j] += 2 * difference * x[i * FEATURES + j] / (BATCH * MICRO_BATCHES);
  }
}

// buffers: state. An infinite loss stands for an overflow of the scaled loss: the update is
// skipped.
static void update(void *const *buffers, int64_t lo, int64_t hi) {
  state_t *state = buffers[0];
  int row = (int)((int64_t)state->iteration % 64);
  int skipped = isinf(state->loss_sum);
  for (int j = 0; j < FEATURES; ++j) {
    if (!skipped) {
      state->momentum[j] = 0.5f * state->momentum[j] + state->gradient[j];
      state->weight[j] -= (float)state->lr * state->momentum[j];
    }
    state->gradient[j] = 0;
  }
  state->iteration += 1;
  state->applied += !skipped;
  state->loss[row] = state->loss_sum;
  state->lr_record[row] = state->lr;
  state->scale[row] = 65536;
#ifdef WITH_EPOCH
  state->grad_norm[row] = state->epoch;
#else
  state->grad_norm[row] = 1.25;
#endif
  state->skipped[row] = skipped;
  state->iteration_record[row] = state->iteration;
  state->applied_record[row] = state->applied;
  state->loss_sum = 0;
}

// buffers: state, arena, x
static void infer(void *const *buffers, int64_t lo, int64_t hi) {
  const state_t *state = buffers[0];
  arena_t *arena = buffers[1];
  const float *x = buffers[2];
  for (int64_t i = 0; i < BATCH; ++i)
    arena->y[i] = predict(x + i * FEATURES, state->weight);
}

// buffers: state, arena, x, label
static void evaluate(void *const *buffers, int64_t lo, int64_t hi) {
  const state_t *state = buffers[0];
  arena_t *arena = buffers[1];
  const float *x = buffers[2];
  const label_t *label = buffers[3];
  arena->loss = arena->mae = 0;
  for (int64_t i = 0; i < BATCH; ++i) {
    if ((double)label[i] == IGNORED_CLASS)
      continue;
    double difference = predict(x + i * FEATURES, state->weight) - (float)label[i];
    arena->loss += difference * difference / BATCH;
    arena->mae += fabs(difference) / BATCH;
  }
}

#define STATE_SLICE                                                                                \
  { HS_BUFFER_STATE, 0, sizeof(state_t) }
#define ARENA_SLICE                                                                                \
  { HS_BUFFER_ARENA, 0, sizeof(arena_t) }
#define X_SLICE                                                                                    \
  { HS_BUFFER_INPUTS, 0, BATCH *FEATURES * sizeof(float) }
#define LABEL_SLICE                                                                                \
  { HS_BUFFER_INPUTS + 1, 0, BATCH * sizeof(label_t) }

#define ENTRY(NAME, ...)                                                                           \
  static const hs_slice NAME##_slices[] = {__VA_ARGS__};                                           \
  static const hs_launch NAME##_launch = {NAME, 1, 1};                                             \
  static const hs_entry NAME##_entry = {HS_LAUNCH,     sizeof NAME##_slices / sizeof(hs_slice),    \
                                        NAME##_slices, &NAME##_launch,                             \
                                        #NAME,         "", NULL};

ENTRY(micro, STATE_SLICE, X_SLICE, LABEL_SLICE)
ENTRY(update, STATE_SLICE)
ENTRY(infer, STATE_SLICE, ARENA_SLICE, X_SLICE)
ENTRY(evaluate, STATE_SLICE, ARENA_SLICE, X_SLICE, LABEL_SLICE)

static const int64_t weight_shape[] = {FEATURES};
static const int64_t record_shape[] = {64};
static const int64_t x_shape[] = {BATCH, FEATURES};
static const int64_t batch_shape[] = {BATCH};

#define IN_STATE(FIELD)                                                                            \
  { HS_BUFFER_STATE, offsetof(state_t, FIELD), sizeof(((state_t *)0)->FIELD) }
#define IN_ARENA(FIELD)                                                                            \
  { HS_BUFFER_ARENA, offsetof(arena_t, FIELD), sizeof(((arena_t *)0)->FIELD) }
#define COUNTER(NAME, FIELD)                                                         \
  { NAME, HS_COUNTER, HS_F64, 0, 0, NULL, IN_STATE(FIELD), 0, 0, INT64_MIN, 0, NULL }
#define RECORD(NAME, FIELD)                                                                        \
  { NAME, HS_RECORD, HS_F64, 1, 0, record_shape, IN_STATE(FIELD), 0, 0, INT64_MIN, 0, NULL }
#define METRIC(NAME)                                                                               \
  { #NAME, HS_METRIC, HS_F64, 0, 0, NULL, IN_ARENA(NAME), 0, 0, INT64_MIN, 0, NULL }

static const hs_range not_negative = {0, 1e308, "must not be negative"};

static const hs_tensor inputs[] = {
    {"x", HS_INPUT, HS_F32, 2, 0, x_shape, X_SLICE, 0, 0, INT64_MIN, HS_F32, NULL},
    {"label", HS_LABEL, LABEL_TYPE, 1, 0, batch_shape, LABEL_SLICE, 0, CLASSES, IGNORED_CLASS, 0, NULL},
};

static const hs_tensor tensors[] = {
    {"w", HS_PARAMETER, HS_F32, 1, 1, weight_shape, IN_STATE(weight), 0, 0, INT64_MIN, HS_F32, NULL},
    {"momentum/w", HS_OPTIMIZER, HS_F32, 1, 0, weight_shape, IN_STATE(momentum), 0, 0, INT64_MIN, HS_F32, NULL},
    {"w", HS_GRADIENT, HS_F32, 1, 0, weight_shape, IN_STATE(gradient), 0, 0, INT64_MIN, HS_F32, NULL},
    COUNTER("iteration", iteration),
    COUNTER("applied", applied),
#ifdef WITH_EPOCH
    COUNTER("epoch", epoch),
#endif
    {"lr", HS_HYPERPARAMETER, HS_F64, 0, 0, NULL, IN_STATE(lr), 0.01, 0, INT64_MIN, 0, &not_negative},
    RECORD("loss", loss),
    RECORD("lr", lr_record),
    RECORD("scale", scale),
    RECORD("grad_norm", grad_norm),
    RECORD("skipped", skipped),
    RECORD("iteration", iteration_record),
    RECORD("applied", applied_record),
    {"/out/y", HS_OUTPUT, HS_F32, 1, 0, batch_shape, IN_ARENA(y), 0, 0, INT64_MIN, HS_F32, NULL},
    METRIC(loss),
    METRIC(mae),
};

static const hs_artefact artefact = {
    .abi_version = HALFSTEP_ABI_VERSION,
    .input_count = 2,
    .tensor_count = sizeof tensors / sizeof(hs_tensor),
    .inputs = inputs,
    .tensors = tensors,
    .state_bytes = sizeof(state_t),
    .arena_bytes = sizeof(arena_t),
    .input_slots = INPUT_SLOTS,
    .micro_batches = MICRO_BATCHES,
    .recipe = "{\"loss\":\"mse\",\"optimizer\":\"sgd:lr=0.01\"}",
    .graph_hash = "0123456789abcdef",
    .cpu_features = "",
    .programs = {[HS_MICRO] = {1, &micro_entry},
                 [HS_UPDATE] = {1, &update_entry},
                 [HS_EVALUATE] = {1, &evaluate_entry},
                 [HS_INFER] = {1, &infer_entry}},
};

__attribute__((visibility("default"))) const hs_artefact *halfstep_query(uint32_t version) {
  return version == HALFSTEP_ABI_VERSION ? &artefact : NULL;
}
