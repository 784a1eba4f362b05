//===- Run.cpp - halfstep run ---------------------------------------------===//

#include "runtime/Evaluation.h"
#include "runtime/RunOptions.h"
#include "tools/Commands.h"
#include "tools/LoadedModel.h"

using namespace mlir;

namespace halfstep {

int runCommand(int argc, char **argv) {
  CompileOptions options;
  runtime::RunOptions runOptions;
  std::string out;
  Command command("run", "Computes the outputs of a model for data.",
                  "halfstep run model.onnx --batch 64 --data x=x.npy --out outputs");
  command.addForwardOptions(options);
  runtime::addDataOptions(command, runOptions);
  command.add_option("--out", out, "folder for the outputs, each as NAME.npy")
      ->required()
      ->type_name("DIR");
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;
  chooseTarget(options, runOptions.device);

  Compilation compilation(options, runOptions.quiet);
  if (failed(compilation.load()) || failed(compilation.advance(Phase::Memory)))
    return compilation.exitCode();
  FailureOr<LoadedModel> model = loadInMemory(compilation);
  if (failed(model))
    return compilation.exitCode();

  runtime::Session session(model->artefact, runtime::threadCount(runOptions.threads),
                           runOptions.device, runtime::Use::Inference);
  session.initialise(model->weights());
  std::vector<std::string> paths =
      runtime::matchFiles(session.artefact(), runOptions.data, "--data", /*needLabel=*/false);
  std::vector<std::string> inputs = compilation.inputs();
  inputs.insert(inputs.end(), paths.begin(), paths.end());
  runtime::writeOutputs(session, paths, out, inputs);
  return 0;
}

} // namespace halfstep
