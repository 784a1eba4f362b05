/* halfstep.h - trains a compiled model inside another program.
 *
 *   hs_session *session = hs_open("digits", NULL, 1);
 *   const hs_artefact *model = hs_describe(session);
 *   for (uint64_t step = 0; step < 100; ++step) {
 *     for (uint64_t i = 0; i < model->micro_batches; ++i) {
 *       hs_bind(session, 0, images);
 *       hs_bind(session, 1, labels);
 *       hs_run(session, HS_MICRO);
 *     }
 *     hs_run(session, HS_UPDATE);
 *     hs_read_record(session, step, &record);
 *   }
 *   hs_save(session, "digits.safetensors");
 *   hs_close(session);
 *
 * The library never exits, prints or installs handlers. While a program runs, oneDNN's code may have
 * moved the stack pointer: a host's own signal handlers need SA_ONSTACK, for which threads that run
 * programs get a stack if they have none. Functions that return hs_status return
 * HS_OK or HS_ERROR; those that return pointers return NULL on failure; then hs_last_error() is the
 * message. A session belongs to one thread at a time. Tensors, programs and the layout of
 * hs_artefact are described in step_abi.h.
 */
#ifndef HALFSTEP_H
#define HALFSTEP_H

#include "step_abi.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every incompatible change of this header. */
#define HALFSTEP_API_VERSION 1u

typedef struct hs_session hs_session;

typedef enum hs_status { HS_OK = 0, HS_ERROR = 1 } hs_status;

/* What one update did; fields that the model does not record are NaN (scale: 1). */
typedef struct hs_record {
  double loss, lr, scale, grad_norm;
  double iteration, applied; /* counters after the update */
  double skipped;            /* 1 if non-finite gradients made the update a no-op */
} hs_record;

/* HALFSTEP_API_VERSION of the library. */
uint32_t hs_version(void);

/* The message of the calling thread's last failure; empty if there was none. */
const char *hs_last_error(void);

/* Opens a training executable, or a shared object of `halfstep compile --emit shared`, and starts
 * from `weights`: a safetensors file, or NULL for the weights that `path` carries. */
hs_session *hs_open(const char *path, const char *weights, int threads);
void hs_close(hs_session *session);

/* Inputs, named tensors, recipe. */
const hs_artefact *hs_describe(const hs_session *session);

/* A tensor of the directory, or NULL if there is none (which is no error). */
const hs_tensor *hs_find(const hs_session *session, hs_role role, const char *name);

/* Copies slice.bytes bytes of a tensor out of or into the session. */
hs_status hs_read(const hs_session *session, const hs_tensor *tensor, void *target);
hs_status hs_write(hs_session *session, const hs_tensor *tensor, const void *source);

/* Makes inputs[index] read from `data`: in place on a CPU; a device gets a copy. So bind again
 * whenever the data changes, and leave it unchanged until the next hs_bind of this input, hs_read or
 * hs_read_record has returned: programs may still run when hs_run has. */
hs_status hs_bind(hs_session *session, uint32_t index, const void *data);

hs_status hs_run(hs_session *session, hs_program_kind program);

/* The record of the update that began at counter value `iteration`, one of the last 64. */
hs_status hs_read_record(const hs_session *session, uint64_t iteration, hs_record *record);

/* Checkpoints. Saving replaces `path` as a whole or not at all. */
hs_status hs_save(const hs_session *session, const char *path);
hs_status hs_restore(hs_session *session, const char *path);

#ifdef __cplusplus
}
#endif
#endif
