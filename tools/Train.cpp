//===- Train.cpp - halfstep train -----------------------------------------===//

#include "runtime/TrainLoop.h"
#include "tools/Commands.h"
#include "tools/LoadedModel.h"

using namespace mlir;

namespace halfstep {

int trainCommand(int argc, char **argv) {
  CompileOptions options;
  runtime::RunOptions runOptions;
  Command command("train", "Compiles a model in memory and trains it at once.",
                  "halfstep train model.onnx --batch 64 --loss cross-entropy --optimizer adam "
                  "--data x=x.npy --data label=label.npy --epochs 10 --save ckpt.safetensors");
  command.addForwardOptions(options);
  command.addTrainingOptions(options);
  runtime::addRunOptions(command, runOptions);
  if (std::optional<int> answered = command.parse(argc, argv))
    return *answered;
  chooseTarget(options, runOptions.device);

  LoadedModel model;
  std::vector<std::string> inputs;
  {
    Compilation compilation(options, runOptions.quiet); // its memory is not needed for training
    if (failed(compilation.load()) || failed(compilation.checkTrains(Phase::Memory)) ||
        failed(compilation.advance(Phase::Memory)))
      return compilation.exitCode();
    FailureOr<LoadedModel> loaded = loadInMemory(compilation);
    if (failed(loaded))
      return compilation.exitCode();
    model = std::move(*loaded);
    inputs = compilation.inputs();
  }
  runtime::Session session(model.artefact, runtime::threadCount(runOptions.threads),
                           runOptions.device, runtime::Use::Training);
  return runtime::runTraining(session, model.weights(), runOptions, inputs);
}

} // namespace halfstep
