//===- halfstep.cpp - The C interface ---------------------------------------------------------===//
//
// The C interface: each function forwards to a Session and turns what it throws into a status.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/halfstep.h"

#include "runtime/Checkpoint.h"
#include "runtime/Session.h"

#include <exception>
#include <string>

using namespace halfstep::runtime;

struct hs_session {
  Session session;
};

static thread_local std::string lastError;

// Runs `action`; a failure becomes the message of this thread, and `failed` the result.
template <typename Result, typename Action> static Result guarded(Result failed, Action action) {
  try {
    return action();
  } catch (const std::exception &error) {
    lastError = error.what();
    return failed;
  }
}

// The bytes of inputs belong to the caller.
static void requireStored(const hs_tensor *tensor) {
  if (tensor->role == HS_INPUT || tensor->role == HS_LABEL)
    throw Error("", std::string("'") + tensor->name + "' is an input: bind it");
}

uint32_t hs_version(void) { return HALFSTEP_API_VERSION; }

const char *hs_last_error(void) { return lastError.c_str(); }

hs_session *hs_open(const char *path, const char *weights, int threads) {
  return guarded<hs_session *>(nullptr, [&] {
    if (threads < 1)
      throw Error("", "the number of threads must be at least 1");
    Payload payload = Payload::open(path);
    if (weights)
      payload.weights = Safetensors::open(weights);
    if (!payload.weights)
      throw Error(path, "carries no weights").help("name a safetensors file to start from");
    std::unique_ptr<hs_session> opened(new hs_session{{payload.artefact, threads}});
    opened->session.initialise(*payload.weights);
    return opened.release();
  });
}

void hs_close(hs_session *session) { delete session; }

const hs_artefact *hs_describe(const hs_session *session) { return &session->session.artefact(); }

const hs_tensor *hs_find(const hs_session *session, hs_role role, const char *name) {
  return session->session.find(role, name);
}

hs_status hs_read(const hs_session *session, const hs_tensor *tensor, void *target) {
  return guarded(HS_ERROR, [&] {
    requireStored(tensor);
    session->session.read(*tensor, target);
    return HS_OK;
  });
}

hs_status hs_write(hs_session *session, const hs_tensor *tensor, const void *source) {
  return guarded(HS_ERROR, [&] {
    requireStored(tensor);
    session->session.write(*tensor, source);
    return HS_OK;
  });
}

hs_status hs_bind(hs_session *session, uint32_t index, const void *data) {
  return guarded(HS_ERROR, [&] {
    if (index >= session->session.artefact().input_count)
      throw Error(session->session.name(), "has no input " + std::to_string(index));
    session->session.bindInput(index, data);
    return HS_OK;
  });
}

hs_status hs_run(hs_session *session, hs_program_kind program) {
  return guarded(HS_ERROR, [&] {
    if (program >= HS_PROGRAM_COUNT)
      throw Error(session->session.name(), "has no such program");
    session->session.run(program);
    return HS_OK;
  });
}

hs_status hs_read_record(const hs_session *session, uint64_t iteration, hs_record *record) {
  Record read = session->session.record(iteration);
  *record = {read.loss,
             read.lr,
             read.scale,
             read.gradNorm,
             read.iteration,
             read.applied,
             read.skipped ? 1.0 : 0.0};
  return HS_OK;
}

hs_status hs_save(const hs_session *session, const char *path) {
  return guarded(HS_ERROR, [&] {
    saveCheckpoint(session->session, path);
    return HS_OK;
  });
}

hs_status hs_restore(hs_session *session, const char *path) {
  return guarded(HS_ERROR, [&] {
    restoreCheckpoint(session->session, path);
    return HS_OK;
  });
}
