//===- Session.cpp - One training run in memory -----------------------------------------------===//
//
// The host side of a session: names, values and roles. How programs run is the back end's matter.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Session.h"

#include "runtime/Types.h"

#include <cassert>
#include <cstring>

namespace halfstep::runtime {

// In the order of Session::recordColumns.
static constexpr const char *recordFields[] = {"loss",      "lr",      "scale",  "grad_norm",
                                               "iteration", "applied", "skipped"};
// Rows of the ring of records.
static constexpr uint64_t recordRows = 64;

Session::Session(std::shared_ptr<const Artefact> artefact, int threads, const DeviceChoice &device,
                 Use use)
    : handle(std::move(artefact)),
      backend(openBackend(name(), handle->tables(), threads, device, use)) {
  for (const char *field : recordFields)
    recordColumns.push_back(find(HS_RECORD, field));
}

Session::~Session() = default;

//===------------------------------------------------------------------------------------------===//
// Starting values
//===------------------------------------------------------------------------------------------===//

// Calls `visit(parameter, its tensor in weights)` for each parameter; throws before the first call
// where one does not fit.
template <typename Visitor>
static void forEachParameter(const hs_artefact &artefact, const Safetensors &weights,
                             Visitor visit) {
  std::vector<const NamedTensor *> sources;
  for (uint64_t i = 0; i < artefact.tensor_count; ++i) {
    const hs_tensor &parameter = artefact.tensors[i];
    if (parameter.role != HS_PARAMETER)
      continue;
    const NamedTensor *source = weights.find(parameter.name);
    std::string subject = std::string("parameter '") + parameter.name + "'";
    if (!source)
      throw Error(weights.name(), "has no " + subject);
    if (source->shape != shapeOf(parameter) ||
        !isConvertible(source->type, hs_type(parameter.type)))
      throw Error(weights.name(), subject + " is " + describe(source->type, source->shape) +
                                      ", the model has " + describe(parameter));
    sources.push_back(source);
  }
  size_t next = 0;
  for (uint64_t i = 0; i < artefact.tensor_count; ++i)
    if (artefact.tensors[i].role == HS_PARAMETER)
      visit(artefact.tensors[i], *sources[next++]);
}

void Session::initialise(const Safetensors &weights) {
  clear();
  for (uint64_t i = 0; i < artefact().tensor_count; ++i) {
    const hs_tensor &tensor = artefact().tensors[i];
    if (tensor.role == HS_HYPERPARAMETER)
      writeScalar(tensor, tensor.initial);
  }
  loadParameters(weights);
}

void Session::loadParameters(const Safetensors &weights) {
  std::vector<char> converted;
  forEachParameter(artefact(), weights, [&](const hs_tensor &parameter, const NamedTensor &source) {
    converted.resize(parameter.slice.bytes);
    convert(source.data, source.type, converted.data(), hs_type(parameter.type),
            elementCount(parameter));
    write(parameter, converted.data());
  });
  run(HS_INIT);
}

void Session::clear() { backend->clearState(); }

//===------------------------------------------------------------------------------------------===//
// Programs and tensors
//===------------------------------------------------------------------------------------------===//

char *Session::inputSlot(size_t index, uint64_t slot) const {
  return backend->inputSlot(index, slot);
}

void Session::bindInput(size_t index, const void *data) { backend->bindInput(index, data); }

void Session::run(hs_program_kind program) { backend->run(program); }

void Session::runEntries(hs_program_kind program, const EntryVisitor &visit) {
  backend->runEntries(program, visit);
}

const hs_tensor *Session::find(hs_role role, std::string_view name) const {
  auto search = [&](const hs_tensor *tensors, uint64_t count) -> const hs_tensor * {
    for (uint64_t i = 0; i < count; ++i)
      if (tensors[i].role == uint32_t(role) && tensors[i].name == name)
        return &tensors[i];
    return nullptr;
  };
  if (role == HS_INPUT || role == HS_LABEL)
    return search(artefact().inputs, artefact().input_count);
  return search(artefact().tensors, artefact().tensor_count);
}

const void *Session::data(const hs_tensor &tensor) const {
  assert(tensor.role != HS_INPUT && tensor.role != HS_LABEL && "inputs are the caller's memory");
  return backend->view(tensor.slice);
}

void Session::read(const hs_tensor &tensor, void *target) const {
  std::memcpy(target, data(tensor), tensor.slice.bytes);
}

void Session::write(const hs_tensor &tensor, const void *source) {
  backend->write(tensor.slice, source);
}

void Session::clear(const hs_slice &slice) {
  backend->write(slice, std::vector<char>(slice.bytes).data());
}

double Session::readScalar(const hs_tensor &tensor) const {
  double value;
  convert(data(tensor), hs_type(tensor.type), &value, HS_F64, 1);
  return value;
}

void Session::writeScalar(const hs_tensor &tensor, double value) {
  char converted[sizeof(double)];
  convert(&value, HS_F64, converted, hs_type(tensor.type), 1);
  write(tensor, converted);
}

Record Session::record(uint64_t iteration) const {
  Record record;
  double skipped = 0;
  double *fields[] = {&record.loss,      &record.lr,      &record.scale, &record.gradNorm,
                      &record.iteration, &record.applied, &skipped};
  for (size_t i = 0; i < recordColumns.size(); ++i)
    if (recordColumns[i])
      *fields[i] = backend->records(*recordColumns[i])[iteration % recordRows];
  record.skipped = skipped != 0;
  return record;
}

} // namespace halfstep::runtime
