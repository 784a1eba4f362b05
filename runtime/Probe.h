//===- Probe.h - Numbers in flight --------------------------------------------------*- C++ -*-===//
//
// --probe: runs a step entry by entry, as the search for an anomaly does, and counts what 16-bit
// numbers the entries write. The step is the one that is always run; what lives between two
// operations of one kernel is not seen. The host looks at what each entry reads and writes, which
// on a device is copies and waits.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_PROBE_H
#define HALFSTEP_RUNTIME_PROBE_H

#include "runtime/Anomaly.h"
#include "runtime/Session.h"
#include "runtime/TrainingLog.h"

#include <optional>
#include <string>
#include <vector>

namespace halfstep::runtime {

class Probe {
public:
  explicit Probe(Session &session);

  /// Run a step's programs, as Session's functions of these names do.
  void micro();
  void update();

  /// Ends a step, whose update may have been skipped: writes what it has counted to the log, which
  /// may be null. For each 16-bit tensor
  /// {"event": "probe", "step", "tensor", "nodes", "pass", "type", "elements", "zeros",
  /// "subnormals", "saturated", "non_finite", "largest"}, the middle four as shares; for each
  /// trained parameter {"event": "probe", "step", "parameter", "update_ratio"}: the norm of the
  /// update as a part of the weights' norm.
  void endStep(uint64_t step, bool isSkipped, TrainingLog *log);

  /// What is wrong with the steps so far, a line each, the cheapest way out in it.
  std::vector<std::string> findings() const;

private:
  struct Tensor {
    std::string name; // micro/ENTRY/KERNEL, with the number of the slice
    const hs_entry *entry;
    uint32_t slice;
    Census ofStep, ofAll;
    uint64_t overflowedSteps = 0; // by infinities that reach a result, or at the end of the type

    const hs_use &use() const { return entry->uses[slice]; }
  };
  struct Parameter {
    const hs_tensor *tensor;
    double ratio = 0;
    bool hasMoved = false;
  };

  void findOverflows(std::vector<std::string> &lines) const;
  void findUnderflows(std::vector<std::string> &lines) const;
  void findStandstill(std::vector<std::string> &lines) const;
  bool scaleAdapts() const;
  double betterScale() const;

  Session &session;
  std::vector<Tensor> tensors; // of `micro`
  std::vector<Parameter> parameters;
  std::optional<Anomaly> anomaly;   // of this step
  std::optional<Anomaly> elsewhere; // the first of the run that began in none of `tensors`
  uint64_t steps = 0, applied = 0;
};

} // namespace halfstep::runtime

#endif
