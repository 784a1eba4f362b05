//===- Checkpoint.cpp - Runs that can go on where they stopped --------------------------------===//
//
// What a checkpoint holds follows from the directory alone: a role says whether a tensor is stored,
// and under which name. Saving and restoring walk the same list.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Checkpoint.h"

#include "runtime/Types.h"

#include <cassert>
#include <set>

namespace halfstep::runtime {

static constexpr char formatKey[] = "halfstep_format", format[] = "1";
static constexpr char recipeKey[] = "recipe", graphHashKey[] = "graph_hash";

// Differences that a message lists; a model of another size has hundreds.
static constexpr size_t mostDetails = 8;

static bool isStored(const hs_tensor &tensor) {
  return tensor.role == HS_PARAMETER || tensor.role == HS_OPTIMIZER || tensor.role == HS_COUNTER ||
         tensor.role == HS_HYPERPARAMETER;
}

static std::string storedName(const hs_tensor &tensor) {
  return tensor.role == HS_PARAMETER ? tensor.name : std::string("halfstep/") + tensor.name;
}

/// Whether one run may have a tensor of that name and the run that goes on may not: the loss scale,
/// which only some precision modes have, and counters that are set anew in each step.
static bool isOptional(const std::string &storedName) {
  static const std::set<std::string> names = {"halfstep/scale",         "halfstep/growth",
                                              "halfstep/growth_factor", "halfstep/backoff_factor",
                                              "halfstep/max_skips",     "halfstep/growth_interval",
                                              "halfstep/micro",         "halfstep/epoch"};
  return names.count(storedName) > 0;
}

template <typename Visitor> static void forEachStored(const Session &session, Visitor visit) {
  const hs_artefact &artefact = session.artefact();
  for (uint64_t i = 0; i < artefact.tensor_count; ++i)
    if (isStored(artefact.tensors[i]))
      visit(artefact.tensors[i]);
}

void saveCheckpoint(const Session &session, const std::string &path, const Metadata &extra) {
  std::vector<NamedTensor> tensors;
  forEachStored(session, [&](const hs_tensor &tensor) {
    tensors.push_back({storedName(tensor), hs_type(tensor.type), shapeOf(tensor),
                       session.data(tensor), tensor.slice.bytes});
  });
  Metadata metadata = {{formatKey, format},
                       {recipeKey, session.artefact().recipe},
                       {graphHashKey, session.artefact().graph_hash}};
  metadata.insert(extra.begin(), extra.end());
  assert(metadata.size() == 3 + extra.size() && "a key of the caller hides one of ours");
  writeSafetensors(path, std::move(tensors), metadata);
}

// All that keeps a checkpoint from being this session's, in the order of the directory.
static std::vector<std::string> findDifferences(const Session &session,
                                                const Safetensors &checkpoint) {
  std::vector<std::string> differences;
  std::set<std::string> known;
  forEachStored(session, [&](const hs_tensor &tensor) {
    std::string name = *known.insert(storedName(tensor)).first;
    const NamedTensor *stored = checkpoint.find(name);
    std::string here = stored ? describe(stored->type, stored->shape) : "missing";
    bool begins = !stored && isOptional(name);
    if (here != describe(tensor) && !begins)
      differences.push_back("tensor '" + name + "' is " + here + " in it, " + describe(tensor) +
                            " in the model");
  });
  for (const NamedTensor &stored : checkpoint.tensors())
    if (known.count(stored.name) == 0 && !isOptional(stored.name))
      differences.push_back("tensor '" + stored.name + "' is " +
                            describe(stored.type, stored.shape) + " in it, missing in the model");
  return differences;
}

static void checkSameRun(const Session &session, const Safetensors &checkpoint) {
  auto metadata = [&](const char *key) {
    auto entry = checkpoint.metadata().find(key);
    return entry == checkpoint.metadata().end() ? "" : entry->second;
  };
  if (metadata(formatKey) != format)
    throw Error(checkpoint.name(), "is not a checkpoint of this version of halfstep")
        .help("--weights takes the parameters of any safetensors file");

  std::vector<std::string> differences = findDifferences(session, checkpoint);
  if (differences.empty() && metadata(graphHashKey) != session.artefact().graph_hash)
    differences.push_back("the graph that '" + session.name() + "' was compiled from has changed");
  if (differences.empty())
    return;
  Error error(checkpoint.name(), "is a checkpoint of another run: " + differences.front());
  for (size_t i = 1; i < differences.size() && i <= mostDetails; ++i)
    error.detail(differences[i]);
  if (differences.size() > mostDetails + 1)
    error.detail("and " + std::to_string(differences.size() - mostDetails - 1) + " more");
  throw error.help("resume with the model and optimizer it was written with, or take its "
                   "parameters alone with --weights");
}

Metadata restoreCheckpoint(Session &session, const std::string &path) {
  Safetensors checkpoint = Safetensors::open(path);
  checkSameRun(session, checkpoint);
  session.clear();
  forEachStored(session, [&](const hs_tensor &tensor) {
    if (const NamedTensor *stored = checkpoint.find(storedName(tensor)))
      session.write(tensor, stored->data);
    else // what begins here
      session.writeScalar(tensor, tensor.initial);
  });
  session.run(HS_INIT);
  return checkpoint.metadata();
}

} // namespace halfstep::runtime
