//===- Probe.cpp - Numbers in flight ----------------------------------------------------------===//

#include "runtime/Probe.h"

#include "runtime/JsonLine.h"
#include "runtime/Types.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace halfstep::runtime {

// A share of subnormal numbers among those that are not zero that is worth a word: each of them has
// lost bits, and where there are many, others have become zero.
static constexpr double manySubnormals = 0.1;
static constexpr size_t mostLines = 8;
// What a scale is raised by where all gradients are zero, so that nothing says how far they are
// off.
static constexpr double raiseFromZero = 65536;

Probe::Probe(Session &session) : session(session) {
  const hs_artefact &artefact = session.artefact();
  const hs_program &micro = artefact.programs[HS_MICRO];
  for (uint64_t i = 0; i < micro.entry_count; ++i) {
    const hs_entry &entry = micro.entries[i];
    for (uint32_t slice = 0; slice < entry.slice_count; ++slice)
      if (entry.uses[slice].is_written && isHalf(entry.uses[slice].type))
        tensors.push_back(
            {"micro/" + std::to_string(i) + "/" + entry.name + ":" + std::to_string(slice),
             &entry,
             slice,
             {},
             {}});
  }
  for (uint64_t i = 0; i < artefact.tensor_count; ++i)
    if (artefact.tensors[i].role == HS_PARAMETER && artefact.tensors[i].trainable)
      parameters.push_back({&artefact.tensors[i]});
}

//===------------------------------------------------------------------------------------------===//
// Counting
//===------------------------------------------------------------------------------------------===//

void Probe::micro() {
  auto next = tensors.begin(); // they are in the order of the entries
  std::vector<Execution> executions = execute(session, HS_MICRO);
  for (const Execution &execution : executions)
    for (; next != tensors.end() && next->entry == execution.entry; ++next)
      next->ofStep += execution.written[next->slice];
  if (!anomaly)
    anomaly = findAnomaly(HS_MICRO, executions);
}

static std::vector<double> valuesOf(const Session &session, const hs_tensor &tensor) {
  std::vector<double> values(elementCount(tensor));
  convert(session.data(tensor), hs_type(tensor.type), values.data(), HS_F64, values.size());
  return values;
}

static double normOf(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

void Probe::update() {
  std::vector<std::vector<double>> before;
  for (const Parameter &parameter : parameters)
    before.push_back(valuesOf(session, *parameter.tensor));
  if (anomaly) // it is skipped, or not what is at fault
    session.update();
  else
    anomaly = runChecked(session, HS_UPDATE);
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::vector<double> change = valuesOf(session, *parameters[i].tensor);
    for (size_t j = 0; j < change.size(); ++j)
      change[j] -= before[i][j];
    double moved = normOf(change), norm = normOf(before[i]);
    parameters[i].ratio = moved == 0 ? 0 : moved / norm; // infinite from weights of zero
    parameters[i].hasMoved |= moved != 0;
  }
}

static double share(uint64_t part, uint64_t whole) {
  return whole ? double(part) / double(whole) : 0;
}

void Probe::endStep(uint64_t step, bool isSkipped, TrainingLog *log) {
  ++steps;
  applied += !isSkipped;
  bool isElsewhere = anomaly.has_value();
  for (Tensor &tensor : tensors) {
    const Census &census = tensor.ofStep;
    if (log)
      log->write(
          JsonLine()
              .field("event", std::string_view("probe"))
              .field("step", step)
              .field("tensor", std::string_view(tensor.name))
              .field("nodes", std::string_view(tensor.entry->nodes))
              .field("pass", std::string_view(tensor.use().is_gradient ? "gradient" : "forward"))
              .field("type", safetensorsName(hs_type(tensor.use().type)))
              .field("elements", census.elements)
              .field("zeros", share(census.zeros, census.elements))
              .field("subnormals", share(census.subnormals, census.elements))
              .field("saturated", share(census.saturated, census.elements))
              .field("non_finite", share(census.nonFinite, census.elements))
              .field("largest", census.largest)
              .finish());
    bool breaksDown = anomaly && !anomaly->isFromOutside && anomaly->entry == tensor.entry &&
                      anomaly->slice == tensor.slice;
    isElsewhere &= !breaksDown;
    tensor.overflowedSteps += breaksDown || census.saturated > 0;
    tensor.ofAll += census;
    tensor.ofStep = {};
  }
  for (const Parameter &parameter : parameters)
    if (log)
      log->write(JsonLine()
                     .field("event", std::string_view("probe"))
                     .field("step", step)
                     .field("parameter", std::string_view(parameter.tensor->name))
                     .field("update_ratio", parameter.ratio)
                     .finish());
  if (isElsewhere && !elsewhere && !(anomaly->isGradient() && scaleAdapts()))
    elsewhere = anomaly;
  anomaly.reset();
}

//===------------------------------------------------------------------------------------------===//
// Findings
//===------------------------------------------------------------------------------------------===//

/// The shortest digits that read back as the same number: it may be pasted.
static std::string text(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

static std::string percent(double lost) {
  return text(std::round(lost * 1000) / 10) + " % of the numbers that are not zero are subnormal";
}

static std::string nameOf(const hs_entry &entry, bool isGradient) {
  std::string nodes = *entry.nodes ? entry.nodes : std::string("kernel ") + entry.name;
  return isGradient ? "the gradient of " + nodes : nodes;
}

static std::string pinOf(const hs_entry &entry) { return "--pin '" + pinPattern(entry) + "=fp32'"; }

/// The power of two that brings the largest gradient to a sixteenth of what its type holds: room
/// for gradients that grow. 0 without a loss scale.
double Probe::betterScale() const {
  const hs_tensor *scale = session.find(HS_HYPERPARAMETER, "scale");
  double room = INFINITY;
  for (const Tensor &tensor : tensors)
    if (tensor.use().is_gradient && tensor.ofAll.largest > 0)
      room = std::min(room, largestHalf(tensor.use().type) / tensor.ofAll.largest);
  return scale && std::isfinite(room)
             ? std::exp2(std::floor(std::log2(session.readScalar(*scale) * room / 16)))
             : 0;
}

/// A scale that adapts finds its place by overflows: they are no fault.
bool Probe::scaleAdapts() const { return session.find(HS_COUNTER, "growth"); }

void Probe::findOverflows(std::vector<std::string> &lines) const {
  const hs_tensor *scale = session.find(HS_HYPERPARAMETER, "scale");
  for (const Tensor &tensor : tensors) {
    const hs_use &use = tensor.use();
    if (!tensor.overflowedSteps || (use.is_gradient && scaleAdapts()))
      continue;
    std::string wayOut = use.is_gradient && scale ? "lower the loss scale: --set scale=" +
                                                        text(session.readScalar(*scale) / 16)
                         : use.type == HS_F16 ? "keep it in f32: " + pinOf(*tensor.entry)
                                              : "lower the learning rate: --set lr=X";
    lines.push_back(nameOf(*tensor.entry, use.is_gradient) + " overflows in " +
                    std::to_string(tensor.overflowedSteps) + " of " + std::to_string(steps) +
                    " steps: " + std::to_string(tensor.ofAll.saturated + tensor.ofAll.nonFinite) +
                    " of " + std::to_string(tensor.ofAll.elements) + " values are at or beyond " +
                    text(largestHalf(use.type)) + "; " + wayOut);
  }
}

/// One scale serves all gradients, so they are one line.
void Probe::findUnderflows(std::vector<std::string> &lines) const {
  const hs_tensor *scale = session.find(HS_HYPERPARAMETER, "scale");
  std::vector<const Tensor *> gradients;
  for (const Tensor &tensor : tensors)
    if (tensor.use().is_gradient)
      gradients.push_back(&tensor);
  if (scale && applied && !gradients.empty() &&
      std::all_of(gradients.begin(), gradients.end(), [](const Tensor *tensor) {
        return tensor->ofAll.zeros == tensor->ofAll.elements;
      }))
    lines.push_back(nameOf(*gradients.front()->entry, true) +
                    " and all after it are zero; raise the loss scale: --set scale=" +
                    text(session.readScalar(*scale) * raiseFromZero));

  double better = betterScale();
  bool mayRise = scale && better > session.readScalar(*scale);
  std::vector<std::string> ofScale;
  double most = 0;
  for (const Tensor &tensor : tensors) {
    const Census &all = tensor.ofAll;
    double lost = share(all.subnormals, all.elements - all.zeros - all.nonFinite);
    if (lost < manySubnormals)
      continue;
    std::string name = nameOf(*tensor.entry, tensor.use().is_gradient);
    if (tensor.use().is_gradient && mayRise) {
      if (std::find(ofScale.begin(), ofScale.end(), name) == ofScale.end())
        ofScale.push_back(name);
      most = std::max(most, lost);
    } else {
      lines.push_back(name + " underflows: " + percent(lost) +
                      "; keep it in f32: " + pinOf(*tensor.entry));
    }
  }
  if (ofScale.empty())
    return;
  std::string others = ofScale.size() > 1
                           ? " and " + std::to_string(ofScale.size() - 1) + " more underflow"
                           : " underflows";
  lines.push_back(ofScale.front() + others + ": up to " + percent(most) +
                  "; raise the loss scale: --set scale=" + text(better));
}

void Probe::findStandstill(std::vector<std::string> &lines) const {
  for (const Parameter &parameter : parameters)
    if (isHalf(parameter.tensor->type) && !parameter.hasMoved)
      lines.push_back(std::string("parameter ") + parameter.tensor->name +
                      " has not moved: its updates are smaller than its precision; keep f32 "
                      "masters: --precision half-grad, or add --rounding stochastic");
}

std::vector<std::string> Probe::findings() const {
  std::vector<std::string> lines;
  if (tensors.empty())
    lines.push_back("nothing in this step is of 16 bits");
  if (elsewhere)
    lines.push_back(describe(session, *elsewhere) + "; " + wayOut(*elsewhere));
  findOverflows(lines);
  findUnderflows(lines);
  if (applied)
    findStandstill(lines);
  if (lines.size() > mostLines) {
    std::string more = std::to_string(lines.size() - mostLines) + " more of the kind";
    lines.resize(mostLines);
    lines.push_back(more);
  }
  return lines;
}

} // namespace halfstep::runtime
