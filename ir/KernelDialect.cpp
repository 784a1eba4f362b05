//===- KernelDialect.cpp - the kernel dialect: assembly, builders, verifiers ---------------===//
//
// A group is verified as a whole once its body is: what its results may look like depends on which
// dimensions their values vary along, and that on the loads, indices and reductions before them.
//
//===---------------------------------------------------------------------------------------===//

#include "ir/KernelDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

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

//===---------------------------------------------------------------------------------------===//
// Verifiers
//===---------------------------------------------------------------------------------------===//

LogicalResult GroupOp::verify() {
  size_t rank = getSpace().size();
  if (rank == 0 || rank > 64)
    return emitOpError("needs 1 to 64 dimensions");
  if (llvm::any_of(getSpace(), [](int64_t size) { return size < 1; }))
    return emitOpError("has a dimension of size less than 1");
  if (getStrides().size() != getNumBuffers())
    return emitOpError("has ") << getNumBuffers() << " storage types but strides for "
                               << getStrides().size() << " buffers";
  if (getOffsets().size() != getNumBuffers())
    return emitOpError("needs an offset for each of ") << getNumBuffers() << " buffers";
  for (unsigned i = 0; i < getNumBuffers(); ++i) {
    if (!computeType(getStorageType(i)))
      return emitOpError("buffer ") << i << ": " << getStorageType(i) << " is not a storage type";
    auto strides = dyn_cast<DenseI64ArrayAttr>(getStrides()[i]);
    if (!strides || strides.size() != int64_t(rank))
      return emitOpError("buffer ") << i << ": expected " << rank << " strides, one a dimension";
    if (boundsOf(getSpace(), strides, getBufferOffset(i)).first < 0)
      return emitOpError("buffer ") << i << ": is walked to in front of its first element";
  }
  return success();
}

/// Checks that result `out`, to which `value` is yielded, is written at most once an element, and
/// that a dimension without a stride is a reduced one along which the value does not vary.
static LogicalResult verifyResult(GroupOp group, const ValueAnalysis &analysis, unsigned number,
                                  Value value) {
  int64_t out = group.getOuts()[number], reduced = group.getReducedDimension();
  auto error = [&]() -> InFlightDiagnostic {
    return group.emitOpError("result ") << number << ": ";
  };
  if (value.getType() != computeType(group.getStorageType(out)))
    return error() << "a value of type " << value.getType() << " is yielded to storage "
                   << group.getStorageType(out);
  ArrayRef<int64_t> strides = group.getBufferStrides(out), space = group.getSpace();
  bool isReduced = analysis.phase(value) > 0;
  SmallVector<std::pair<int64_t, int64_t>> extents; // stride and size, of dimensions stepped over
  for (int64_t d = 0; d < int64_t(space.size()); ++d) {
    bool byChunk = group.getPartial() && isReduced && d == reduced;
    if (space[d] == 1 || byChunk)
      continue;
    if (strides[d] == 0) {
      if (analysis.varies(value, d))
        return error() << "has stride 0 in dimension " << d << ", along which its value varies";
      if (d != reduced)
        return error() << "has stride 0 in dimension " << d << ", which is not reduced";
      continue;
    }
    if (isReduced && d == reduced && d + 1 < int64_t(space.size()))
      return error() << "a value reduced over rows cannot be repeated along them";
    extents.push_back({std::abs(strides[d]), space[d]});
  }
  llvm::sort(extents);
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i].first < extents[i - 1].first * extents[i - 1].second)
      return error() << "its strides write an element twice";
  return success();
}

LogicalResult GroupOp::verifyRegions() {
  Block &block = getBlock();
  unsigned arguments = block.getNumArguments();
  if (arguments > getNumBuffers())
    return emitOpError("has more arguments than buffers");
  for (BlockArgument argument : block.getArguments()) {
    Type expected = computeType(getStorageType(argument.getArgNumber()));
    if (argument.getType() != expected)
      return emitOpError("argument ") << argument.getArgNumber() << ": expected compute type "
                                      << expected << ", not " << argument.getType();
  }
  // Outs: arguments updated in place, each once, and the buffers behind the arguments in order.
  llvm::SmallDenseSet<int64_t> updated;
  int64_t next = arguments;
  for (int64_t out : getOuts()) {
    if (out < 0 || out >= int64_t(getNumBuffers()))
      return emitOpError("result buffer ") << out << " is out of range";
    if (out >= int64_t(arguments) ? out != next++ : !updated.insert(out).second)
      return emitOpError("result buffer ") << out << " is repeated or out of order";
  }
  if (next != int64_t(getNumBuffers()))
    return emitOpError("buffer ") << next << " is neither an argument nor a result";

  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("must end with kernel.yield");
  if (yield.getNumOperands() != getOuts().size())
    return emitOpError("has ") << getOuts().size() << " results but yields "
                               << yield.getNumOperands() << " values";
  std::optional<ReduceOver> sort;
  for (Operation &op : block.without_terminator()) {
    Dialect *dialect = op.getDialect();
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect, KernelDialect>(dialect) ||
        op.getNumResults() != 1)
      return op.emitOpError("is not an operation of a kernel's body");
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (sort && *sort != reduce.getOver())
        return reduce.emitOpError("a group has reductions over `last` or over `rows`, not both");
      sort = reduce.getOver();
    }
  }

  ValueAnalysis analysis(*this);
  if (sort == ReduceOver::Rows)
    for (Operation &op : block.without_terminator()) {
      int64_t rows = getReducedDimension();
      if (isa<ReduceOp>(op)
              ? analysis.phase(op.getResult(0)) > 1
              : analysis.phase(op.getResult(0)) > 0 && analysis.varies(op.getResult(0), rows))
        return op.emitOpError("behind a reduction over rows there are column values only");
    }
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (failed(verifyResult(*this, analysis, i, value)))
      return failure();
  return success();
}

LogicalResult ReduceOp::verify() {
  Type type = getType();
  bool isOr = getKind() == ReduceKind::Or;
  if (isOr ? !isa<IntegerType>(type) : type.isInteger(1) || type.isInteger(8))
    return emitOpError() << stringifyReduceKind(getKind()) << " does not take " << type;
  if (getOver() == ReduceOver::Rows && (*this)->getParentOfType<GroupOp>().getSpace().size() < 2)
    return emitOpError("over rows needs a space of two or more dimensions");
  return success();
}

LogicalResult IndexOp::verify() {
  size_t rank = (*this)->getParentOfType<GroupOp>().getSpace().size();
  if (getStrides().size() != rank)
    return emitOpError("has ") << getStrides().size() << " strides for a space of " << rank
                               << " dimensions";
  return success();
}

LogicalResult ContractOp::verify() {
  if (!isa_and_nonnull<FloatType>(computeType(getType())))
    return emitOpError("takes f16, bf16, f32 or f64, not ") << getType();
  if (getSpace().size() != 4)
    return emitOpError("needs the four sizes batch, m, n, k");
  if (llvm::any_of(getSpace(), [](int64_t size) { return size < 1; }))
    return emitOpError("has a size less than 1");
  for (ArrayRef<int64_t> strides : {getAStrides(), getBStrides(), getCStrides()}) {
    if (strides.size() != 3)
      return emitOpError("needs three strides a matrix");
    if (llvm::any_of(strides, [](int64_t stride) { return stride < 0; }))
      return emitOpError("has a negative stride");
  }
  for (int d = 0; d < 3; ++d)
    if (getSpace()[d] > 1 && getCStrides()[d] == 0)
      return emitOpError("c has stride 0 in dimension ") << d;
  return success();
}
