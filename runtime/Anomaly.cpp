//===- Anomaly.cpp - Which entry made the numbers break down ----------------------------------===//

#include "runtime/Anomaly.h"

#include "runtime/Types.h"

#include <algorithm>
#include <sstream>

namespace halfstep::runtime {

namespace {

//===------------------------------------------------------------------------------------------===//
// Running
//===------------------------------------------------------------------------------------------===//

bool overlap(const hs_slice &a, const hs_slice &b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool overlapsAny(const std::vector<hs_slice> &slices, const hs_slice &slice) {
  return std::any_of(slices.begin(), slices.end(),
                     [&](const hs_slice &other) { return overlap(slice, other); });
}

} // namespace

std::vector<Execution> execute(Session &session, hs_program_kind program) {
  // Records tell of earlier steps too: nothing is computed from them.
  std::vector<hs_slice> records;
  for (uint64_t i = 0; i < session.artefact().tensor_count; ++i)
    if (session.artefact().tensors[i].role == HS_RECORD)
      records.push_back(session.artefact().tensors[i].slice);

  std::vector<Execution> executions;
  session.runEntries(program, [&](const hs_entry &entry, void *const *buffers, auto run) {
    Execution execution{&entry, std::vector<Census>(entry.slice_count),
                        std::vector<Census>(entry.slice_count)};
    auto visit = [&](uint32_t hs_use::*isUsed, std::vector<Census> &censuses) {
      for (uint32_t i = 0; i < entry.slice_count; ++i)
        if (entry.uses[i].*isUsed && !overlapsAny(records, entry.slices[i]))
          censuses[i] = takeCensus(entry.uses[i].type, buffers[i], entry.slices[i].bytes);
    };
    visit(&hs_use::is_read, execution.read);
    // Of a whole that is written part by part the rest may still be what lay there before.
    for (uint32_t i = 0; i < entry.slice_count; ++i)
      if (entry.uses[i].is_written && !entry.uses[i].is_read &&
          entry.slices[i].buffer == HS_BUFFER_ARENA)
        session.clear(entry.slices[i]);
    run();
    visit(&hs_use::is_written, execution.written);
    executions.push_back(std::move(execution));
  });
  return executions;
}

namespace {

//===------------------------------------------------------------------------------------------===//
// Searching
//===------------------------------------------------------------------------------------------===//

bool contains(const hs_slice &outer, const hs_slice &inner) {
  return outer.buffer == inner.buffer && outer.offset <= inner.offset &&
         inner.offset + inner.bytes <= outer.offset + outer.bytes;
}

/// Goes backward through the executions from the results that are not finite; with `gradients`,
/// also from those of the backward pass.
std::optional<Anomaly> search(hs_program_kind program, const std::vector<Execution> &executions,
                              bool gradients) {
  std::optional<Anomaly> origin, arrival;
  std::vector<hs_slice> followed; // values that are not finite, whose writers are still to come
  std::vector<hs_slice> replaced; // state that a later entry writes again
  for (auto execution = executions.rbegin(); execution != executions.rend(); ++execution) {
    const hs_entry &entry = *execution->entry;
    std::optional<uint32_t> wrote, read;
    for (uint32_t i = 0; i < entry.slice_count; ++i) {
      const hs_slice &slice = entry.slices[i];
      if (!entry.uses[i].is_written)
        continue;
      bool isResult = slice.buffer == HS_BUFFER_STATE && !overlapsAny(replaced, slice) &&
                      (gradients || !entry.uses[i].is_gradient);
      if (execution->written[i].nonFinite && (isResult || overlapsAny(followed, slice)))
        wrote = i;
      if (slice.buffer == HS_BUFFER_STATE)
        replaced.push_back(slice);
      // What was there before is another value.
      followed.erase(std::remove_if(followed.begin(), followed.end(),
                                    [&](const hs_slice &value) { return contains(slice, value); }),
                     followed.end());
    }
    if (!wrote)
      continue;
    double largest = 0;
    for (uint32_t i = 0; i < entry.slice_count; ++i) {
      largest = std::max(largest, execution->read[i].largest);
      if (execution->read[i].nonFinite) {
        read = i;
        followed.push_back(entry.slices[i]);
      }
    }
    const Census &census = read ? execution->read[*read] : execution->written[*wrote];
    Anomaly anomaly{program,          &entry,          read.value_or(*wrote),
                    read.has_value(), census.elements, census.nonFinite,
                    largest};
    (read ? arrival : origin) = anomaly;
  }
  return origin ? origin : arrival;
}

//===------------------------------------------------------------------------------------------===//
// Explaining
//===------------------------------------------------------------------------------------------===//

std::string text(double value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

/// The input or tensor of the state that a slice lies in: "input x", "parameter fc.weight".
std::string nameOf(const hs_artefact &artefact, const hs_slice &slice) {
  if (slice.buffer >= HS_BUFFER_INPUTS) {
    const hs_tensor &input = artefact.inputs[slice.buffer - HS_BUFFER_INPUTS];
    return input.role == HS_LABEL ? "the label" : std::string("input ") + input.name;
  }
  for (uint64_t i = 0; i < artefact.tensor_count; ++i) {
    const hs_tensor &tensor = artefact.tensors[i];
    if (overlap(tensor.slice, slice))
      return (tensor.role == HS_PARAMETER || tensor.role == HS_HALF_COPY ? "parameter " : "") +
             std::string(tensor.name);
  }
  return "the state";
}

bool usesHalf(const hs_entry &entry) {
  return std::any_of(entry.uses, entry.uses + entry.slice_count,
                     [](const hs_use &use) { return use.type == HS_F16; });
}

} // namespace

std::string wayOut(const Anomaly &anomaly) {
  const hs_entry &entry = *anomaly.entry;
  if (anomaly.isFromOutside && entry.slices[anomaly.slice].buffer < HS_BUFFER_INPUTS)
    return "start from other weights (--weights CKPT)";
  if (anomaly.isFromOutside && entry.uses[anomaly.slice].type == HS_F16)
    return "look at the data: F16 ends at 65504; scale them, keep what reads them in f32 (--pin "
           "REGEX=fp32) or train in bf16 (--half-type bf16)";
  if (anomaly.isFromOutside)
    return "look at the data: NaN or infinities?";
  std::string lessSteep = "lower the learning rate (--set lr=X)";
  if (anomaly.program == HS_UPDATE)
    return lessSteep + ", or compile with a bound on the gradients' norm (--clip-norm X)";
  if (!usesHalf(entry))
    return lessSteep + ", or look at the data: very large values?";
  std::string widen = "keep the node in f32 (--pin '" + pinPattern(entry) +
                      "=fp32'), train in bf16 (--half-type bf16)";
  return anomaly.isGradient()
             ? "begin with a smaller scale (--loss-scale dynamic:init_scale=X), " + widen
             : widen + " or " + lessSteep;
}

std::string pinPattern(const hs_entry &entry) {
  std::string_view nodes = entry.nodes;
  std::string pattern;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes.substr(i, 2) == ", ") {
      pattern += '|';
      ++i;
      continue;
    }
    if (std::string_view("^$|()[]{}*+?\\").find(nodes[i]) != std::string_view::npos)
      pattern += '\\';
    pattern += nodes[i];
  }
  return pattern.empty() ? "REGEX" : pattern;
}

std::optional<Anomaly> findAnomaly(hs_program_kind program,
                                   const std::vector<Execution> &executions) {
  // A loss that is not finite breaks all gradients: it is what to look for first.
  std::optional<Anomaly> forward = search(program, executions, /*gradients=*/false);
  return forward ? forward : search(program, executions, /*gradients=*/true);
}

std::optional<Anomaly> runChecked(Session &session, hs_program_kind program) {
  return findAnomaly(program, execute(session, program));
}

std::string describe(const Session &session, const Anomaly &anomaly) {
  const hs_entry &entry = *anomaly.entry;
  std::string counted = std::to_string(anomaly.nonFinite) + " of " +
                        std::to_string(anomaly.elements) + " values in " +
                        std::string(safetensorsName(hs_type(entry.uses[anomaly.slice].type)));
  if (anomaly.isFromOutside)
    return nameOf(session.artefact(), entry.slices[anomaly.slice]) +
           " is not finite as the step reads it: " + counted;
  const char *pass = anomaly.program == HS_UPDATE ? "the update"
                     : anomaly.isGradient()       ? "the backward pass"
                                                  : "the forward pass";
  std::string nodes = entry.nodes;
  std::string kernel = std::string("kernel ") + entry.name;
  return std::string(pass) + " breaks down at " + (nodes.empty() ? kernel : nodes) + ": " +
         counted + " are not finite, of finite operands up to " + text(anomaly.largestOperand) +
         (nodes.empty() ? "" : " (" + kernel + ")");
}

Error &explain(Error &error, const Session &session, const Anomaly &anomaly) {
  error.detail(describe(session, anomaly));
  if (session.find(HS_HYPERPARAMETER, "scale") && !anomaly.isGradient())
    error.detail("no loss scale can help");
  return error.help(wayOut(anomaly)).exitWith(3);
}

} // namespace halfstep::runtime
