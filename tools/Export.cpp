//===- Export.cpp - halfstep export ---------------------------------------===//

#include "frontend/Export.h"
#include "runtime/OutputFiles.h"
#include "tools/Commands.h"
#include "tools/CompileOptions.h"
#include "tools/Diagnostics.h"
#include "tools/WeightFile.h"

using namespace mlir;

namespace halfstep {

int exportCommand(int argc, char **argv) {
  std::string model, weights, out, externalData;
  Command command("export", "Writes trained weights back into an ONNX file.",
                  "halfstep export model.onnx --weights ckpt.safetensors -o trained.onnx");
  command.add_option("MODEL", model, "the ONNX file that was trained")->required()->type_name("");
  command.add_option("--weights", weights, "checkpoint with the weights")
      ->required()
      ->type_name("CKPT");
  command.add_option("-o", out, "the file to write")->required()->type_name("TRAINED.onnx");
  command.addExternalData(externalData);
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;

  // The data is written if the model has external tensors; either grows as a part.
  for (const char *written : {"", ".part", ".data", ".data.part"})
    runtime::checkIsNoInput("-o", out + written, {model, weights});
  runtime::Safetensors checkpoint = runtime::Safetensors::open(weights);
  MLIRContext context;
  DiagnosticPrinter printer(context, model, /*quiet=*/false);
  return failed(exportModel(context, model, parametersOf(context, checkpoint), out, externalData))
             ? printer.exitCode()
             : 0;
}

} // namespace halfstep
