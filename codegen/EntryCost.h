//===- EntryCost.h - what an entry of a program has to do ----------------------------------===//
//
// Counted from the entry alone, whatever executes it: the bytes that it cannot do without and the
// arithmetic that it asks for.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_ENTRYCOST_H
#define HALFSTEP_CODEGEN_ENTRYCOST_H

#include "mlir/IR/Operation.h"

#include <cstdint>

namespace halfstep::codegen {

/// Bytes count once, however often they are read. An addition, a multiplication, a comparison that
/// yields a number or an elementary function is one operation, a fused multiply-add two; where a
/// value is the same along a dimension, it is computed once along it. Conversions, selections and
/// integers are free, and so are products with padding.
struct EntryCost {
  uint64_t bytesRead = 0, bytesWritten = 0;
  uint64_t flops = 0;
  uint64_t flopsInDouble = 0; ///< of these, in f64

  EntryCost &operator+=(const EntryCost &other) {
    bytesRead += other.bytesRead;
    bytesWritten += other.bytesWritten;
    flops += other.flops;
    flopsInDouble += other.flopsInDouble;
    return *this;
  }
  EntryCost operator*(uint64_t times) const {
    return {bytesRead * times, bytesWritten * times, flops * times, flopsInDouble * times};
  }
};

/// Of an entry that has its slices, in a module as the memory phase leaves it. What a table cannot
/// say of it is reported at the entry.
mlir::FailureOr<EntryCost> costOf(mlir::Operation &entry);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_ENTRYCOST_H
