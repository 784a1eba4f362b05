//===- recipe_test.cpp - NAME[:key=value,...] and its readers -------------===//

#include "passes/Recipe.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace halfstep;

namespace {

std::string errorOf(llvm::StringRef text) {
  auto spec = Spec::parse(text);
  return spec ? "" : llvm::toString(spec.takeError());
}

constexpr SpecKey kKeys[] = {{"lr", ""},
                             {"momentum", "0"},
                             {"steps", "7"},
                             {"nesterov", "false"},
                             {"milestones", "1:2.5"},
                             {"mode", "fast"}};

/// The error of reading `text` by `read`.
template <typename Read> std::string readError(llvm::StringRef text, Read read) {
  SpecReader reader("optimizer", llvm::cantFail(Spec::parse(text)), kKeys);
  read(reader);
  return llvm::toString(reader.takeError());
}

} // namespace

TEST(Spec, ParsesAndPrints) {
  Spec spec = llvm::cantFail(Spec::parse("rmsprop:lr=3e-5,alpha=0.99"));
  EXPECT_EQ(spec.name, "rmsprop");
  ASSERT_EQ(spec.options.size(), 2u);
  EXPECT_EQ(spec.options[1].first, "alpha");
  EXPECT_EQ(spec.options[1].second, "0.99");
  EXPECT_EQ(spec.str(), "rmsprop:lr=3e-5,alpha=0.99");
  EXPECT_EQ(llvm::cantFail(Spec::parse("mse")).str(), "mse");
}

TEST(Spec, ListsMayHoldColons) {
  Spec spec = llvm::cantFail(Spec::parse("multistep:milestones=5:20:21,gamma=0.1"));
  EXPECT_EQ(spec.options[0].second, "5:20:21");
}

TEST(Spec, SaysWhatIsMalformed) {
  const std::string form = "' is not of the form NAME[:key=value,...]: ";
  EXPECT_EQ(errorOf(""), "'" + form + "there is no name");
  EXPECT_EQ(errorOf(":lr=1"), "':lr=1" + form + "there is no name");
  EXPECT_EQ(errorOf("sgd:"), "'sgd:" + form + "'' is not key=value");
  EXPECT_EQ(errorOf("sgd:lr"), "'sgd:lr" + form + "'lr' is not key=value");
  EXPECT_EQ(errorOf("sgd:lr="), "'sgd:lr=" + form + "'lr=' is not key=value");
  EXPECT_EQ(errorOf("sgd:lr=1,lr=2"), "'sgd:lr=1,lr=2" + form + "'lr' is given twice");
}

TEST(SpecReader, ReadsByType) {
  SpecReader reader("optimizer", llvm::cantFail(Spec::parse("sgd:lr=3e-5,nesterov=true,steps=-2")),
                    kKeys);
  EXPECT_EQ(reader.number("lr"), 3e-5);
  EXPECT_EQ(reader.number("momentum"), 0.0);
  EXPECT_EQ(reader.integer("steps"), -2);
  EXPECT_TRUE(reader.flag("nesterov"));
  EXPECT_EQ(reader.list("milestones"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(reader.text("mode"), "fast");
  EXPECT_TRUE(reader.isGiven("lr"));
  EXPECT_FALSE(reader.isGiven("momentum"));
  EXPECT_FALSE(llvm::errorToBool(reader.takeError()));
}

TEST(SpecReader, NamesWhatIsWrong) {
  auto nothing = [](SpecReader &) {};
  EXPECT_EQ(readError("sgd", nothing), "optimizer sgd needs the option lr");
  EXPECT_EQ(readError("sgd:lr=1,momentun=2", nothing),
            "optimizer sgd has no option 'momentun'; did you mean momentum?");
  EXPECT_EQ(readError("sgd:lr=fast", [](SpecReader &r) { r.number("lr"); }),
            "optimizer sgd: lr must be a number (got fast)");
  EXPECT_EQ(readError("sgd:lr=nan", [](SpecReader &r) { r.number("lr"); }),
            "optimizer sgd: lr must be a number (got nan)");
  EXPECT_EQ(readError("sgd:lr=1e999", [](SpecReader &r) { r.number("lr"); }),
            "optimizer sgd: lr must be a number of f32: zero, or from 1.4e-45 to 3.4e38 in size "
            "(got 1e999)");
  EXPECT_EQ(readError("sgd:lr=1,steps=1.5", [](SpecReader &r) { r.integer("steps"); }),
            "optimizer sgd: steps must be a whole number (got 1.5)");
  EXPECT_EQ(
      readError("sgd:lr=1,steps=99999999999999999999", [](SpecReader &r) { r.integer("steps"); }),
      "optimizer sgd: steps must be a whole number (got 99999999999999999999)");
  EXPECT_EQ(readError("sgd:lr=1,nesterov=yes", [](SpecReader &r) { r.flag("nesterov"); }),
            "optimizer sgd: nesterov must be true or false (got yes)");
  EXPECT_EQ(readError("sgd:lr=1,milestones=1::2", [](SpecReader &r) { r.list("milestones"); }),
            "optimizer sgd: milestones must be numbers of f32 separated by ':' (got 1::2)");
}

/// Steps compute in f32: 1e39 is infinite there and 1e-60 zero.
TEST(SpecReader, NumbersAreNumbersOfF32) {
  for (llvm::StringRef text : {"0", "-0.0", "0e-99", "3.4e38", "-3.4e38", "1e-45", "0.75"}) {
    auto number = parseNumber(text);
    ASSERT_TRUE(bool(number)) << text.str();
    EXPECT_TRUE(std::isfinite(float(*number))) << text.str();
    EXPECT_EQ(*number == 0, float(*number) == 0) << text.str();
  }
  for (llvm::StringRef text : {"1e39", "-1e39", "3.5e38", "inf", "1e-60", "-1e-46", "1e-999"}) {
    auto number = parseNumber(text);
    ASSERT_FALSE(bool(number)) << text.str();
    EXPECT_EQ(llvm::toString(number.takeError()),
              "must be a number of f32: zero, or from 1.4e-45 to 3.4e38 in size");
  }
  EXPECT_EQ(readError("sgd:lr=1,milestones=1:1e-60", [](SpecReader &r) { r.list("milestones"); }),
            "optimizer sgd: milestones must be numbers of f32 separated by ':' (got 1:1e-60)");
}

TEST(SpecReader, KeepsTheFirstError) {
  EXPECT_EQ(readError("sgd:lr=-1,mode=slow",
                      [](SpecReader &r) {
                        r.reject("lr", "must be positive");
                        r.reject("mode", "must be fast");
                      }),
            "optimizer sgd: lr must be positive (got -1)");
  EXPECT_EQ(readError("sgd:lr=1", [](SpecReader &r) { r.reject("", "needs momentum"); }),
            "optimizer sgd needs momentum");
}

TEST(Suggestion, NearestOrAll) {
  EXPECT_EQ(suggestion("lbfgs", {"adam", "sgd", "rmsprop"}), "there are: adam, sgd, rmsprop");
  EXPECT_EQ(suggestion("sdg", {"adam", "sgd", "rmsprop"}), "did you mean sgd?");
  EXPECT_EQ(suggestion("rmsporp", {"adam", "sgd", "rmsprop"}), "did you mean rmsprop?");
  EXPECT_EQ(suggestion("SGD", {"adam", "sgd"}), "did you mean sgd?");
  EXPECT_EQ(suggestion("x", {}), "there are none");
}

TEST(Recipe, JsonHasEveryOption) {
  Recipe recipe;
  recipe.loss = "mse";
  recipe.optimizer = "sgd:lr=0.01";
  recipe.bind["batch \"n\""] = 16;
  recipe.freeze = {"\\.bias$"};
  recipe.inputType = {"x=fp16"};
  auto json = llvm::cantFail(llvm::json::parse(recipe.toJson()));
  llvm::json::Object expected{{"loss", "mse"},
                              {"optimizer", "sgd:lr=0.01"},
                              {"schedule", "constant"},
                              {"precision", "fp32"},
                              {"half-type", "fp16"},
                              {"loss-scale", ""},
                              {"pin", llvm::json::Array{}},
                              {"input-type", llvm::json::Array{"x=fp16"}},
                              {"input-slots", 2},
                              {"clip-norm", 0.0},
                              {"batch", 0},
                              {"accumulate", 1},
                              {"accumulate-type", "f32"},
                              {"rounding", "nearest"},
                              {"bind", llvm::json::Object{{"batch \"n\"", 16}}},
                              {"train", llvm::json::Array{}},
                              {"freeze", llvm::json::Array{"\\.bias$"}},
                              {"target", "cpu"},
                              {"cpu", "native"},
                              {"arch", "sm_80"},
                              {"with-emulation", false}};
  EXPECT_EQ(json, llvm::json::Value(std::move(expected)));
}

TEST(Recipe, Fp16ModesScaleTheLossByThemselves) {
  Recipe recipe;
  EXPECT_EQ(recipe.effectiveLossScale(), "none");
  recipe.precision = "half-grad";
  EXPECT_EQ(recipe.effectiveLossScale(), "dynamic");
  recipe.halfType = "bf16";
  EXPECT_EQ(recipe.effectiveLossScale(), "none");
  recipe.lossScale = "1024";
  EXPECT_EQ(recipe.effectiveLossScale(), "1024");
}
