//===- EmulatedBlas.cpp - The descriptors of the emulated cuBLASLt ----------------------------===//
//
// Handles and descriptors, with the library's status codes; the size of each value is checked.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/emulator/Emulation.h"

#include <cstring>

namespace halfstep::runtime {

using namespace cuda;
using Needs = Emulation::Needs;

namespace {

/// Sets an attribute if the value has the attribute's size.
template <typename T> BlasStatus assign(T &attribute, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return blasInvalidValue;
  std::memcpy(&attribute, value, bytes);
  return blasSuccess;
}

BlasStatus create(BlasHandle *handle) {
  return enterBlas(Needs::Context, [&] {
    if (!handle)
      return blasInvalidValue;
    *handle = emulation().blasHandles.add(0);
    return blasSuccess;
  });
}

BlasStatus destroy(BlasHandle handle) {
  return enterBlas(Needs::Nothing, [&] {
    return emulation().blasHandles.erase(handle) ? blasSuccess : blasNotInitialized;
  });
}

BlasStatus createDescription(MatmulDescription *description, int computeType, int scaleType) {
  return enterBlas(Needs::Nothing, [&] {
    bool isKnown =
        computeType == computeF32 || computeType == computeF32FastTF32 || computeType == computeF64;
    if (!description || !isKnown || !bytesOfType(scaleType))
      return blasInvalidValue;
    MatmulDescriptionState state{};
    state.computeType = computeType;
    state.scaleType = scaleType;
    *description = emulation().descriptions.add(state);
    return blasSuccess;
  });
}

BlasStatus destroyDescription(MatmulDescription description) {
  return enterBlas(Needs::Nothing, [&] {
    return emulation().descriptions.erase(description) ? blasSuccess : blasInvalidValue;
  });
}

BlasStatus assignTransposition(int32_t &attribute, const void *value, size_t bytes) {
  int32_t wish = operationNone;
  if (BlasStatus status = assign(wish, value, bytes))
    return status;
  if (wish != operationNone && wish != operationTranspose)
    return blasInvalidValue;
  attribute = wish;
  return blasSuccess;
}

BlasStatus setDescription(MatmulDescription description, int attribute, const void *value,
                          size_t bytes) {
  return enterBlas(Needs::Nothing, [&]() -> BlasStatus {
    MatmulDescriptionState *state = emulation().descriptions.find(description);
    if (!state)
      return blasInvalidValue;
    switch (attribute) {
    case matmulTransposeA:
      return assignTransposition(state->transposeA, value, bytes);
    case matmulTransposeB:
      return assignTransposition(state->transposeB, value, bytes);
    case matmulEpilogue:
      return assign(state->epilogue, value, bytes);
    case matmulBiasPointer:
      return assign(state->bias, value, bytes);
    case matmulBiasType:
      return assign(state->biasType, value, bytes);
    default:
      return blasInvalidValue;
    }
  });
}

BlasStatus createLayout(MatrixLayout *layout, int type, uint64_t rows, uint64_t columns,
                        int64_t leadingDimension) {
  return enterBlas(Needs::Nothing, [&] {
    if (!layout || !bytesOfType(type))
      return blasInvalidValue;
    MatrixShape shape;
    shape.type = type;
    shape.rows = rows;
    shape.columns = columns;
    shape.leadingDimension = leadingDimension;
    *layout = emulation().layouts.add(shape);
    return blasSuccess;
  });
}

BlasStatus destroyLayout(MatrixLayout layout) {
  return enterBlas(Needs::Nothing, [&] {
    return emulation().layouts.erase(layout) ? blasSuccess : blasInvalidValue;
  });
}

BlasStatus setLayout(MatrixLayout layout, int attribute, const void *value, size_t bytes) {
  return enterBlas(Needs::Nothing, [&]() -> BlasStatus {
    MatrixShape *shape = emulation().layouts.find(layout);
    if (!shape)
      return blasInvalidValue;
    if (attribute == layoutBatchCount)
      return assign(shape->batchCount, value, bytes);
    if (attribute == layoutBatchStride)
      return assign(shape->batchStride, value, bytes);
    return blasInvalidValue;
  });
}

BlasStatus createPreference(MatmulPreference *preference) {
  return enterBlas(Needs::Nothing, [&] {
    if (!preference)
      return blasInvalidValue;
    *preference = emulation().preferences.add({});
    return blasSuccess;
  });
}

BlasStatus destroyPreference(MatmulPreference preference) {
  return enterBlas(Needs::Nothing, [&] {
    return emulation().preferences.erase(preference) ? blasSuccess : blasInvalidValue;
  });
}

BlasStatus setPreference(MatmulPreference preference, int attribute, const void *value,
                         size_t bytes) {
  return enterBlas(Needs::Nothing, [&]() -> BlasStatus {
    MatmulPreferenceState *state = emulation().preferences.find(preference);
    if (!state)
      return blasInvalidValue;
    if (attribute == preferenceMaxWorkspaceBytes)
      return assign(state->maxWorkspaceBytes, value, bytes);
    if (attribute == preferenceReductionScheme)
      return assign(state->reductionSchemes, value, bytes);
    if (unsigned which = unsigned(attribute - preferenceMinAlignmentA);
        which < state->alignments.size())
      return assign(state->alignments[which], value, bytes);
    return blasInvalidValue;
  });
}

} // namespace

void setDescriptorFunctions(CublasLt &blas) {
  blas.cublasLtCreate = create;
  blas.cublasLtDestroy = destroy;
  blas.cublasLtMatmulDescCreate = createDescription;
  blas.cublasLtMatmulDescDestroy = destroyDescription;
  blas.cublasLtMatmulDescSetAttribute = setDescription;
  blas.cublasLtMatrixLayoutCreate = createLayout;
  blas.cublasLtMatrixLayoutDestroy = destroyLayout;
  blas.cublasLtMatrixLayoutSetAttribute = setLayout;
  blas.cublasLtMatmulPreferenceCreate = createPreference;
  blas.cublasLtMatmulPreferenceDestroy = destroyPreference;
  blas.cublasLtMatmulPreferenceSetAttribute = setPreference;
}

} // namespace halfstep::runtime
