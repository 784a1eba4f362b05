//===- ContractionOps.td - Matrix products --------------------------------===//

include "ir/OpBase.td"

def MatmulOp : Train_Op<"matmul", (ins AnyStaticShapeTensor:$a, AnyStaticShapeTensor:$b),
      (ins DefaultValuedAttr<BoolAttr, "false">:$transA,
           DefaultValuedAttr<BoolAttr, "false">:$transB), 1, [OwnEntry]> {
  let summary = "op(a) op(b), batched over leading dimensions that broadcast";
  let description = [{
    Rank 2 or more. `transA`/`transB` transpose the last two dimensions of an operand. Accumulates
    in f32 (f64 for f64) and rounds once.
  }];
  let category = Low;
  let shape = [{e.matmul(a, b, adaptor.getTransA(), adaptor.getTransB())}];
  let grad = [{
      getTransA() ? matmul(b, dy, getTransB(), true) : matmul(dy, b, false, !getTransB()),
      getTransB() ? matmul(dy, a, true, getTransA()) : matmul(a, dy, !getTransA(), false)}];
}
