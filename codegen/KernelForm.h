//===- KernelForm.h - how a group's space is walked ----------------------------------------===//
//
// A group says what is computed at each point of its space. This says how a kernel walks it,
// for any target: dimensions that all buffers step through as one become one, the last one is the
// column dimension that vectors lie along, and the group's form is decided.
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_KERNELFORM_H
#define HALFSTEP_CODEGEN_KERNELFORM_H

#include "ir/KernelDialect.h"

namespace halfstep::codegen {

enum class Form {
  Map,       ///< every point on its own
  Transpose, ///< a map with a buffer whose elements are neighbours along the last outer dimension
  Rows,      ///< reductions along the columns: a row is a unit of work
  Columns    ///< reductions along `depth` for every column
};

/// A buffer's strides in a normalised space, or those of a kernel.index.
struct View {
  mlir::Type storage; ///< null for an index
  llvm::SmallVector<int64_t> outer;
  int64_t depth = 0; ///< Form::Columns: along the reduced dimension
  int64_t inner = 0; ///< along the columns
};

/// Whether an operation of a body costs as much as many others: exp, log and their like.
bool isElementaryFunction(mlir::Operation &op);

/// A group over the space [outer..., depth, columns]; depth is 1 except for Form::Columns.
class KernelForm {
public:
  explicit KernelForm(kernel::GroupOp group);

  /// A value to be stored to a buffer.
  struct Store {
    mlir::Value value;
    unsigned buffer;
  };
  /// Where a dimension of the group's space is found: outer[i], or one of the named ones.
  enum Place : int { Column = -1, Depth = -2, Nowhere = -3 };

  kernel::GroupOp group;
  kernel::ValueAnalysis values;
  Form form = Form::Map;
  llvm::SmallVector<int64_t> outer;
  int64_t rows = 1; ///< the product of the outer dimensions
  int64_t depth = 1;
  int64_t columns = 1;
  llvm::SmallVector<View> buffers;
  llvm::DenseMap<mlir::Operation *, View> indices; ///< a kernel.index each
  llvm::SmallVector<int> places;                   ///< of the group's dimensions

  /// Differs from column to column; otherwise the value is computed once a row.
  bool isElement(mlir::Value value) const;
  /// Differs along the dimension that Form::Columns reduces.
  bool variesAlongDepth(mlir::Value value) const;
  /// The same at every point, and needs no reduction.
  bool isUniform(mlir::Value value) const;

  llvm::SmallVector<kernel::ReduceOp> reductions(unsigned walk) const;
  /// The stores of a walk, one a column.
  llvm::SmallVector<Store> elementStores(unsigned walk) const;
  /// The stores that there is one of a row, or of a chunk in a partial group; not of Form::Columns.
  llvm::SmallVector<Store> rowStores() const;
  /// The number of points.
  int64_t points() const { return rows * depth * columns; }

private:
  void normalise();
  void findTransposition();
  bool isElementStore(Store store) const;
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_KERNELFORM_H
