//===- EmulatedMatmul.cpp - The products of the emulated cuBLASLt -----------------------------===//
//
// The heuristic and the product, with the library's status codes. A product that would be split
// over k on a device, where the caller's preference allows it, asks for workspace, and spoils what
// it is given: so a workspace that holds something else is noticed.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/emulator/Emulation.h"

#include <cstring>

namespace halfstep::runtime {

using namespace cuda;
using Needs = Emulation::Needs;

namespace {

/// A whole call's descriptors.
struct Call {
  MatmulDescriptionState description;
  MatrixProduct product;
};

bool isPlaced(const MatrixShape &shape) {
  return shape.rows > 0 && shape.columns > 0 && shape.leadingDimension >= int64_t(shape.rows) &&
         shape.batchCount > 0 && shape.batchStride >= 0;
}

/// Whether the types are a combination that the library has.
bool isSupported(const MatmulDescriptionState &description, const MatrixProduct &product) {
  int type = product.a.type, result = product.d.type;
  if (product.b.type != type || product.c.type != result)
    return false;
  if (description.epilogue != epilogueDefault && description.epilogue != epilogueBias)
    return false;
  if (description.biasType != -1 && description.biasType != result)
    return false;
  if (description.computeType == computeF64)
    return description.scaleType == dataF64 && type == dataF64 && result == dataF64;
  if (description.scaleType != dataF32 || type == dataF64 ||
      (description.computeType == computeF32FastTF32 && type != dataF32))
    return false;
  return result == type || result == dataF32;
}

/// Reads the descriptors of a call; whether they fit together.
BlasStatus read(MatmulDescription description, MatrixLayout a, MatrixLayout b, MatrixLayout c,
                MatrixLayout d, Call &call) {
  MatmulDescriptionState *state = emulation().descriptions.find(description);
  const MatrixShape *shapes[] = {emulation().layouts.find(a), emulation().layouts.find(b),
                                 emulation().layouts.find(c), emulation().layouts.find(d)};
  if (!state)
    return blasInvalidValue;
  for (const MatrixShape *shape : shapes)
    if (!shape || !isPlaced(*shape) || shape->batchCount != shapes[3]->batchCount)
      return blasInvalidValue;
  call.description = *state;
  MatrixProduct &product = call.product;
  product.a = *shapes[0];
  product.b = *shapes[1];
  product.c = *shapes[2];
  product.d = *shapes[3];
  product.isATransposed = state->transposeA == operationTranspose;
  product.isBTransposed = state->transposeB == operationTranspose;
  product.isFastTf32 = state->computeType == computeF32FastTF32;
  product.hasBias = state->epilogue == epilogueBias;
  uint64_t rows = product.isATransposed ? product.a.columns : product.a.rows;
  uint64_t columns = product.isBTransposed ? product.b.rows : product.b.columns;
  uint64_t depth = product.isBTransposed ? product.b.columns : product.b.rows;
  if (product.d.rows != rows || product.d.columns != columns || product.depth() != depth ||
      product.c.rows != rows || product.c.columns != columns)
    return blasInvalidValue;
  return isSupported(*state, product) ? blasSuccess : blasNotSupported;
}

/// Which product an algorithm is for: a number that tells descriptors apart.
uint64_t numberOf(const Call &call) {
  uint64_t number = 0;
  auto add = [&](uint64_t value) { number = (number ^ value) * 0x100000001b3 + 0x9e3779b9; };
  for (const MatrixShape *shape :
       {&call.product.a, &call.product.b, &call.product.c, &call.product.d})
    for (uint64_t value :
         {uint64_t(shape->type), shape->rows, shape->columns, uint64_t(shape->leadingDimension),
          uint64_t(shape->batchCount), uint64_t(shape->batchStride)})
      add(value);
  for (int value : {call.description.computeType, call.description.transposeA,
                    call.description.transposeB, int(call.description.epilogue)})
    add(uint64_t(value));
  return number;
}

EmulatedAlgorithm choose(const Call &call, const MatmulPreferenceState &preference) {
  constexpr uint64_t splits = 4, deep = 512, fewElements = 128 * 128;
  const MatrixProduct &product = call.product;
  uint64_t elements = product.rows() * product.columns();
  uint64_t sumBytes = call.description.computeType == computeF64 ? 8 : 4;
  uint64_t bytes = splits * elements * uint64_t(product.d.batchCount) * sumBytes;
  bool isSplit = (preference.reductionSchemes & reductionComputeType) && elements <= fewElements &&
                 product.depth() >= deep && bytes <= preference.maxWorkspaceBytes;
  return {numberOf(call), isSplit ? bytes : 0, preference.alignments};
}

BlasStatus getHeuristic(BlasHandle handle, MatmulDescription description, MatrixLayout a,
                        MatrixLayout b, MatrixLayout c, MatrixLayout d, MatmulPreference preference,
                        int requested, MatmulHeuristic *results, int *found) {
  return enterBlas(Needs::Context, [&]() -> BlasStatus {
    if (!emulation().blasHandles.find(handle))
      return blasNotInitialized;
    MatmulPreferenceState *wish = emulation().preferences.find(preference);
    if (!wish || requested <= 0 || !results || !found)
      return blasInvalidValue;
    *found = 0;
    Call call;
    if (BlasStatus status = read(description, a, b, c, d, call))
      return status;
    EmulatedAlgorithm algorithm = choose(call, *wish);
    results[0] = {};
    std::memcpy(&results[0].algorithm, &algorithm, sizeof algorithm);
    results[0].workspaceBytes = algorithm.workspaceBytes;
    results[0].state = blasSuccess;
    results[0].wavesCount = 1;
    *found = 1;
    return blasSuccess;
  });
}

/// From the first byte of a matrix to behind its last.
uint64_t extentOf(const MatrixShape &shape) {
  return ((uint64_t(shape.batchCount) - 1) * uint64_t(shape.batchStride) +
          (shape.columns - 1) * uint64_t(shape.leadingDimension) + shape.rows) *
         bytesOfType(shape.type);
}

/// Calls `f` with each range of bytes that a matrix consists of, as few as possible.
template <typename F> void forEachRange(const MatrixShape &shape, const void *data, F f) {
  uint64_t bytes = bytesOfType(shape.type);
  const char *begin = static_cast<const char *>(data);
  for (int32_t batch = 0; batch < shape.batchCount; ++batch) {
    const char *matrix = begin + uint64_t(batch) * uint64_t(shape.batchStride) * bytes;
    if (shape.leadingDimension == int64_t(shape.rows)) {
      f(DeviceRange{matrix, shape.rows * shape.columns * bytes});
      continue;
    }
    for (uint64_t column = 0; column < shape.columns; ++column)
      f(DeviceRange{matrix + column * uint64_t(shape.leadingDimension) * bytes,
                    shape.rows * bytes});
  }
}

/// The memory of a call.
struct Operands {
  const void *a, *b, *c;
  void *d;
  const void *bias;
  void *workspace;
  uint64_t workspaceBytes;
};

bool overlap(DeviceRange one, DeviceRange other) {
  auto begin = uintptr_t(one.address), otherBegin = uintptr_t(other.address);
  return begin < otherBegin + other.bytes && otherBegin < begin + one.bytes;
}

std::string describe(const MatrixProduct &product) {
  return "cublasLtMatmul of " + std::to_string(product.rows()) + " x " +
         std::to_string(product.columns()) + " x " + std::to_string(product.depth());
}

/// Whether the operands are where the library accepts them. Throws where it would not notice that
/// one is overwritten while it is needed.
BlasStatus check(const MatrixProduct &product, const Operands &operands,
                 const std::array<uint32_t, 4> &alignments) {
  const DeviceMemory &memory = emulation().device->memory;
  auto isAt = [&](const void *data, uint64_t bytes, uint64_t alignment) {
    return uintptr_t(data) % alignment == 0 && memory.contains(data, bytes);
  };
  // A bias is loaded by whole vectors; the library has no preference to say otherwise.
  constexpr uint64_t workspaceAlignment = 256, biasAlignment = 16;
  const uint64_t elementBytes = bytesOfType(product.d.type);
  DeviceRange a{operands.a, extentOf(product.a)}, b{operands.b, extentOf(product.b)};
  DeviceRange c{operands.c, extentOf(product.c)}, d{operands.d, extentOf(product.d)};
  DeviceRange bias{operands.bias, product.rows() * elementBytes};
  DeviceRange workspace{operands.workspace, operands.workspaceBytes};
  const uint32_t *alignment = alignments.data();
  for (const DeviceRange &matrix : {a, b, c, d})
    if (!isAt(matrix.address, matrix.bytes, *alignment++))
      return blasInvalidValue;
  if (product.hasBias && !isAt(bias.address, bias.bytes, biasAlignment))
    return blasInvalidValue;
  if (workspace.bytes && !isAt(workspace.address, workspace.bytes, workspaceAlignment))
    return blasInvalidValue;
  bool isInPlace = operands.c == operands.d;
  if (isInPlace && !(product.c == product.d))
    return blasInvalidValue;
  std::vector<DeviceRange> inputs{a, b};
  if (product.beta != 0 && !isInPlace)
    inputs.push_back(c);
  if (product.hasBias)
    inputs.push_back(bias);
  for (const DeviceRange &input : inputs)
    if (overlap(input, d) || (workspace.bytes && overlap(input, workspace)))
      throw Error(describe(product), "its result or workspace overlaps an operand");
  if (workspace.bytes && overlap(workspace, d))
    throw Error(describe(product), "its workspace overlaps its result");
  return blasSuccess;
}

void run(const MatrixProduct &product, const Operands &operands, const Moment &moment) {
  EmulatedDevice &device = *emulation().device;
  std::string what = describe(product);
  auto read = [&](DeviceRange range) {
    device.read(what, range, moment);
    device.traffic.readBytes += range.bytes;
  };
  auto readAll = [&](const MatrixShape &shape, const void *data) {
    forEachRange(shape, data, read);
  };
  readAll(product.a, operands.a);
  readAll(product.b, operands.b);
  if (product.beta != 0)
    readAll(product.c, operands.c);
  if (product.hasBias)
    read({operands.bias, product.rows() * bytesOfType(product.d.type)});
  if (operands.workspaceBytes)
    device.spoil(what, {operands.workspace, operands.workspaceBytes}, moment);
  forEachRange(product.d, operands.d, [&](DeviceRange range) {
    device.write(what, range, moment);
    device.traffic.writtenBytes += range.bytes;
  });
  product.compute(operands.a, operands.b, operands.c, operands.d, operands.bias);
}

/// alpha or beta, from the host.
double scaleAt(const void *address, int type) {
  if (type == dataF64) {
    double value;
    std::memcpy(&value, address, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, address, sizeof value);
  return double(value);
}

BlasStatus matmul(BlasHandle handle, MatmulDescription description, const void *alpha,
                  const void *a, MatrixLayout aLayout, const void *b, MatrixLayout bLayout,
                  const void *beta, const void *c, MatrixLayout cLayout, void *d,
                  MatrixLayout dLayout, const MatmulAlgorithm *algorithm, void *workspace,
                  size_t workspaceBytes, Stream stream) {
  return enterBlas(Needs::Context, [&]() -> BlasStatus {
    if (!emulation().blasHandles.find(handle))
      return blasNotInitialized;
    const DeviceMemory &memory = emulation().device->memory;
    if (!alpha || !beta || memory.contains(alpha, 1) || memory.contains(beta, 1))
      return blasInvalidValue;
    Call call;
    if (BlasStatus status = read(description, aLayout, bLayout, cLayout, dLayout, call))
      return status;
    MatmulPreferenceState preference;
    preference.maxWorkspaceBytes = workspaceBytes;
    preference.alignments.fill(16); // without an algorithm, the library looks at the addresses
    EmulatedAlgorithm chosen = choose(call, preference);
    if (algorithm)
      std::memcpy(&chosen, algorithm, sizeof chosen);
    if (chosen.problem != numberOf(call) || chosen.workspaceBytes > workspaceBytes)
      return blasInvalidValue;
    MatrixProduct &product = call.product;
    product.alpha = scaleAt(alpha, call.description.scaleType);
    product.beta = scaleAt(beta, call.description.scaleType);
    Operands operands{a,
                      b,
                      c,
                      d,
                      product.hasBias ? call.description.bias : nullptr,
                      workspace,
                      chosen.workspaceBytes};
    if (BlasStatus status = check(product, operands, chosen.alignments))
      return status;
    Result result = emulation().submit(stream, [=]() -> Streams::Operation {
      return [=](const Moment &moment) { run(product, operands, moment); };
    });
    if (result == errorInvalidHandle)
      return blasInvalidValue;
    return result == success ? blasSuccess : blasExecutionFailed;
  });
}

} // namespace

void setProductFunctions(CublasLt &blas) {
  blas.cublasLtMatmulAlgoGetHeuristic = getHeuristic;
  blas.cublasLtMatmul = matmul;
}

} // namespace halfstep::runtime
