//===- KernelDialect.cpp - the kernel dialect: builders and assembly -----------------------===//

#include "ir/KernelDialect.h"

using namespace mlir;
using namespace halfstep::kernel;

#include "ir/KernelDialect.cpp.inc"

#include "ir/KernelEnums.cpp.inc"

#define GET_OP_CLASSES
#include "ir/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/KernelOps.cpp.inc"
      >();
}

Type halfstep::kernel::computeType(Type storage) {
  MLIRContext *context = storage.getContext();
  if (storage.isF16() || storage.isBF16())
    return Float32Type::get(context);
  if (storage.isUnsignedInteger(8))
    return IntegerType::get(context, 32);
  bool itself = storage.isF32() || storage.isF64() || storage.isSignlessInteger(1) ||
                storage.isSignlessInteger(8) || storage.isSignlessInteger(32) ||
                storage.isSignlessInteger(64);
  return itself ? storage : Type();
}

//===---------------------------------------------------------------------------------------===//
// Building
//===---------------------------------------------------------------------------------------===//

GroupOp GroupOp::create(OpBuilder &builder, Location loc, StringRef name, ArrayRef<int64_t> space,
                        ArrayRef<Buffer> arguments, ArrayRef<Result> results, BodyBuilder body) {
  SmallVector<Attribute> types, strides;
  SmallVector<int64_t> offsets, outs;
  auto addBuffer = [&](const Buffer &buffer) {
    types.push_back(TypeAttr::get(buffer.storage));
    strides.push_back(builder.getDenseI64ArrayAttr(buffer.strides));
    offsets.push_back(buffer.offset);
  };
  llvm::for_each(arguments, addBuffer);
  for (const Result &result : results) {
    if (auto *argument = std::get_if<unsigned>(&result)) {
      outs.push_back(*argument);
      continue;
    }
    outs.push_back(types.size());
    addBuffer(std::get<Buffer>(result));
  }
  auto group =
      builder.create<GroupOp>(loc, name, space, builder.getArrayAttr(types),
                              builder.getArrayAttr(strides), offsets, outs, /*partial=*/false);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&group.getBody());
  for (const Buffer &argument : arguments)
    block->addArgument(computeType(argument.storage), loc);
  SmallVector<Value> values = body(builder, loc, block->getArguments());
  builder.create<YieldOp>(loc, values);
  return group;
}

ContractOp ContractOp::create(OpBuilder &builder, Location loc, StringRef name, Type type,
                              ArrayRef<int64_t> space, bool transposeA, bool transposeB,
                              bool repeatA, bool repeatB, bool bias) {
  int64_t m = space[1], n = space[2], k = space[3];
  auto strides = [](int64_t rows, int64_t columns, bool transposed, bool repeated) {
    int64_t batch = repeated ? 0 : rows * columns;
    return transposed ? SmallVector<int64_t>{batch, 1, rows}
                      : SmallVector<int64_t>{batch, columns, 1};
  };
  return builder.create<ContractOp>(loc, name, space, type, strides(m, k, transposeA, repeatA),
                                    strides(k, n, transposeB, repeatB), strides(m, n, false, false),
                                    bias);
}

std::pair<int64_t, int64_t> halfstep::kernel::boundsOf(ArrayRef<int64_t> sizes,
                                                       ArrayRef<int64_t> strides, int64_t offset) {
  int64_t lowest = offset, highest = offset;
  for (auto [size, stride] : llvm::zip(sizes, strides))
    (stride < 0 ? lowest : highest) += (size - 1) * stride;
  return {lowest, highest};
}

YieldOp GroupOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }

int64_t GroupOp::getReducedDimension() {
  for (auto reduce : getBlock().getOps<ReduceOp>())
    return int64_t(getSpace().size()) - (reduce.getOver() == ReduceOver::Last ? 1 : 2);
  return -1;
}

//===---------------------------------------------------------------------------------------===//
// Assembly: kernel.group [partial] @f [R, C](%x: f16[C, 1] + 8, ...) -> (f16[C, 1], %x) { body }
//===---------------------------------------------------------------------------------------===//

ParseResult GroupOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<int64_t> space, offsets, outs;
  SmallVector<Attribute> types, strides;
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseIntegers = [&](SmallVectorImpl<int64_t> &values) {
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Square, [&] { return parser.parseInteger(values.emplace_back()); });
  };
  auto parseBuffer = [&]() -> ParseResult {
    Type type;
    SmallVector<int64_t> bufferStrides;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseType(type))
      return failure();
    if (!computeType(type))
      return parser.emitError(loc) << type << " is not a storage type";
    if (parseIntegers(bufferStrides))
      return failure();
    offsets.push_back(0);
    if (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(offsets.back()))
      return failure();
    types.push_back(TypeAttr::get(type));
    strides.push_back(builder.getDenseI64ArrayAttr(bufferStrides));
    return success();
  };
  auto parseArgument = [&]() -> ParseResult {
    auto &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseColon() || parseBuffer())
      return failure();
    argument.type = computeType(cast<TypeAttr>(types.back()).getValue());
    return success();
  };
  auto parseResult = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand updated;
    OptionalParseResult inPlace = parser.parseOptionalOperand(updated);
    if (!inPlace.has_value()) {
      outs.push_back(types.size());
      return parseBuffer();
    }
    if (failed(*inPlace))
      return failure();
    for (auto [i, argument] : llvm::enumerate(arguments))
      if (argument.ssaName.name == updated.name) {
        outs.push_back(i);
        return success();
      }
    return parser.emitError(updated.location, "not an argument of this group");
  };

  if (succeeded(parser.parseOptionalKeyword("partial")))
    state.addAttribute("partial", builder.getUnitAttr());
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), state.attributes) ||
      parseIntegers(space) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseArgument) ||
      parser.parseArrow() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseResult) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  state.addAttribute("space", builder.getDenseI64ArrayAttr(space));
  state.addAttribute("types", builder.getArrayAttr(types));
  state.addAttribute("strides", builder.getArrayAttr(strides));
  state.addAttribute("offsets", builder.getDenseI64ArrayAttr(offsets));
  state.addAttribute("outs", builder.getDenseI64ArrayAttr(outs));
  return parser.parseRegion(*state.addRegion(), arguments);
}

void GroupOp::print(OpAsmPrinter &printer) {
  auto printIntegers = [&](ArrayRef<int64_t> values) {
    printer << "[";
    llvm::interleaveComma(values, printer);
    printer << "]";
  };
  auto printBuffer = [&](unsigned buffer) {
    printer << getStorageType(buffer);
    printIntegers(getBufferStrides(buffer));
    if (int64_t offset = getBufferOffset(buffer))
      printer << " + " << offset;
  };
  printer << (getPartial() ? " partial " : " ");
  printer.printSymbolName(getSymName());
  printer << " ";
  printIntegers(getSpace());
  printer << "(";
  llvm::interleaveComma(getBlock().getArguments(), printer, [&](BlockArgument argument) {
    printer << argument << ": ";
    printBuffer(argument.getArgNumber());
  });
  printer << ") -> (";
  llvm::interleaveComma(getOuts(), printer, [&](int64_t out) {
    if (out < getBlock().getNumArguments())
      printer << getBlock().getArgument(out);
    else
      printBuffer(out);
  });
  printer << ") ";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"sym_name", "space", "types", "strides", "offsets", "outs", "partial"});
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
