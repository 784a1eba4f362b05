//===- TableDialect.cpp - What a step does, in order ----------------------===//

#include "ir/TableDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace halfstep::table;

#include "ir/TableDialect.cpp.inc"
#include "ir/TableEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TableAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/TableOps.cpp.inc"

void TableDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/TableAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/TableOps.cpp.inc"
      >();
}

uint64_t halfstep::table::storageBytes(RankedTensorType type) {
  return uint64_t(type.getNumElements()) *
         std::max(1u, type.getElementTypeBitWidth() / 8);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom(*this, getKernelAttr()))
    return emitOpError("refers to an unknown kernel ") << getKernelAttr();
  return success();
}

LogicalResult GemmOp::verify() {
  auto c = cast<RankedTensorType>(getC().getType());
  if (getBias() && (c.getRank() == 0 || getBias().getType() != c.clone(c.getShape().take_back())))
    return emitOpError("needs a bias with an element for each column, not ")
           << getBias().getType();
  return success();
}

LogicalResult AliasOp::verify() {
  auto from = cast<RankedTensorType>(getSource().getType());
  auto to = cast<RankedTensorType>(getView().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return emitOpError("must keep the element type and the number of elements");
  return success();
}
