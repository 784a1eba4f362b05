//===- Loader.cpp - Batches from files into a session -----------------------------------------===//

#include "runtime/Loader.h"

#include "runtime/Types.h"

#include <cstring>

namespace halfstep::runtime {

namespace {

std::string printShape(const std::vector<int64_t> &shape, size_t from, const std::string &first) {
  std::string text = "[" + first;
  for (size_t i = from; i < shape.size(); ++i)
    text += (text.size() > 1 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// "input x" or "the label"
std::string describeInput(const hs_tensor &input) {
  return input.role == HS_LABEL ? "the label" : std::string("input ") + input.name;
}

Error shapeError(const DataFile &file, const hs_tensor &input) {
  std::vector<int64_t> expected = shapeOf(input), found = file.header().shape;
  int64_t expectedElements = 1, foundElements = 1;
  for (size_t i = 1; i < expected.size(); ++i)
    expectedElements *= expected[i];
  for (size_t i = 1; i < found.size(); ++i)
    foundElements *= found[i];
  std::string reshape = "(-1";
  for (size_t i = 1; i < expected.size(); ++i)
    reshape += ", " + std::to_string(expected[i]);

  Error error(file.path(), "its shape does not fit " + describeInput(input));
  error.detail("expected " + printShape(expected, 1, "samples"))
      .detail("found    " + printShape(found, 0, ""));
  if (!found.empty() && expectedElements == foundElements)
    error.help("numpy.save(\"x.npy\", a.reshape" + reshape + "))");
  else
    error.help("the first dimension of a data file counts the samples, the others are those of the "
               "model's " +
               std::string(input.role == HS_LABEL ? "label" : "input"));
  return error;
}

Error typeError(const DataFile &file, const hs_tensor &input) {
  bool toBool = input.type == HS_BOOL;
  return Error(file.path(), std::string("its elements are ") + name(file.header().type) + ", but " +
                                describeInput(input) + " takes " +
                                (toBool              ? "bool"
                                 : input.class_count ? "class ids"
                                                     : "integers"))
      .help(std::string("numpy.save(\"x.npy\", a.astype(") + (toBool ? "bool" : "numpy.int64") +
            "))");
}

} // namespace

const char *inputName(const hs_tensor &input) {
  return input.role == HS_LABEL ? "label" : input.name;
}

Loader::Loader(Session &session, const std::vector<std::string> &paths)
    : session(session), slots(session.artefact().input_slots),
      thread(slots.size(), [this](size_t slot) { stage(slot); }) {
  for (size_t i = 0; i < paths.size(); ++i)
    if (!paths[i].empty())
      addColumn(i, paths[i]);
  if (columns.empty())
    throw Error(session.name(), "the model has no inputs to read data into");
  for (Slot &slot : slots)
    slot.rows.resize(batchSize);
}

void Loader::addColumn(size_t index, const std::string &path) {
  const hs_tensor &tensor = session.artefact().inputs[index];
  if (tensor.rank == 0 || (!columns.empty() && uint64_t(tensor.shape[0]) != batchSize))
    throw Error(session.name(), "the leading dimension of " + describeInput(tensor) + ", " +
                                    describe(tensor) + ", is not that of the batch")
        .help("export the model with the batch as the first dimension of every input");
  batchSize = uint64_t(tensor.shape[0]);

  DataFile file(path);
  const NpyHeader &header = file.header();
  std::vector<int64_t> expected = shapeOf(tensor);
  if (header.shape.size() != expected.size() ||
      !std::equal(expected.begin() + 1, expected.end(), header.shape.begin() + 1))
    throw shapeError(file, tensor);
  Conversion convert = findConversion(header.type, hs_type(tensor.type));
  if (!convert)
    throw typeError(file, tensor);

  uint64_t samples = uint64_t(header.shape[0]);
  if (!columns.empty() && samples != sampleCount)
    throw Error(path, std::to_string(samples) + " samples, but " + columns[0].file.path() +
                          " holds " + std::to_string(sampleCount))
        .help("all data files of a run hold the same samples in the same order");
  sampleCount = samples;

  size_t elements = elementCount(tensor) / batchSize;
  size_t storedBytes = elements * elementBytes(header.type);
  size_t sampleBytes = elements * elementBytes(hs_type(tensor.type));
  bool same = isSameStorage(header.type, hs_type(tensor.type));
  // A device takes a batch from its slot; what a page fault interrupts would not be a copy beside
  // it.
  bool inPlace = !session.artefact().cuda;
  bool aligned = uintptr_t(file.elements()) % elementBytes(hs_type(tensor.type)) == 0;
  columns.push_back({index, &tensor, std::move(file), elements, storedBytes, sampleBytes,
                     same ? nullptr : convert,
                     inPlace && same && aligned && tensor.class_count == 0});
}

//===------------------------------------------------------------------------------------------===//
// Slots
//===------------------------------------------------------------------------------------------===//

void Loader::note(Slot &slot, Batch batch) const {
  slot.isRange = !batch.rows;
  slot.first = batch.first;
  if (batch.rows)
    std::copy_n(batch.rows, batchSize, slot.rows.begin());
}

bool Loader::holds(const Slot &slot, Batch batch) const {
  if (slot.isRange || !batch.rows)
    return slot.isRange && !batch.rows && slot.first == batch.first;
  return std::equal(slot.rows.begin(), slot.rows.end(), batch.rows);
}

void Loader::bind(Batch batch) {
  size_t slot = (bound + 1) % slots.size();
  if (bound + 1 < staged && holds(slots[slot], batch)) {
    thread.finish(slot);
  } else {
    cancelPrefetch();
    note(slots[slot], batch);
    stage(slot);
    ++staged;
  }
  ++bound;
  for (const Column &column : columns)
    session.bindInput(column.index, isDirect(column, batch)
                                        ? column.file.elements() + batch.first * column.storedBytes
                                        : session.inputSlot(column.index, slot));
}

bool Loader::canPrefetch(bool isRange) const {
  // To wake a thread and to be woken by it takes some 10 microseconds, to copy this much 30.
  constexpr size_t worthAThread = 256 << 10;
  if (staged - bound >= slots.size())
    return false;
  size_t bytes = 0;
  for (const Column &column : columns)
    if (!isRange || !column.direct)
      bytes += batchSize * column.sampleBytes;
  return bytes >= worthAThread;
}

void Loader::prefetch(Batch batch) {
  size_t slot = staged++ % slots.size();
  note(slots[slot], batch);
  thread.begin(slot);
}

void Loader::cancelPrefetch() {
  if (staged == bound + 1)
    return;
  thread.cancel();
  staged = bound + 1;
}

/// Fills a slot with the batch that it describes.
void Loader::stage(size_t slot) const {
  Batch batch = slots[slot].batch();
  for (const Column &column : columns) {
    if (isDirect(column, batch))
      continue;
    char *target = session.inputSlot(column.index, slot);
    // Runs of samples that lie together are copied at once.
    for (uint64_t position = 0, run; position < batchSize; position += run) {
      uint64_t sample = rowAt(batch, position);
      for (run = 1; position + run < batchSize; ++run)
        if (rowAt(batch, position + run) != sample + run)
          break;
      copySamples(column, sample, run, target + position * column.sampleBytes);
    }
    checkClasses(column, batch, target);
  }
}

//===------------------------------------------------------------------------------------------===//
// Samples
//===------------------------------------------------------------------------------------------===//

void Loader::copySamples(const Column &column, uint64_t sample, uint64_t count,
                         char *target) const {
  const char *source = column.file.elements() + sample * column.storedBytes;
  if (!column.convert) {
    std::memcpy(target, source, count * column.storedBytes);
    return;
  }
  size_t elements = count * column.sampleElements;
  size_t bad = column.convert(source, target, elements);
  if (bad == elements)
    return;
  NpyType type = column.file.header().type;
  int64_t value = integerAt(type, source + bad * elementBytes(type));
  throw Error(column.file.path(), "sample " + std::to_string(sample + bad / column.sampleElements) +
                                      ": the value " + std::to_string(value) +
                                      " does not fit into " +
                                      std::string(safetensorsName(hs_type(column.tensor->type))) +
                                      " of " + describeInput(*column.tensor));
}

void Loader::checkClasses(const Column &column, Batch batch, const char *staged) const {
  const hs_tensor &tensor = *column.tensor;
  if (tensor.class_count == 0)
    return;
  size_t elements = batchSize * column.sampleElements;
  hs_type type = hs_type(tensor.type);
  size_t bad = findInvalidClass(type, staged, elements, tensor.class_count, tensor.ignored_class);
  if (bad == elements)
    return;
  uint64_t sample = rowAt(batch, bad / column.sampleElements);
  size_t element = sample * column.sampleElements + bad % column.sampleElements;
  NpyType stored = column.file.header().type;
  int64_t value = integerAt(stored, column.file.elements() + element * elementBytes(stored));
  Error error(column.file.path(), "sample " + std::to_string(sample) + ": the class id " +
                                      std::to_string(value) + " is not one of the model's " +
                                      std::to_string(tensor.class_count) + " classes");
  error.detail("class ids run from 0 to " + std::to_string(tensor.class_count - 1) +
               (tensor.ignored_class == INT64_MIN
                    ? ""
                    : ", and " + std::to_string(tensor.ignored_class) + " is ignored"));
  throw error;
}

Error tooFewSamples(const Loader &loader, uint64_t needed) {
  std::string samples = std::to_string(loader.samples());
  Error error(loader.firstPath(),
              samples + " samples do not fill one batch of " + std::to_string(needed));
  error.help("give more data" + (loader.samples()
                                     ? ", or compile the model with --batch " + samples + " or less"
                                     : ""));
  return error;
}

void Loader::checkComplete() const {
  for (const Column &column : columns)
    column.file.checkComplete();
  if (LostPages::occurred())
    throw Error("", "a page of a mapped file could not be read")
        .help("was a file truncated for a moment, or does a disk fail?");
}

} // namespace halfstep::runtime
