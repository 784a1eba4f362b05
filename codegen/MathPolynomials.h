//===- MathPolynomials.h - elementary functions of f32, as arithmetic ----------------------===//

#ifndef HALFSTEP_CODEGEN_MATHPOLYNOMIALS_H
#define HALFSTEP_CODEGEN_MATHPOLYNOMIALS_H

#include "mlir/IR/PatternMatch.h"

namespace halfstep::codegen {

/// Rewrites exp, log, tanh, erf, powf, sin and cos on f32, scalar or vector, into arithmetic on
/// every lane: at most 4 units in the last place from the exact value, subnormal numbers,
/// infinities and NaN included; `maximumf` and `minimumf` into comparisons. f64 is left to the C
/// library.
void populateMathPolynomialPatterns(mlir::RewritePatternSet &patterns);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_MATHPOLYNOMIALS_H
