//===- PassTest.cpp - A pass on three lines of text -----------------------===//

#include "PassTest.h"
#include "ir/Describe.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include <regex>

using namespace mlir;
using namespace halfstep;
using namespace halfstep::test;

static void registerPassesOnce() {
  static const bool registered = [] {
    registerPassesAndPhases();
    registerCanonicalizerPass();
    registerCSEPass();
    return true;
  }();
  (void)registered;
}

PassTest::PassTest() : context(MLIRContext::Threading::DISABLED) {
  registerPassesOnce();
  context.printOpOnDiagnostic(false);
  context.loadDialect<arith::ArithDialect, func::FuncDialect, kernel::KernelDialect,
                      math::MathDialect, table::TableDialect, train::TrainDialect>();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    (diagnostic.getSeverity() == DiagnosticSeverity::Error ? errors : warnings) +=
        diagnostic.str() + "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      notes += note.str() + "\n";
  });
}

/// "%y = ..." with the location "y".
static std::string located(StringRef line) {
  auto [name, rest] = line.ltrim().split(' ');
  if (!name.consume_front("%") || !rest.starts_with("="))
    return line.str();
  return (line + " loc(\"" + name.take_while([](char c) { return c != ':'; }) + "\")").str();
}

bool PassTest::build(StringRef arguments, StringRef body, StringRef results, StringRef function) {
  std::string values, types, signature;
  static const std::regex result(R"(%(\w+):\s*(tensor<[^>]*>)\s*(\{[^}]*\})?)");
  const std::string text = results.str();
  for (std::sregex_iterator it(text.begin(), text.end(), result), end; it != end; ++it) {
    std::string comma = values.empty() ? "" : ", ";
    values += comma + "%" + it->str(1);
    types += comma + it->str(2);
    signature += comma + it->str(2) + " " + it->str(3);
  }
  std::string module =
      ("func.func @" + function + "(" + arguments + ") -> (" + signature + ") {\n").str();
  for (StringRef line : llvm::split(body, '\n'))
    module += "  " + located(line) + "\n";
  return parse(module + "  return " + values + (values.empty() ? "" : " : " + types) + "\n}\n");
}

bool PassTest::parse(StringRef text) {
  errors = warnings = notes = "";
  module = parseSourceString<ModuleOp>(text, &context);
  return bool(module);
}

bool PassTest::run(StringRef pipeline) {
  errors = warnings = notes = "";
  PassManager pm(&context);
  std::string fault;
  llvm::raw_string_ostream stream(fault);
  if (failed(parsePassPipeline(pipeline, pm, stream)))
    errors = fault;
  return errors.empty() && succeeded(pm.run(*module));
}

Operation *PassTest::find(StringRef name) {
  Operation *found = nullptr;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() > 0 && nodeName(op->getLoc()) == name &&
        (!found || isa<train::CastOp>(found)))
      found = op;
  });
  return found;
}

static std::string text(Type type) { return typeText(cast<RankedTensorType>(type)); }

std::string PassTest::type(StringRef name) {
  Operation *op = find(name);
  return op ? text(op->getResultTypes().front()) : "";
}

std::string PassTest::reason(StringRef name) {
  Operation *op = find(name);
  auto reason = op ? op->getAttrOfType<StringAttr>(train::attr::kReason) : StringAttr();
  return reason ? reason.str() : "";
}

std::string PassTest::typeOf(StringRef function, StringRef attribute, StringRef value) {
  auto op = module->lookupSymbol<func::FuncOp>(function);
  auto is = [&](Attribute found) {
    auto string = dyn_cast_or_null<StringAttr>(found);
    return string && string == value;
  };
  for (unsigned i = 0; i < op.getNumArguments(); ++i)
    if (is(op.getArgAttr(i, attribute)))
      return text(op.getArgumentTypes()[i]);
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    if (is(op.getResultAttr(i, attribute)))
      return text(op.getResultTypes()[i]);
  return "";
}
