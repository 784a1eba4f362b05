//===- SampleProgram.cpp - A sample as a function of parameters -----------===//

#include "SampleProgram.h"
#include "Source.h"
#include <algorithm>
#include <numeric>
#include <random>

namespace {
int64_t elements(const std::string &type) {
  int64_t count = 1;
  for (size_t at = 0, next; (next = type.find('x', at)) != std::string::npos; at = next + 1)
    count *= std::stoll(type.substr(at, next - at));
  return count;
}

bool isDifferentiated(const Operand &operand) {
  return operand.domain != Domain::Ids && operand.domain != Domain::Bits &&
         operand.domain != Domain::Flags && operand.domain != Domain::Fixed;
}

std::vector<double> draw(Domain domain, int64_t count, std::mt19937_64 &random) {
  std::uniform_real_distribution<double> size(0.1, 2), positive(0.5, 2);
  std::bernoulli_distribution negative;
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    switch (domain) {
    case Domain::Any:
    case Domain::Fixed:
      values[i] = size(random) * (negative(random) ? -1 : 1);
      break;
    case Domain::Positive:
      values[i] = positive(random);
      break;
    case Domain::Spread:
      values[i] = 0.1 * i - 1;
      break;
    case Domain::Ids:
      values[i] = (i * 2 + 1) % 5;
      break;
    case Domain::Bits:
      values[i] = int32_t(random());
      break;
    case Domain::Flags:
      values[i] = i % 3 == 0;
      break;
    }
  if (domain == Domain::Spread)
    std::shuffle(values.begin(), values.end(), random);
  return values;
}
} // namespace

std::string sourceOf(const Sample &sample, const std::string &element, Arrival arrival) {
  std::vector<std::string> arguments;
  std::string body;
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    const Operand &operand = sample.operands[i];
    bool differentiated = isDifferentiated(operand);
    bool isLow =
        differentiated && (arrival == Arrival::Low || (arrival == Arrival::Mixed && i > 0));
    std::string name = "p" + std::to_string(i), value = "%" + std::to_string(i);
    std::string argument = parameter(name, operand.type, differentiated);
    if (isLow) // the identity, with the adjoint halved twice: it has a gradient, nothing folds it
      body +=
          typed(value + " = train.maximum %" + name + ", %" + name + " {train.category = 0 : i32}",
                {operand.type, operand.type}, operand.type);
    else // the sample calls it by its number
      argument.replace(0, argument.find(':'), value);
    arguments.push_back(argument);
  }
  arguments.push_back(parameter("weights", sample.result));
  body += sample.body + "\n" +
          typed("%z = train.mul %y, %weights", {sample.result, sample.result}, sample.result);
  std::string source = forward(arguments, body, sample.result, "%z");
  // Types of tensors and casts, not of attributes.
  for (std::string before : {"x", "<", "to "})
    for (size_t at = 0; (at = source.find(before + "f64", at)) != std::string::npos; ++at)
      source.replace(at + before.size(), 3, element);
  return source;
}

std::vector<DrawnParameter> drawParameters(const Sample &sample) {
  std::mt19937_64 random(7);
  std::vector<DrawnParameter> parameters;
  auto add = [&](const std::string &name, const Operand &operand) {
    parameters.push_back(
        {name, isDifferentiated(operand), draw(operand.domain, elements(operand.type), random)});
  };
  for (size_t i = 0; i < sample.operands.size(); ++i)
    add("p" + std::to_string(i), sample.operands[i]);
  add("weights", {sample.result});
  return parameters;
}
