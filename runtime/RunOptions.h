//===- RunOptions.h - The options of a training run ---------------------------------*- C++ -*-===//
//
// The options of a training run: what `halfstep train` and every training executable understand.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_RUNOPTIONS_H
#define HALFSTEP_RUNTIME_RUNOPTIONS_H

#include "runtime/Session.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace halfstep::runtime {

/// Steps are counted in f64 counters of the state: beyond this they would stop counting.
inline constexpr uint64_t largestStep = uint64_t{1} << 53;

struct RunOptions {
  std::vector<std::string> data;     // NAME=FILE
  std::vector<std::string> validate; // NAME=FILE
  std::vector<std::string> metrics;  // names
  std::vector<std::string> set;      // NAME=VALUE
  std::optional<uint64_t> epochs, steps, saveEvery;
  std::optional<uint64_t> seed; // default 0, or that of the checkpoint resumed from
  std::optional<bool> shuffle;  // default true, or as the checkpoint resumed from
  std::string log, save, resume, weights;
  bool force = false, quiet = false, detectAnomaly = false, probe = false;
  int threads = 0; // 0: one for each CPU that the process may use
  DeviceChoice device;
};

/// Adds the options to a command; `options` is filled when the command line is parsed.
void addRunOptions(CLI::App &command, RunOptions &options);

/// Adds --data, --threads and --quiet alone: for commands that only run a model forward.
void addDataOptions(CLI::App &command, RunOptions &options);

/// A check for CLI11: a script whose variable is empty must not lose the result.
std::string isNoEmptyName(const std::string &path);

/// Adds --threads alone.
void addThreads(CLI::App &command, int &threads);

/// The number of threads to make a session with: those given, or one for each CPU where that is 0.
int threadCount(int given);

/// The file of each of the artefact's inputs from `assignments`, NAME=FILE as given to `option`.
/// Without `needLabel` the label's entry stays empty. Throws (wrong usage) on a name that is
/// unknown or given twice, and with the list of those that are missing.
std::vector<std::string> matchFiles(const hs_artefact &artefact,
                                    const std::vector<std::string> &assignments,
                                    const std::string &option, bool needLabel);

/// Sets hyperparameters from NAME=VALUE. Throws (wrong usage) on unknown names and on values that
/// are not finite numbers or outside their range, before anything is changed.
void setHyperparameters(Session &session, const std::vector<std::string> &assignments);

} // namespace halfstep::runtime

#endif
