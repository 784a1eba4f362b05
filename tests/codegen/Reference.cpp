//===- Reference.cpp - what a group means ---------------------------------------------------===//

#include "Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::tests;

unsigned halfstep::tests::bytesOf(Type storage) {
  return (storage.getIntOrFloatBitWidth() + 7) / 8;
}

long double halfstep::tests::readElement(Type storage, const void *buffer, int64_t i) {
  if (storage.isBF16()) {
    uint32_t bits = uint32_t(static_cast<const uint16_t *>(buffer)[i]) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  if (storage.isF16())
    return static_cast<const _Float16 *>(buffer)[i];
  if (storage.isF32())
    return static_cast<const float *>(buffer)[i];
  if (storage.isF64())
    return static_cast<const double *>(buffer)[i];
  if (storage.isInteger(1) || storage.isUnsignedInteger(8))
    return static_cast<const uint8_t *>(buffer)[i];
  if (storage.isInteger(8))
    return static_cast<const int8_t *>(buffer)[i];
  if (storage.isInteger(32))
    return static_cast<const int32_t *>(buffer)[i];
  return static_cast<const int64_t *>(buffer)[i];
}

void halfstep::tests::writeElement(Type storage, void *buffer, int64_t i, long double value) {
  if (storage.isBF16()) {
    float single = value;
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    static_cast<uint16_t *>(buffer)[i] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  } else if (storage.isF16()) {
    static_cast<_Float16 *>(buffer)[i] = _Float16(float(value));
  } else if (storage.isF32()) {
    static_cast<float *>(buffer)[i] = value;
  } else if (storage.isF64()) {
    static_cast<double *>(buffer)[i] = value;
  } else if (storage.isInteger(32)) {
    static_cast<int32_t *>(buffer)[i] = value;
  } else if (storage.isInteger(64)) {
    static_cast<int64_t *>(buffer)[i] = value;
  } else {
    static_cast<int8_t *>(buffer)[i] = int64_t(value);
  }
}

int64_t halfstep::tests::extentOf(GroupOp group, unsigned buffer) {
  return boundsOf(group.getSpace(), group.getBufferStrides(buffer), group.getBufferOffset(buffer))
             .second +
         1;
}

/// Half a unit in the last place of 1.
static long double roundoff(Type type) {
  return type.isF64() ? 0x1p-53L : type.isF32() ? 0x1p-24L : 0;
}

template <typename Predicate, typename T> static bool holds(Predicate predicate, T x, T y) {
  StringRef name = stringifyEnum(predicate);
  if (name.size() == 3) { // an ordered or unordered comparison of floats, or a signed one
    if (name == "uno" || name == "ord")
      return (std::isnan(x) || std::isnan(y)) == (name == "uno");
    if (name[0] != 's' && (std::isnan(x) || std::isnan(y)))
      return name[0] == 'u';
    name = name.drop_front();
  }
  return name == "eq"   ? x == y
         : name == "ne" ? x != y
         : name == "lt" ? x < y
         : name == "le" ? x <= y
         : name == "gt" ? x > y
                        : x >= y;
}

/// One operation on numbers that carry their errors. The result's error has a term for the
/// operands' (their errors times the derivative) and one for the operation's own rounding, in
/// halves of a unit in the last place: 1 for what is correctly rounded, 8 for the polynomials.
static Number apply(Operation &op, ArrayRef<Number> in) {
  Type type = op.getResult(0).getType();
  long double u = roundoff(type);
  long double x = in.size() > 0 ? in[0].value : 0, y = in.size() > 1 ? in[1].value : 0;
  long double dx = in.size() > 0 ? in[0].error : 0, dy = in.size() > 1 ? in[1].error : 0;
  auto number = [&](long double value, long double fromOperands, int halves) {
    return Number{value, fromOperands + halves * u * (std::abs(value) + fromOperands)};
  };
  auto truth = [&](bool value, long double gap) {
    return Number{value ? 1.0L : 0.0L, gap <= dx + dy && dx + dy > 0 ? 1.0L : 0.0L};
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto value = dyn_cast<FloatAttr>(constant.getValue()))
      return {value.getValueAsDouble(), 0};
    return {(long double)cast<IntegerAttr>(constant.getValue()).getInt() *
                (type.isInteger(1) ? -1 : 1),
            0};
  }
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return truth(holds(cmp.getPredicate(), x, y), std::abs(x - y));
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return truth(holds(cmp.getPredicate(), x, y), std::abs(x - y));
  if (isa<arith::AddFOp>(op))
    return number(x + y, dx + dy, 1);
  if (isa<arith::SubFOp>(op))
    return number(x - y, dx + dy, 1);
  if (isa<arith::MulFOp>(op))
    return number(x * y, std::abs(x) * dy + std::abs(y) * dx + dx * dy, 1);
  if (isa<arith::DivFOp>(op)) {
    long double least = std::abs(y) - dy;
    return number(x / y, (dx + std::abs(x / y) * dy) / least, 1);
  }
  if (isa<math::FmaOp>(op))
    return number(x * y + in[2].value, std::abs(x) * dy + std::abs(y) * dx + in[2].error, 1);
  if (isa<arith::NegFOp>(op))
    return {-x, dx};
  if (isa<math::AbsFOp>(op))
    return {std::abs(x), dx};
  if (isa<arith::MaximumFOp>(op))
    return {std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y), std::max(dx, dy)};
  if (isa<arith::MinimumFOp>(op))
    return {std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y), std::max(dx, dy)};
  if (isa<arith::SelectOp>(op)) {
    Number chosen = x ? in[1] : in[2];
    if (dx) // the condition itself is uncertain
      chosen.error = std::max(in[1].error, in[2].error) + std::abs(in[1].value - in[2].value);
    return chosen;
  }
  int polynomial = type.isF64() ? 2 : 8;
  if (isa<math::ExpOp>(op))
    return number(std::exp(x), std::exp(x) * std::expm1(dx), polynomial);
  if (isa<math::LogOp>(op))
    return number(std::log(x), dx / (std::abs(x) - dx), polynomial);
  if (isa<math::TanhOp>(op))
    return number(std::tanh(x), dx, polynomial);
  if (isa<math::ErfOp>(op))
    return number(std::erf(x), 1.13L * dx, polynomial);
  if (isa<math::SqrtOp>(op))
    return number(std::sqrt(x), dx / (2 * std::sqrt(x - std::min(dx, x / 2)) + 1e-300L), 1);
  if (isa<math::RsqrtOp>(op))
    return number(1 / std::sqrt(x), dx / (2 * x * std::sqrt(x)), 2);
  if (isa<math::PowFOp>(op)) {
    long double p = std::pow(x, y);
    return number(p, std::abs(p) * (std::abs(y / x) * dx + std::abs(std::log(std::abs(x))) * dy),
                  polynomial);
  }
  if (isa<math::FloorOp>(op))
    return {std::floor(x), dx ? 1.0L : 0.0L};
  if (isa<arith::AndIOp>(op))
    return {(long double)(int64_t(x) & int64_t(y)), std::max(dx, dy)};
  if (isa<arith::OrIOp>(op))
    return {(long double)(int64_t(x) | int64_t(y)), std::max(dx, dy)};
  if (isa<arith::XOrIOp>(op))
    return {(long double)(int64_t(x) ^ int64_t(y)), std::max(dx, dy)};
  if (isa<arith::AddIOp>(op))
    return {x + y, 0};
  if (isa<arith::MulIOp>(op))
    return {x * y, 0};
  if (isa<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::ExtFOp>(op))
    return in[0];
  if (isa<arith::FPToSIOp>(op))
    return {std::trunc(x), dx ? 1.0L : 0.0L};
  if (isa<arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return number(x, dx, 1);
  llvm::report_fatal_error("not interpreted: " + op.getName().getStringRef());
}

namespace {
/// A reduction's result at one position: how many values, and the sum of their magnitudes.
struct Accumulator {
  Number result;
  long double magnitude = 0, error = 0;
  int64_t count = 0;

  void take(ReduceKind kind, Number next) {
    error += next.error;
    magnitude += std::abs(next.value) + next.error;
    bool isFirst = count++ == 0;
    if (isFirst)
      result.value = next.value;
    else if (kind == ReduceKind::Add)
      result.value += next.value;
    else if (kind == ReduceKind::Or)
      result.value = int64_t(result.value) | int64_t(next.value);
    else if (!std::isnan(result.value))
      result.value = std::isnan(next.value)    ? next.value
                     : kind == ReduceKind::Max ? std::max(result.value, next.value)
                                               : std::min(result.value, next.value);
    result.error = std::max(result.error, next.error);
  }
  /// Any order of n additions is within n - 1 roundings of the sum of magnitudes; the trees are
  /// far shallower: at most 64 + 12 for the lengths tested.
  Number finish(ReduceKind kind, Type type) const {
    if (kind != ReduceKind::Add)
      return result;
    long double depth = std::min<int64_t>(count, 76);
    return {result.value, error + depth * roundoff(type) * magnitude};
  }
};
} // namespace

std::vector<std::vector<Number>>
halfstep::tests::interpret(GroupOp group, const std::vector<std::vector<char>> &buffers) {
  ArrayRef<int64_t> space = group.getSpace();
  Block &body = group.getBlock();
  int64_t points = 1, reduced = group.getReducedDimension();
  for (int64_t size : space)
    points *= size;
  std::vector<std::vector<Number>> results;
  for (int64_t out : group.getOuts())
    results.emplace_back(extentOf(group, out), Number{0, -1});

  SmallVector<ReduceOp> reduces(body.getOps<ReduceOp>());
  llvm::DenseMap<Operation *, std::vector<Accumulator>> accumulators;
  for (ReduceOp reduce : reduces)
    accumulators[reduce].resize(points);

  // The values by number: arguments, then results of the body's operations.
  llvm::DenseMap<Value, unsigned> numbers;
  for (BlockArgument argument : body.getArguments())
    numbers[argument] = numbers.size();
  for (Operation &op : body.without_terminator())
    numbers[op.getResult(0)] = numbers.size();
  std::vector<Number> values(numbers.size());

  // One sweep a reduction, in the order of the body, then one for the results.
  for (size_t sweep = 0; sweep <= reduces.size(); ++sweep) {
    for (int64_t point = 0; point < points; ++point) {
      SmallVector<int64_t> position(space.size());
      int64_t rest = point, slot = 0;
      for (size_t d = space.size(); d-- > 0; rest /= space[d])
        position[d] = rest % space[d];
      for (size_t d = 0; d < space.size(); ++d)
        slot = slot * space[d] + (int64_t(d) == reduced ? 0 : position[d]);
      auto offset = [&](unsigned buffer) {
        int64_t sum = group.getBufferOffset(buffer);
        for (auto [index, stride] : llvm::zip(position, group.getBufferStrides(buffer)))
          sum += index * stride;
        return sum;
      };
      for (unsigned i = 0; i < body.getNumArguments(); ++i)
        values[i] = {readElement(group.getStorageType(i), buffers[i].data(), offset(i)), 0};
      size_t reductionsSeen = 0;
      for (Operation &op : body.without_terminator()) {
        SmallVector<Number, 4> operands;
        for (Value operand : op.getOperands())
          operands.push_back(values[numbers.lookup(operand)]);
        Number &result = values[numbers.lookup(op.getResult(0))];
        if (auto reduce = dyn_cast<ReduceOp>(op)) {
          Accumulator &accumulator = accumulators[reduce][slot];
          if (reductionsSeen++ == sweep) {
            accumulator.take(reduce.getKind(), operands[0]);
            break;
          }
          result = accumulator.finish(reduce.getKind(), reduce.getType());
        } else if (auto index = dyn_cast<IndexOp>(op)) {
          int64_t sum = 0;
          for (auto [at, stride] : llvm::zip(position, index.getStrides()))
            sum += at * stride;
          result = {(long double)sum, 0};
        } else {
          result = apply(op, operands);
        }
      }
      if (sweep == reduces.size())
        for (auto [i, value] : llvm::enumerate(group.getYield().getValues()))
          results[i][offset(group.getOuts()[i])] = values[numbers.lookup(value)];
    }
  }
  return results;
}
