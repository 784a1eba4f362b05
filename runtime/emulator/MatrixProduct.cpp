//===- MatrixProduct.cpp - What an emulated cublasLtMatmul computes ---------------------------===//

#include "runtime/emulator/MatrixProduct.h"

#include "runtime/Half.h"

#include <algorithm>
#include <vector>

namespace halfstep::runtime {

using namespace cuda;

uint64_t bytesOfType(int type) {
  switch (type) {
  case dataF64:
    return 8;
  case dataF32:
    return 4;
  case dataF16:
  case dataBF16:
    return 2;
  default:
    return 0;
  }
}

/// Calls `f` with a pointer to the type's C++ type.
template <typename F> static void visitType(int type, F f) {
  switch (type) {
  case dataF64:
    return f(static_cast<double *>(nullptr));
  case dataF32:
    return f(static_cast<float *>(nullptr));
  case dataF16:
    return f(static_cast<Half *>(nullptr));
  case dataBF16:
    return f(static_cast<BFloat *>(nullptr));
  }
}

/// To nearest even, 13 bits fewer.
static float roundToTf32(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  if ((bits & 0x7F800000u) == 0x7F800000u)
    return value;
  return bitCast<float>((bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu);
}

// A tile of D that stays in registers.
constexpr uint64_t tileRows = 8, tileColumns = 4, depthOfSum = 256;

/// The operand of one batch, widened: `width` of its outer dimension beside each other, then the
/// next along k. What is missing to a whole tile is zero.
template <typename Sum>
static std::vector<Sum> pack(const MatrixShape &shape, const void *data, int32_t batch,
                             bool isDepthContiguous, uint64_t width, bool isFastTf32) {
  uint64_t outer = isDepthContiguous ? shape.columns : shape.rows;
  uint64_t depth = isDepthContiguous ? shape.rows : shape.columns;
  std::vector<Sum> packed((outer + width - 1) / width * width * depth);
  visitType(shape.type, [&](auto *type) {
    auto *matrix = static_cast<const std::remove_pointer_t<decltype(type)> *>(data) +
                   batch * shape.batchStride;
    for (uint64_t column = 0; column < shape.columns; ++column)
      for (uint64_t row = 0; row < shape.rows; ++row) {
        uint64_t i = isDepthContiguous ? column : row, k = isDepthContiguous ? row : column;
        Sum value = Sum(widen(matrix[int64_t(column) * shape.leadingDimension + int64_t(row)]));
        packed[(i / width * depth + k) * width + i % width] =
            isFastTf32 ? Sum(roundToTf32(float(value))) : value;
      }
  });
  return packed;
}

/// Adds up `depth` products for each element of a tile.
template <typename Sum>
static void multiplyTile(const Sum *a, const Sum *b, uint64_t depth,
                         Sum (&total)[tileColumns][tileRows]) {
  for (auto &column : total)
    std::fill(std::begin(column), std::end(column), Sum(0));
  for (uint64_t begin = 0; begin < depth; begin += depthOfSum) {
    Sum sum[tileColumns][tileRows] = {};
    for (uint64_t k = begin; k < std::min(depth, begin + depthOfSum); ++k)
      for (uint64_t j = 0; j < tileColumns; ++j)
        for (uint64_t i = 0; i < tileRows; ++i)
          sum[j][i] += a[k * tileRows + i] * b[k * tileColumns + j];
    for (uint64_t j = 0; j < tileColumns; ++j)
      for (uint64_t i = 0; i < tileRows; ++i)
        total[j][i] += sum[j][i];
  }
}

/// What is stored of the tile at a row and a column of D.
template <typename Sum, typename Element>
static void storeTile(const MatrixProduct &product, const Sum (&total)[tileColumns][tileRows],
                      uint64_t row, uint64_t column, const Element *c, Element *d,
                      const Element *bias) {
  uint64_t rows = std::min(tileRows, product.d.rows - row);
  uint64_t columns = std::min(tileColumns, product.d.columns - column);
  for (uint64_t j = 0; j < columns; ++j)
    for (uint64_t i = 0; i < rows; ++i) {
      auto at = [&](const MatrixShape &shape) {
        return int64_t(column + j) * shape.leadingDimension + int64_t(row + i);
      };
      Sum value = Sum(product.alpha) * total[j][i];
      if (product.beta != 0)
        value += Sum(product.beta) * Sum(widen(c[at(product.c)]));
      if (product.hasBias)
        value += Sum(widen(bias[row + i]));
      narrow(value, d[at(product.d)]);
    }
}

template <typename Sum, typename Element>
static void multiply(const MatrixProduct &product, const void *aData, const void *bData,
                     const Element *c, Element *d, const Element *bias) {
  uint64_t depth = product.depth();
  for (int32_t batch = 0; batch < product.d.batchCount; ++batch) {
    std::vector<Sum> a =
        pack<Sum>(product.a, aData, batch, product.isATransposed, tileRows, product.isFastTf32);
    std::vector<Sum> b =
        pack<Sum>(product.b, bData, batch, !product.isBTransposed, tileColumns, product.isFastTf32);
    Sum total[tileColumns][tileRows];
    for (uint64_t column = 0; column < product.d.columns; column += tileColumns)
      for (uint64_t row = 0; row < product.d.rows; row += tileRows) {
        multiplyTile(&a[row * depth], &b[column * depth], depth, total);
        storeTile(product, total, row, column, c + batch * product.c.batchStride,
                  d + batch * product.d.batchStride, bias);
      }
  }
}

void MatrixProduct::compute(const void *aData, const void *bData, const void *cData, void *dData,
                            const void *bias) const {
  if (d.type == dataF64)
    return multiply<double>(*this, aData, bData, static_cast<const double *>(cData),
                            static_cast<double *>(dData), static_cast<const double *>(bias));
  visitType(d.type, [&](auto *type) {
    using Element = std::remove_pointer_t<decltype(type)>;
    if constexpr (!std::is_same_v<Element, double>)
      multiply<float>(*this, aData, bData, static_cast<const Element *>(cData),
                      static_cast<Element *>(dData), static_cast<const Element *>(bias));
  });
}

} // namespace halfstep::runtime
