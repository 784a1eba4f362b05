//===- CategoryTest.cpp - Precision categories are those of PyTorch -------===//
//
// autocast.txt says what PyTorch does. Every rule states its category, and the ops that it builds
// have it.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "frontend/ImportRules.h"
#include "frontend/OpList.h"
#include "ir/TrainDialect.h"
#include <map>
#include <set>

using namespace halfstep;
using namespace halfstep::test;

namespace {

std::map<std::string, std::string> expectedCategories() {
  std::ifstream file(TEST_DIR "/frontend/autocast.txt");
  std::map<std::string, std::string> result;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      result[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  return result;
}

TEST(Categories, OfEveryRuleAreThoseOfPyTorch) {
  auto expected = expectedCategories();
  EXPECT_GT(expected.size(), 110u);
  unsigned compared = 0;
  for (const OpSupport &op : supportedOps()) {
    auto found = expected.find(op.op);
    if (op.forward != Support::Yes || found == expected.end())
      continue;
    EXPECT_EQ(op.category, found->second) << op.op;
    ++compared;
  }
  EXPECT_GT(compared, 40u);
}

struct Form {
  std::vector<Ints> shapes;
  std::vector<Attribute> attributes = {};
};

/// The categories of what a node of `op` in this form becomes; movement and casts, which compute
/// nothing, aside. Nothing if it is no valid node.
std::set<train::Precision> categoriesOf(const std::string &op, const Form &form) {
  Model model(24);
  Names inputs;
  for (const Ints &shape : form.shapes) {
    inputs.push_back("x" + std::to_string(inputs.size()));
    model.input(inputs.back(), std::vector<Dim>(shape.begin(), shape.end()));
  }
  model.node(op, inputs, {"y"}, form.attributes).output("y");
  TemporaryFolder folder;
  Imported imported(folder.write("model.onnx", model.proto.SerializeAsString()));
  std::set<train::Precision> categories;
  if (imported.model)
    imported.model->module->walk([&](mlir::Operation *node) {
      if (mlir::isa<train::PrecisionOpInterface>(node) &&
          !mlir::isa<train::ReshapeOp, train::TransposeOp, train::BroadcastOp, train::CastOp>(node))
        categories.insert(train::categoryOf(node));
    });
  return categories;
}

TEST(Categories, OfWhatLowAndFullNodesBecome) {
  using train::Precision;
  const std::vector<Form> forms = {
      {{{4, 4}}},       {{{4, 4}, {4, 4}}},
      {{{1, 2, 4, 4}}}, {{{1, 2, 4, 4}, {2, 2, 3, 3}}},
      {{{2, 4}, {4}}},  {{{1, 2, 4}, {2}, {2}}, {Attribute("num_groups", 1)}}};
  auto expected = expectedCategories();
  for (const OpSupport &op : supportedOps()) {
    auto found = expected.find(op.op);
    if (op.forward != Support::Yes || found == expected.end() || found->second == "widest")
      continue;
    std::set<Precision> categories;
    for (size_t i = 0; i < forms.size() && categories.empty(); ++i)
      categories = categoriesOf(op.op, forms[i]);
    EXPECT_FALSE(categories.empty()) << op.op << " fits none of the forms";
    if (found->second == "low")
      EXPECT_TRUE(categories.count(Precision::Low)) << op.op;
    else
      EXPECT_FALSE(categories.count(Precision::Low) || categories.count(Precision::Widest))
          << op.op;
  }
}

} // namespace
