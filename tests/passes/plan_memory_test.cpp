//===- plan_memory_test.cpp - Random programs keep their meaning in memory ===//
//
// Programs of random entries on state, a region and inputs, whose results are new values of state,
// gradients and outputs, values returned twice and arguments returned as they are. However they are
// ordered and planned, the memory verifier must find every value where it is read.
//
//===----------------------------------------------------------------------===//

#include "PassTest.h"
#include "ir/KernelDialect.h"
#include "ir/TableDialect.h"
#include <random>

using namespace halfstep;

namespace {

const std::string kModule = R"(
table.region "r" : tensor<32xf32>
table.tensor parameter "p" : tensor<16xf32> {region = "r", regionOffset = 0, trainable}
table.tensor parameter "q" : tensor<16xf32> {region = "r", regionOffset = 64, trainable}
table.tensor gradient "p" : tensor<16xf32>
table.tensor counter "a" : tensor<16xf32>
table.tensor counter "b" : tensor<16xf32>
table.tensor input "x" : tensor<16xf32>
table.tensor output "y" : tensor<16xf32>
kernel.group @unary [16](%x: f32[1]) -> (f32[1]) {
  kernel.yield %x : f32
}
kernel.group @binary [16](%x: f32[1], %y: f32[1]) -> (f32[1]) {
  %z = arith.addf %x, %y : f32
  kernel.yield %z : f32
}
kernel.group @reverse [4, 4](%x: f32[1, 4], %y: f32[4, 1]) -> (f32[4, 1], f32[4, 1]) {
  kernel.yield %x, %y : f32, f32
}
kernel.group @softmax [1, 16](%x: f32[16, 1]) -> (f32[16, 1]) {
  %s = kernel.reduce add %x over last : f32
  %y = arith.divf %x, %s : f32
  kernel.yield %y : f32
}
)";
const std::string kType = "tensor<16xf32>";

/// A function of up to 12 random entries.
std::string randomProgram(std::mt19937 &random) {
  std::vector<std::pair<std::string, std::string>> arguments = {
      {"%x", "train.input = \"x\""},     {"%p", "train.parameter = \"p\""},
      {"%q", "train.parameter = \"q\""}, {"%a", "train.state = \"a\""},
      {"%b", "train.state = \"b\""},     {"%g", "train.gradient = \"p\""},
  };
  std::vector<std::string> updates = {"train.updates = \"a\"", "train.updates = \"b\"",
                                      "train.gradient = \"p\"", "train.output = \"y\""};
  std::string head, body, results, returned, types;
  std::vector<std::string> values;
  for (auto &[name, attribute] : arguments) {
    head += (head.empty() ? "" : ", ") + name + ": " + kType + " {" + attribute + "}";
    values.push_back(name);
  }
  head += ", %r: tensor<32xf32> {train.region = \"r\"}";
  auto value = [&] {
    // Recent values more often, so that operands die soon.
    size_t back = std::min<size_t>(random() % values.size(), random() % values.size());
    return values[values.size() - 1 - back];
  };
  unsigned entries = random() % 13;
  for (unsigned i = 0; i < entries; ++i) {
    std::string name = "%v" + std::to_string(i), call = "  " + name;
    switch (random() % 7) {
    case 0:
      body += call + " = table.zero : " + kType + "\n";
      break;
    case 1:
      body += call + " = table.alias " + value() + " : (" + kType + ") -> " + kType + "\n";
      break;
    case 2:
      body +=
          call + " = table.launch @softmax(" + value() + ") : (" + kType + ") -> " + kType + "\n";
      break;
    case 3:
      body += call + ":2 = table.launch @reverse(" + value() + ", " + value() + ") : (" + kType +
              ", " + kType + ") -> (" + kType + ", " + kType + ")\n";
      values.push_back(name + "#0");
      name += "#1";
      break;
    case 4:
      body += call + " = table.launch @unary(" + value() + ") : (" + kType + ") -> " + kType + "\n";
      break;
    default:
      body += call + " = table.launch @binary(" + value() + ", " + value() + ") : (" + kType +
              ", " + kType + ") -> " + kType + "\n";
    }
    values.push_back(name);
  }
  auto addResult = [&](const std::string &name, const std::string &attribute,
                       const std::string &type) {
    std::string comma = results.empty() ? "" : ", ";
    results += comma + type + " {" + attribute + "}";
    returned += comma + name;
    types += comma + type;
  };
  for (const std::string &update : updates)
    addResult(value(), update, kType);
  if (random() % 2) {
    body += "  %whole = table.zero : tensor<32xf32>\n";
    addResult(random() % 2 ? "%whole" : "%r", "train.updates_region = \"r\"", "tensor<32xf32>");
  }
  return "func.func @infer(" + head + ") -> (" + results + ") {\n" + body + "  return " + returned +
         " : " + types + "\n}\n";
}

class RandomPrograms : public test::PassTest, public ::testing::WithParamInterface<bool> {};

} // namespace

TEST_P(RandomPrograms, EveryReadFindsItsValue) {
  const std::string pipeline = std::string("order-entries,plan-memory{reuse=") +
                               (GetParam() ? "true" : "false") + "},verify-phase{phase=memory}";
  std::mt19937 random(0);
  unsigned copies = 0, inPlace = 0;
  for (unsigned round = 0; round < 1000; ++round) {
    std::string text = kModule + randomProgram(random);
    ASSERT_TRUE(parse(text)) << errors << text;
    ASSERT_TRUE(run(pipeline)) << errors << text;
    copies += count<table::CopyOp>();
    for (auto group : module->getOps<kernel::GroupOp>())
      for (int64_t out : group.getOuts())
        inPlace += out < group.getBlock().getNumArguments();
  }
  // The programs are such that there is something to get wrong.
  EXPECT_GT(copies, 500u);
  if (GetParam())
    EXPECT_GT(inPlace, 500u);
  else
    EXPECT_EQ(inPlace, 0u);
}

INSTANTIATE_TEST_SUITE_P(, RandomPrograms, ::testing::Bool());
