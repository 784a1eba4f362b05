//===- Description.cpp - What --describe prints -----------------------------------------------===//

#include "runtime/Description.h"

#include "runtime/Loader.h"
#include "runtime/Types.h"

#include <nlohmann/json.hpp>

namespace halfstep::runtime {

namespace {

std::string line(const std::string &name, const std::string &value) {
  return "  " + name + std::string(name.size() < 24 ? 24 - name.size() : 1, ' ') + value + "\n";
}

std::string describeRecipe(const char *recipe) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(recipe, nullptr, false);
  if (!json.is_object())
    return line(recipe, "");
  std::string text;
  for (const auto &[key, value] : json.items())
    text += line(key, value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

std::string describeInputs(const hs_artefact &artefact) {
  std::string text;
  for (uint32_t i = 0; i < artefact.input_count; ++i) {
    const hs_tensor &input = artefact.inputs[i];
    std::string note;
    if (input.class_count)
      note = ", class ids below " + std::to_string(input.class_count);
    text += line(inputName(input), describe(input) + note);
  }
  return text;
}

/// Empty if there are no tensors of the role.
std::string describeRole(const hs_artefact &artefact, hs_role role, const char *title) {
  std::string text;
  size_t elements = 0;
  for (uint64_t i = 0; i < artefact.tensor_count; ++i) {
    const hs_tensor &tensor = artefact.tensors[i];
    if (tensor.role != role)
      continue;
    std::string note;
    if (role == HS_PARAMETER && !tensor.trainable)
      note = ", frozen";
    if (role == HS_HYPERPARAMETER)
      note = " = " + nlohmann::json(tensor.initial).dump();
    text += line(tensor.name, describe(tensor) + note);
    elements += elementCount(tensor);
  }
  if (text.empty())
    return text;
  return std::string(title) +
         (role == HS_PARAMETER ? ", " + std::to_string(elements) + " elements" : "") + "\n" + text;
}

} // namespace

std::string describeArtefact(const hs_artefact &artefact) {
  std::string text = "recipe\n" + describeRecipe(artefact.recipe);
  text += "model\n" + line("graph hash", artefact.graph_hash) +
          line("CPU features", *artefact.cpu_features ? artefact.cpu_features : "none") +
          (artefact.cuda ? line("CUDA architecture", artefact.cuda->architecture) : "") +
          line("state", std::to_string(artefact.state_bytes) + " bytes") +
          line("arena", std::to_string(artefact.arena_bytes) + " bytes") +
          line("scratch a thread", std::to_string(artefact.scratch_bytes) + " bytes") +
          line("micro-batches a step", std::to_string(artefact.micro_batches));
  text += "inputs\n" + describeInputs(artefact);
  text += describeRole(artefact, HS_OUTPUT, "outputs");
  text += describeRole(artefact, HS_METRIC, "metrics");
  text += describeRole(artefact, HS_PARAMETER, "parameters");
  text += describeRole(artefact, HS_OPTIMIZER, "optimizer state");
  text += describeRole(artefact, HS_HYPERPARAMETER, "hyperparameters");
  text += describeRole(artefact, HS_COUNTER, "counters");
  return text;
}

} // namespace halfstep::runtime
