//===- Ops.cpp - halfstep ops ---------------------------------------------===//

#include "frontend/OpList.h"
#include "tools/Commands.h"
#include "tools/Compilation.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace halfstep {

static llvm::StringRef name(Support support) {
  switch (support) {
  case Support::No:
    return "no";
  case Support::Constant:
    return "constant";
  case Support::Yes:
    return "yes";
  }
  llvm_unreachable("all kinds are above");
}

static std::string opsetsOf(const OpSupport &op) {
  return op.forward == Support::No
             ? ""
             : std::to_string(op.firstOpset) + "-" + std::to_string(op.lastOpset);
}

static void printText(llvm::ArrayRef<OpSupport> ops, llvm::raw_ostream &os) {
  size_t width = 2;
  for (const OpSupport &op : ops)
    width = std::max(width, op.op.size());
  auto row = [&](llvm::StringRef op, llvm::StringRef opsets, llvm::StringRef forward,
                 llvm::StringRef gradient, llvm::StringRef category) {
    os << llvm::left_justify(op, width) << "  " << llvm::left_justify(opsets, 8)
       << llvm::left_justify(forward, 10) << llvm::left_justify(gradient, 10) << category << '\n';
  };
  row("op", "opsets", "forward", "gradient", "category");
  for (const OpSupport &op : ops)
    row(op.op, opsetsOf(op), name(op.forward), op.gradient ? "yes" : "no", op.category);
}

static void printJson(llvm::ArrayRef<OpSupport> ops, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("ops", [&] {
      for (const OpSupport &op : ops)
        json.object([&] {
          json.attribute("op", op.op);
          json.attribute("opsets", opsetsOf(op));
          json.attribute("forward", name(op.forward));
          json.attribute("gradient", op.gradient);
          json.attribute("category", op.category);
          json.attribute("cpu", op.forward != Support::No);
          json.attribute("cuda", op.forward != Support::No);
        });
    });
  });
  os << '\n';
}

int opsCommand(int argc, char **argv) {
  CompileOptions options;
  options.assumesSizes = true;
  options.recipe.loss = "mean"; // fits any model: what matters is which gradients it asks for
  std::string format;
  Command command("ops", "Lists the ONNX operators that are covered; with a model, only its own.",
                  "halfstep ops model.onnx");
  command.add_option("MODEL", options.model, "an ONNX file")->type_name("");
  command.addChoice("--format", format, "format", {"text", "json"});
  command.addExternalData(options.externalData);
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;
  auto print = format == "json" ? printJson : printText;
  if (options.model.empty()) {
    print(supportedOps(), llvm::outs());
    return 0;
  }

  Compilation compilation(options, /*quiet=*/true);
  FailureOr<std::vector<OpSupport>> ops =
      opsOfModel(compilation.context(), options.model, options.externalData);
  if (failed(ops))
    return compilation.exitCode();
  print(*ops, llvm::outs());
  llvm::outs().flush();
  // Whether it can be trained depends on more than the kinds of its ops.
  if (failed(compilation.load()) || failed(compilation.advance(Phase::Grad)))
    return compilation.exitCode();
  return 0;
}

} // namespace halfstep
