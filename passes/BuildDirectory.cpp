//===- BuildDirectory.cpp - Everything that has a name --------------------===//

#include "passes/Step.h"
#include "ir/TrainDialect.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::train;

std::vector<Hyperparameter> Step::hyperparameters() const {
  auto result = optimizer.hyperparameters;
  llvm::append_range(result, lossScale.hyperparameters);
  return result;
}

std::vector<std::string> Step::counters() const {
  std::vector<std::string> result{"iteration", "applied", "running_loss"};
  if (schedule.perEpoch)
    result.push_back("epoch");
  if (lossScale.dynamic)
    result.push_back("growth");
  if (drops && accumulate > 1)
    result.push_back("micro");
  return result;
}

ArrayRef<StringLiteral> Step::records() {
  static constexpr StringLiteral kFields[] = {"iteration", "applied",   "loss",   "lr",
                                              "scale",     "grad_norm", "skipped"};
  return kFields;
}

void halfstep::buildDirectory(ModuleOp module, func::FuncOp main, const Step &step) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto tensor = [&](StringRef name, table::Role role, Type type) {
    return b.create<table::TensorOp>(module.getLoc(), name, role, cast<RankedTensorType>(type));
  };
  for (const FlatLayout &layout : step.layouts)
    for (const FlatRegion &region : layout.regions(step.optimizer.slots)) {
      b.create<table::RegionOp>(module.getLoc(), region.name, layout.type(region.elementType));
      for (const FlatLayout::Entry &entry : layout.entries) {
        auto op = tensor(region.prefix + entry.name, region.role,
                         RankedTensorType::get(entry.sizes, region.elementType));
        op.setRegion(region.name);
        op.setRegionOffset(entry.offset * region.elementType.getIntOrFloatBitWidth() / 8);
        op.setTrainable(region.role == table::Role::Parameter);
      }
    }

  if (!step.layouts.empty()) {
    auto scalar = RankedTensorType::get({}, b.getF64Type());
    for (const std::string &name : step.counters())
      tensor(name, table::Role::Counter, scalar);
    if (step.isRandom())
      tensor("seed", table::Role::Counter, RankedTensorType::get({}, b.getI64Type()));
    for (const Hyperparameter &h : step.hyperparameters()) {
      auto op = tensor(h.name, table::Role::Hyperparameter, scalar);
      op.setInitial(APFloat(h.initial));
      op.setRange(h.range);
    }
    for (StringRef name : Step::records())
      tensor(name, table::Role::Record, RankedTensorType::get({kRecordRows}, b.getF64Type()));
  }

  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    Type type = main.getArgumentTypes()[i];
    auto parameter = main.getArgAttrOfType<StringAttr>(i, attr::kParameter);
    if (auto name = main.getArgAttrOfType<StringAttr>(i, attr::kInput)) {
      tensor(name, table::Role::Input, type);
    } else if (main.getArgAttr(i, attr::kLabel)) {
      auto op = tensor("label", table::Role::Label, type);
      op.setClassCountAttr(main.getArgAttrOfType<IntegerAttr>(i, attr::kClassCount));
      op.setIgnoredClassAttr(main.getArgAttrOfType<IntegerAttr>(i, attr::kIgnoredClass));
    } else if (parameter && !main.getArgAttr(i, attr::kTrainable)) {
      tensor(parameter, table::Role::Parameter, type);
    }
  }
  auto results = [&](StringRef function, StringRef attribute, table::Role role) {
    if (auto f = module.lookupSymbol<func::FuncOp>(function))
      for (unsigned i = 0; i < f.getNumResults(); ++i)
        tensor(f.getResultAttrOfType<StringAttr>(i, attribute), role, f.getResultTypes()[i])
            .setFileTypeAttr(f.getResultAttrOfType<TypeAttr>(i, attr::kFileType));
  };
  results("infer", attr::kOutput, table::Role::Output);
  results("evaluate", attr::kMetric, table::Role::Metric);
}
