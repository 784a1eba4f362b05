//===- Recipe.cpp - What the user asked for -------------------------------===//

#include "passes/Recipe.h"
#include "runtime/Suggestion.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using llvm::StringRef;
using llvm::Twine;

namespace halfstep {

//===----------------------------------------------------------------------===//
// Spec
//===----------------------------------------------------------------------===//

static llvm::Error malformed(StringRef text, const Twine &problem) {
  return llvm::createStringError("'" + text +
                                 "' is not of the form NAME[:key=value,...]: " + problem);
}

llvm::Expected<Spec> Spec::parse(StringRef text) {
  auto [name, tail] = text.split(':');
  Spec spec{name.str(), {}};
  if (name.empty())
    return malformed(text, "there is no name");
  if (name.size() == text.size())
    return spec;
  llvm::SmallVector<StringRef> options;
  tail.split(options, ',');
  for (StringRef option : options) {
    auto [key, value] = option.split('=');
    if (key.empty() || value.empty())
      return malformed(text, "'" + option + "' is not key=value");
    if (llvm::is_contained(llvm::make_first_range(spec.options), key))
      return malformed(text, "'" + key + "' is given twice");
    spec.options.emplace_back(key, value);
  }
  return spec;
}

std::string Spec::str() const {
  std::string text = name;
  char separator = ':';
  for (auto &[key, value] : options) {
    text += separator + key + '=' + value;
    separator = ',';
  }
  return text;
}

llvm::Expected<double> parseNumber(StringRef text) {
  llvm::APFloat narrow(llvm::APFloat::IEEEsingle());
  auto status = narrow.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status)
    llvm::consumeError(status.takeError());
  double value;
  if (text.getAsDouble(value) || std::isnan(value))
    return llvm::createStringError("must be a number");
  bool vanishes = narrow.isZero() && *status != llvm::APFloat::opOK;
  if (narrow.isInfinity() || vanishes)
    return llvm::createStringError(
        "must be a number of f32: zero, or from 1.4e-45 to 3.4e38 in size");
  return value;
}

//===----------------------------------------------------------------------===//
// SpecReader
//===----------------------------------------------------------------------===//

SpecReader::SpecReader(StringRef kind, const Spec &spec, llvm::ArrayRef<SpecKey> keys)
    : kind(kind), name(spec.name) {
  llvm::SmallVector<StringRef> known;
  for (const SpecKey &key : keys) {
    known.push_back(key.name);
    values[key.name.str()] = key.defaultValue.str();
  }
  for (auto &[key, value] : spec.options) {
    if (!llvm::is_contained(known, key)) {
      reject("", "has no option '" + Twine(key) + "'; " + suggestion(key, known));
      continue;
    }
    values[key] = value;
    given[key] = true;
  }
  for (auto &[key, value] : values)
    if (value.empty())
      reject("", "needs the option " + Twine(key));
}

bool SpecReader::isGiven(StringRef key) const { return given.count(key.str()); }

StringRef SpecReader::text(StringRef key) {
  auto value = values.find(key.str());
  assert(value != values.end() && "reads a key that was not announced");
  return value->second;
}

double SpecReader::number(StringRef key) {
  auto value = parseNumber(text(key));
  if (value)
    return *value;
  reject(key, llvm::toString(value.takeError()));
  return 0;
}

int64_t SpecReader::integer(StringRef key) {
  int64_t value = 0;
  if (text(key).getAsInteger(10, value))
    reject(key, "must be a whole number");
  return value;
}

bool SpecReader::flag(StringRef key) {
  auto value = llvm::StringSwitch<std::optional<bool>>(text(key))
                   .Case("true", true)
                   .Case("false", false)
                   .Default(std::nullopt);
  if (!value)
    reject(key, "must be true or false");
  return value.value_or(false);
}

std::vector<double> SpecReader::list(StringRef key) {
  llvm::SmallVector<StringRef> parts;
  text(key).split(parts, ':');
  std::vector<double> numbers;
  for (StringRef part : parts) {
    auto value = parseNumber(part);
    if (llvm::errorToBool(value.takeError()))
      reject(key, "must be numbers of f32 separated by ':'");
    else
      numbers.push_back(*value);
  }
  return numbers;
}

void SpecReader::reject(StringRef key, const Twine &requirement) {
  if (!problem.empty())
    return;
  problem = kind + " " + name;
  if (key.empty()) {
    problem += " " + requirement.str();
    return;
  }
  problem += ": " + key.str() + " " + requirement.str() + " (got " + text(key).str() + ")";
}

llvm::Error SpecReader::takeError() {
  if (problem.empty())
    return llvm::Error::success();
  return llvm::createStringError(std::exchange(problem, ""));
}

//===----------------------------------------------------------------------===//
// Suggestions and JSON
//===----------------------------------------------------------------------===//

std::string suggestion(StringRef word, llvm::ArrayRef<StringRef> candidates) {
  std::vector<std::string> known;
  for (StringRef candidate : candidates)
    known.push_back(candidate.str());
  if (const std::string *meant = runtime::closest(word.str(), known))
    return "did you mean " + *meant + "?";
  return known.empty() ? "there are none" : "there are: " + llvm::join(known, ", ");
}

std::string Recipe::effectiveLossScale() const {
  if (!lossScale.empty())
    return lossScale;
  bool isNarrow = precision != "fp32" && precision != "as-is";
  return isNarrow && halfType == "fp16" ? "dynamic" : "none";
}

std::string Recipe::toJson() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  auto patterns = [&](StringRef name, const std::vector<std::string> &list) {
    json.attributeArray(name, [&] {
      for (const std::string &pattern : list)
        json.value(llvm::json::fixUTF8(pattern));
    });
  };
  json.object([&] {
    json.attribute("loss", loss);
    json.attribute("optimizer", optimizer);
    json.attribute("schedule", schedule);
    json.attribute("precision", precision);
    json.attribute("half-type", halfType);
    json.attribute("loss-scale", lossScale);
    json.attribute("clip-norm", clipNorm);
    json.attribute("batch", batch);
    json.attribute("accumulate", accumulate);
    json.attribute("accumulate-type", accumulateType);
    json.attribute("rounding", rounding);
    json.attributeObject("bind", [&] {
      for (auto &[dimension, size] : bind)
        json.attribute(llvm::json::fixUTF8(dimension), size);
    });
    patterns("train", train);
    patterns("freeze", freeze);
    patterns("pin", pin);
    patterns("input-type", inputType);
    json.attribute("input-slots", inputSlots);
    json.attribute("target", target);
    json.attribute("cpu", cpu);
    json.attribute("arch", arch);
    json.attribute("with-emulation", withEmulation);
  });
  return text;
}

} // namespace halfstep
