//===- Evaluation.h - Metrics and outputs -------------------------------------------*- C++ -*-===//
//
// Metrics of held-out data, and outputs of new data, by the evaluation-mode programs of a session.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_EVALUATION_H
#define HALFSTEP_RUNTIME_EVALUATION_H

#include "runtime/Loader.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace halfstep::runtime {

struct Metrics {
  std::vector<std::pair<std::string, double>> values; // name, mean over the batches
  uint64_t samples = 0;                               // that went into the values
};

class Evaluator {
public:
  /// `paths` as for Loader. `names` are the metrics asked for; none means all that the model has.
  /// Throws, with the list of those available, on a name that it has not, and where the data do not
  /// fill one batch. Says on stderr, unless `quiet`, which samples do not fill the last batch.
  Evaluator(Session &session, const std::vector<std::string> &paths,
            const std::vector<std::string> &names, bool quiet);

  /// Runs all whole batches in order. Changes what is bound to the session's inputs, and the arena.
  /// Stops early if `Interrupt` was requested; the metrics are then of no use.
  Metrics run();

private:
  Session &session;
  Loader loader;
  std::vector<const hs_tensor *> metrics;
};

/// Computes the outputs of all samples and writes each as DIR/NAME.npy, NAME percent-encoded. The
/// last batch is filled up by repeating its last sample, and its outputs are cut. `inputs`: files
/// that must not be overwritten.
void writeOutputs(Session &session, const std::vector<std::string> &paths,
                  const std::string &directory, const std::vector<std::string> &inputs);

/// A file name for a tensor: everything but letters, digits, '_', '-' and inner dots as %XX.
std::string fileNameOf(const std::string &tensorName);

} // namespace halfstep::runtime

#endif
