//===- OpListTest.cpp - The list of supported ops -------------------------===//

#include "frontend/OpList.h"
#include "ModelBuilder.h"
#include "frontend/ImportRules.h"
#include "onnx/defs/schema.h"

#include <map>

using namespace halfstep;
using namespace halfstep::test;

namespace {

TEST(OpList, CoversTheWholeOperatorSet) {
  std::map<std::string, OpSupport> ops;
  for (const OpSupport &op : supportedOps())
    ops[op.op] = op;
  EXPECT_GT(ops.size(), 190u);
  EXPECT_EQ(ops["Gemm"].forward, Support::Yes);
  EXPECT_EQ(ops["Gemm"].category, "low");
  EXPECT_TRUE(ops["Gemm"].gradient);
  EXPECT_EQ(ops["Gemm"].firstOpset, 7);
  EXPECT_EQ(ops["Exp"].category, "full");
  EXPECT_EQ(ops["Where"].firstOpset, 9);
  EXPECT_FALSE(ops["Less"].gradient);
  EXPECT_EQ(ops["Shape"].forward, Support::Constant);
  EXPECT_EQ(ops["ConstantOfShape"].forward, Support::Constant);
  EXPECT_EQ(ops["StringSplit"].forward, Support::No);
}

/// Every row names an op and an operator set in which onnx has it.
TEST(OpList, RulesAreForOpsThatExist) {
  for (const ImportRule &rule : importRules())
    EXPECT_NE(onnx::OpSchemaRegistry::Schema(rule.op.str(), std::max<int>(rule.since, 7)), nullptr)
        << rule.op.str() << " " << rule.since;
}

TEST(OpList, OfAModel) {
  Model model;
  model.input("x", {3}).node("Relu", {"x"}, {"a"}).node("Relu", {"a"}, {"b"});
  model.node("Det", {"b"}, {"y"}).node("Sin", {"x"}, {"dead"}).output("y");
  TemporaryFolder folder;
  mlir::MLIRContext context;
  auto ops = opsOfModel(context, folder.write("m.onnx", model.proto.SerializeAsString()));
  ASSERT_TRUE(succeeded(ops));
  ASSERT_EQ(ops->size(), 2u);
  EXPECT_EQ((*ops)[0].op, "Det");
  EXPECT_EQ((*ops)[0].forward, Support::No);
  EXPECT_EQ((*ops)[1].op, "Relu");
  EXPECT_EQ((*ops)[1].nodes, 2);
}

} // namespace
