// A pattern that does not parse, one that matches nothing and a selection of nothing are errors.
// RUN: not halfstep-opt %s --select-parameters="train=*a" 2>&1 | FileCheck %s --check-prefix=PARSE
// RUN: not halfstep-opt %s --select-parameters="freeze=nothing" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not halfstep-opt %s --select-parameters="freeze=w" 2>&1 | FileCheck %s --check-prefix=ALL

// PARSE: error: --train *a: not a regular expression
// PARSE: help: patterns are ECMAScript
// NONE: error: --freeze nothing matches no parameter
// NONE: help: the parameters are w
// ALL: error: every parameter is frozen: there is nothing to train

module {
  func.func @forward(%a: tensor<2xf32> {train.parameter = "w", train.trainable}) {
    return
  }
}
