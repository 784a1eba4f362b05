//===- shape_rules_test.cpp - What ops refuse, and in which words ---------===//
//
// One line of text an op that is wrong in one way, and the message.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/PassTest.h"

using namespace halfstep::test;

namespace {

struct Case {
  const char *name, *arguments, *body, *error;
};

void PrintTo(const Case &each, std::ostream *os) { *os << each.name; }

class Refused : public PassTest, public ::testing::WithParamInterface<Case> {};

TEST_P(Refused, InThoseWords) {
  EXPECT_FALSE(build(GetParam().arguments, GetParam().body));
  EXPECT_NE(errors.find(GetParam().error), std::string::npos) << errors;
}

std::string nameOf(const ::testing::TestParamInfo<Case> &info) { return info.param.name; }

const char *const x = "%x: tensor<4xf32>", *const xx = "%x: tensor<4x6xf32>",
                  *const image = "%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3x3xf32>";

// The attributes of a window of `N` spatial dimensions.
#define SLIDE2                                                                                     \
  "strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>"
#define SLIDE1 "strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>"

const Case kShapes[] = {
    {"Broadcast", "%x: tensor<4xf32>, %w: tensor<3xf32>",
     "%y = train.add %x, %w : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>",
     "'train.add' cannot broadcast [4] and [3]: sizes must be equal or 1"},
    {"BroadcastTo", xx,
     "%y = train.broadcast %x {sizes = array<i64: 6>} : (tensor<4x6xf32>) -> tensor<6xf32>",
     "'train.broadcast' cannot broadcast [4x6] to [6]"},
    {"Axes", xx,
     "%y = train.sum %x {axes = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<1x1xf32>",
     "'train.sum' axes [1x0] are not ascending dimensions of a tensor of rank 2"},
    {"Axis", x, "%y = train.softmax %x {axis = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>",
     "'train.softmax' axis 1 is not a dimension of a tensor of rank 1"},
    {"Vectors", x, "%y = train.matmul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
     "'train.matmul' needs operands of rank 2 or more"},
    {"Contracted", xx,
     "%y = train.matmul %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>",
     "'train.matmul' contracted dimensions differ: 6 and 4"},
    {"Reshape", x,
     "%y = train.reshape %x {sizes = array<i64: 5>} : (tensor<4xf32>) -> tensor<5xf32>",
     "'train.reshape' cannot reshape [4] to [5]: the numbers of elements differ"},
    {"Permutation", xx,
     "%y = train.transpose %x {permutation = array<i64: 1, 1>} : (tensor<4x6xf32>) -> "
     "tensor<6x6xf32>",
     "'train.transpose' [1x1] is not a permutation of 2 dimensions"},
    {"EmptyPad", "%x: tensor<4xf32>, %v: tensor<f32>",
     "%y = train.pad %x, %v {offsets = array<i64: 0>, strides = array<i64: 1>, sizes = array<i64: "
     "0>} : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>",
     "'train.pad' cannot have the shape [0]"},
    {"IotaDimension", x, "%y = train.iota 2 in [4, 1] : tensor<4x1xi32>",
     "'train.iota' dimension 2 is not one of [4x1]"},
    {"IotaPlane", x, "%y = train.iota 0 in [4, 2] : tensor<4x2xi32>",
     "'train.iota' varies along one dimension; the others of [4x2] must have size 1"},
    {"Loss", x, "%y = train.output_loss %x : (tensor<4xf32>) -> tensor<f32>",
     "'train.output_loss' needs one element, not [4]"},
    {"Target", "%x: tensor<4xf32>, %w: tensor<3xf32>",
     "%y = train.mse_loss %x, %w {reduction = 0 : i32} : (tensor<4xf32>, tensor<3xf32>) -> "
     "tensor<f32>",
     "'train.mse_loss' operands must have one shape, not [4] and [3]"},
    {"Metric", "%x: tensor<4xf32>, %w: tensor<3xf32>",
     "%y = train.absolute_error %x, %w : (tensor<4xf32>, tensor<3xf32>) -> tensor<f32>",
     "'train.absolute_error' operands must have one shape, not [4] and [3]"},
    {"Label", "%x: tensor<4x6xf32>, %w: tensor<6xi64>",
     "%y = train.accuracy %x, %w {axis = 1 : i64} : (tensor<4x6xf32>, tensor<6xi64>) -> "
     "tensor<f32>",
     "'train.accuracy' label has shape [6], expected [4]"},
    {"Types", "%x: tensor<4xf32>, %w: tensor<4xf16>",
     "%y = train.add %x, %w : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>",
     "'train.add' mixes f32 and f16; casts are ops"},
};

const Case kWindows[] = {
    {"SpatialRank", "%x: tensor<1x1x2x2x2x2xf32>, %w: tensor<1x1x2x2x2x2xf32>",
     "%y = train.conv %x, %w {" SLIDE2 ", groups = 1 : i64} : (tensor<1x1x2x2x2x2xf32>, "
     "tensor<1x1x2x2x2x2xf32>) -> tensor<1x1x1x1x1x1xf32>",
     "'train.conv' slides over one to three spatial dimensions, not 4"},
    {"Attributes", image,
     "%y = train.conv %x, %w {" SLIDE1 ", groups = 1 : i64} : (tensor<1x4x5x5xf32>, "
     "tensor<2x4x3x3xf32>) -> tensor<1x2x3x3xf32>",
     "needs a kernel size, a stride, a dilation and two pads for each of 2 spatial dimensions"},
    {"Sizes", image,
     "%y = train.max_pool %x {kernel = array<i64: 0, 1>, " SLIDE2 "} : (tensor<1x4x5x5xf32>) -> "
     "tensor<1x4x5x5xf32>",
     "needs sizes, strides and dilations of 1 or more and pads of 0 or more, below 2^31"},
    {"Ranks", "%x: tensor<1x4x5x5xf32>, %w: tensor<2x4x3xf32>",
     "%y = train.conv %x, %w {" SLIDE2 ", groups = 1 : i64} : (tensor<1x4x5x5xf32>, "
     "tensor<2x4x3xf32>) -> tensor<1x2x3x3xf32>",
     "needs x and w of one rank, 3 or more, not 4 and 3"},
    {"InputGradient", xx,
     "%y = train.conv_input_gradient %x, %x {sizes = array<i64: 5>, " SLIDE1 ", groups = 1 : i64} "
     ": (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>",
     "needs dy and w of rank 3 or more"},
    {"WeightGradient", image,
     "%y = train.conv_weight_gradient %x, %x {kernel = array<i64: 5, 5>, " SLIDE2 ", groups = 0 : "
     "i64} : (tensor<1x4x5x5xf32>, tensor<1x4x5x5xf32>) -> tensor<4x4x5x5xf32>",
     "needs dy and x of rank 3 or more and at least one group"},
    {"Pool", xx,
     "%y = train.max_pool %x {kernel = array<i64: 2>, " SLIDE1 "} : (tensor<4x6xf32>) -> "
     "tensor<4x5xf32>",
     "'train.max_pool' needs x of rank 3 or more"},
    {"PoolGradient", xx,
     "%y = train.average_pool_gradient %x {kernel = array<i64: 2>, countedPads = array<i64: 0, 0>, "
     "sizes = array<i64: 7>, " SLIDE1 "} : (tensor<4x6xf32>) -> tensor<4x7xf32>",
     "needs dy of rank 3 or more"},
    {"PoolAdjoint", "%x: tensor<1x4x6xf32>",
     "%y = train.average_pool_gradient %x {kernel = array<i64: 2>, countedPads = array<i64: 0, 0>, "
     "sizes = array<i64: 9>, " SLIDE1 "} : (tensor<1x4x6xf32>) -> tensor<1x4x9xf32>",
     "has a dy that is not of the shape of the pooling"},
    {"Parts", "%x: tensor<1x4x5xf32>",
     "%y = table.conv weight_gradient %x, %x {" SLIDE1 ", groups = 1 : i64} : (tensor<1x4x5xf32>, "
     "tensor<1x4x5xf32>) -> tensor<f32>",
     "'table.conv' op needs a dimension of parts"},
    {"PoolOperands", "%x: tensor<1x4x5xf32>",
     "%y = table.pool max %x, %x {kernel = array<i64: 2>, countedPads = array<i64: 0, 0>, " SLIDE1
     "} : (tensor<1x4x5xf32>, tensor<1x4x5xf32>) -> tensor<1x4x4xf32>",
     "'table.pool' op needs one operand"},
    {"PoolOfAnother", "%x: tensor<1x4x6xf32>, %dy: tensor<1x4x4xf32>",
     "%y = table.pool max_gradient %x, %dy {kernel = array<i64: 2>, countedPads = array<i64: 0, "
     "0>, " SLIDE1 "} : (tensor<1x4x6xf32>, tensor<1x4x4xf32>) -> tensor<1x4x5xf32>",
     "'table.pool' op computes an adjoint of another shape than x"},
};

const Case kOps[] = {
    {"MapArguments", x,
     "%y = train.map(%x) { ^bb0(%a: f32, %b: f32): train.yield %a : f32 } : (tensor<4xf32>) -> "
     "tensor<4xf32>",
     "'train.map' op has 1 operands but a body of 2 arguments"},
    {"MapOperandType", "%x: tensor<4xf16>",
     "%y = train.map(%x) { ^bb0(%a: f16): train.yield %a : f16 } : (tensor<4xf16>) -> "
     "tensor<4xf16>",
     "'train.map' op computes an operand of type 'tensor<4xf16>' in 'f16'"},
    {"MapResults", x,
     "%y = train.map(%x) { ^bb0(%a: f32): train.yield %a, %a : f32, f32 } : (tensor<4xf32>) -> "
     "tensor<4xf32>",
     "'train.map' op has 1 results but yields 2"},
    {"MapResultType", x,
     "%y = train.map(%x) { ^bb0(%a: f32): train.yield %a : f32 } : (tensor<4xf32>) -> "
     "tensor<4xf64>",
     "'train.map' op yields 'f32' for a result of type 'tensor<4xf64>'"},
    {"NoContribution", x, "%y = train.adjoint() of %x : (tensor<4xf32>) -> tensor<4xf32>",
     "'train.adjoint' op needs at least one contribution"},
    {"AdjointShape", x,
     "%y = train.adjoint(%x) of %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<1xf32>",
     "'train.adjoint' op has another shape than its primal"},
    {"Ratio", "%x: tensor<4xf32>, %bits: tensor<4xi32>",
     "%y = train.dropout %x, %bits {ratio = 1.5 : f64} : (tensor<4xf32>, tensor<4xi32>) -> "
     "tensor<4xf32>",
     "'train.dropout' op has a ratio of 1.500000e+00, which is not above 0 and at most 1"},
    {"RoundedTo", "%x: tensor<4xf32>, %bits: tensor<4xi32>",
     "%y = train.stochastic_cast %x, %bits to f64 : (tensor<4xf32>, tensor<4xi32>) -> "
     "tensor<4xf64>",
     "'train.stochastic_cast' op rounds to 'f64', which is not a 16-bit float type"},
    {"Kernel", x, "%y = table.launch @nothing(%x) : (tensor<4xf32>) -> tensor<4xf32>",
     "'table.launch' op refers to an unknown kernel @nothing"},
    {"Updates", x,
     "%y = table.launch @k(%x) {updates = array<i64: 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>",
     "'table.launch' op updates one operand or -1 for each result"},
    {"UpdatedOperand", x,
     "%y = table.launch @k(%x) {updates = array<i64: 3>} : (tensor<4xf32>) -> tensor<4xf32>",
     "'table.launch' op cannot update operand 3 to 'tensor<4xf32>'"},
};

INSTANTIATE_TEST_SUITE_P(Shapes, Refused, ::testing::ValuesIn(kShapes), nameOf);
INSTANTIATE_TEST_SUITE_P(Windows, Refused, ::testing::ValuesIn(kWindows), nameOf);
INSTANTIATE_TEST_SUITE_P(Ops, Refused, ::testing::ValuesIn(kOps), nameOf);

} // namespace
