//===- MemoryReport.cpp - Where the memory of a planned module goes -------===//

#include "passes/MemoryReport.h"
#include "ir/Describe.h"
#include "passes/CallDetails.h"
#include "passes/Directory.h"
#include "passes/MemoryPlan.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace halfstep;
using namespace halfstep::table;

/// Whether the entry computes what is only there to be added up.
static bool isPartialSum(Value result) {
  if (auto conv = result.getDefiningOp<FusedConvOp>())
    return result == conv.getDw();
  auto conv = result.getDefiningOp<ConvOp>();
  return conv && conv.getKind() == ConvKind::WeightGradient &&
         cast<RankedTensorType>(conv.getC().getType()).getDimSize(0) > 1;
}

/// `copied`: there is a 16-bit copy, so that a parameter is a master.
static StringRef classOf(Role role, bool copied) {
  switch (role) {
  case Role::Parameter:
    return copied ? "masters" : "parameters";
  case Role::Copy:
    return "half_copies";
  case Role::Optimizer:
    return "optimizer";
  case Role::Gradient:
    return "gradients";
  case Role::Input:
  case Role::Label:
    return "inputs";
  default:
    return "state";
  }
}

namespace {

class Reporter {
public:
  Reporter(ModuleOp module, unsigned threads) : module(module) {
    auto number = [&](StringRef name) {
      return uint64_t(module->getAttrOfType<IntegerAttr>(name).getInt());
    };
    report.stateBytes = number(attr::kStateBytes);
    report.arenaBytes = number(attr::kArenaBytes);
    report.scratchBytes = number(attr::kScratchBytes);
    report.threads = threads;
    inputSlots = number(attr::kInputSlots);
    for (auto tensor : module.getOps<TensorOp>())
      if (tensor.getRole() == Role::Copy)
        copied.insert(tensor.getName());
  }

  MemoryReport run() {
    for (StringRef name : {"init", "micro", "update", "evaluate", "infer"}) {
      if (name == "infer")
        trainingEntries = entries;
      if (auto program = module.lookupSymbol<func::FuncOp>(name))
        addProgram(program);
    }
    unsigned arenaSlices = report.slices.size();
    addDirectory();
    addScratch();

    SmallVector<LiveRange> ranges;
    for (const MemorySlice &slice : report.slices)
      ranges.push_back({slice.bytes, slice.first, slice.last});
    auto busiest = mostLive(ArrayRef(ranges).take_front(arenaSlices));
    report.fragmentation = report.arenaBytes - busiest.bytes;
    report.liveAtPeak.assign(busiest.ranges.begin(), busiest.ranges.end());
    for (StringRef name : {"parameters", "masters", "half_copies", "gradients", "optimizer",
                           "state", "activations", "workspace", "inputs", "scratch"}) {
      SmallVector<LiveRange> members;
      for (auto [slice, range] : llvm::zip(report.slices, ranges))
        if (slice.memoryClass == name)
          members.push_back(range);
      report.classes.emplace_back(name, mostLive(members).bytes);
    }
    return std::move(report);
  }

private:
  void addProgram(func::FuncOp program) {
    StringRef name = program.getSymName();
    // Optimizers have no activations: what they keep for a while is workspace.
    bool isOptimizer = name == "init" || name == "update";
    llvm::DenseMap<Operation *, unsigned> position;
    for (Operation &op : program.front())
      if (!isa<AliasOp>(op))
        position[&op] = entries + position.size();

    for (Operation &op : program.front().without_terminator()) {
      if (isa<AliasOp>(op))
        continue;
      unsigned first = position.lookup(&op);
      for (OpResult result : op.getResults()) {
        SliceAttr slice = sliceAt(&op, op.getNumOperands() + result.getResultNumber());
        if (slice.getBuffer() != kArena)
          continue;
        if (name != "infer")
          trainingArena = std::max(trainingArena, slice.getOffset() + slice.getBytes());
        unsigned last = first;
        for (Operation *reader : readersOf(result))
          last = std::max(last, position.lookup(reader) - writes(reader, slice));
        auto kernel = op.getAttrOfType<FlatSymbolRefAttr>("kernel");
        std::string label = (name + "/" + Twine(first - entries) + "/" +
                             (kernel ? kernel.getValue() : op.getName().stripDialect()))
                                .str();
        if (op.getNumResults() > 1)
          label += ":" + std::to_string(result.getResultNumber());
        bool isPassing = isOptimizer || isPartialSum(result) || isWorkspace(result);
        report.slices.push_back(
            {label, nodeNames(op.getLoc()), isPassing ? "workspace" : "activations",
             typeText(cast<RankedTensorType>(result.getType())),
             report.stateBytes + slice.getOffset(), slice.getBytes(), first, last});
      }
    }
    entries += position.size();
  }

  static SliceAttr sliceAt(Operation *entry, unsigned i) {
    return cast<SliceAttr>(entry->getAttrOfType<ArrayAttr>("slices")[i]);
  }

  /// Whether the entry has a result in the slice.
  static bool writes(Operation *entry, SliceAttr slice) {
    for (unsigned i = 0; i < entry->getNumResults(); ++i)
      if (sliceAt(entry, entry->getNumOperands() + i) == slice)
        return true;
    return false;
  }

  void addDirectory() {
    unsigned last = entries ? entries - 1 : 0;
    for (auto tensor : module.getOps<TensorOp>()) {
      SliceAttr slice = tensor.getSliceAttr();
      if (slice.getBuffer() == kArena)
        continue; // an entry's result, which is there already
      StringRef memoryClass = classOf(tensor.getRole(), copied.contains(tensor.getName()));
      MemorySlice named{tensor.getName().str(),
                        nodeNames(tensor.getLoc()),
                        memoryClass.str(),
                        typeText(typeOf(tensor)),
                        slice.getOffset(),
                        slice.getBytes(),
                        0,
                        last};
      if (slice.getBuffer() < kInputs) {
        report.slices.push_back(named);
        continue;
      }
      bool isLabel = tensor.getRole() == Role::Label;
      if (isLabel && trainingEntries > 0)
        named.last = trainingEntries - 1;
      (isLabel ? labels : inputs).push_back(named);
    }
    uint64_t labelEnd = addSlots(labels, report.stateBytes + trainingArena);
    end = addSlots(inputs, std::max(labelEnd, report.stateBytes + report.arenaBytes));
  }

  /// All slots of inputs, from an offset on; their end.
  uint64_t addSlots(ArrayRef<MemorySlice> inputs, uint64_t offset) {
    for (const MemorySlice &input : inputs)
      for (uint64_t i = 0; i < inputSlots; ++i) {
        MemorySlice &slot = report.slices.emplace_back(input);
        slot.name += i ? ":" + std::to_string(i) : "";
        slot.offset = llvm::alignTo(offset, 64);
        offset = slot.offset + slot.bytes;
      }
    return offset;
  }

  /// The last buffer; named after the entry that makes it as large as it is.
  void addScratch() {
    uint64_t begin = llvm::alignTo(end, 64);
    report.peakBytes = end;
    if (report.scratchBytes == 0)
      return;
    Operation *largest = nullptr;
    module.walk([&](Operation *op) {
      if (!largest && scratchBytesOf(op).value_or(0) == report.scratchBytes)
        largest = op;
    });
    uint64_t bytes = report.threads * report.scratchBytes;
    report.slices.push_back(
        {"scratch", largest ? nodeNames(largest->getLoc()) : "", "scratch",
         (Twine(report.threads) + "x" + Twine(report.scratchBytes) + "xi8").str(), begin, bytes, 0,
         entries ? entries - 1 : 0});
    report.peakBytes = begin + bytes;
  }

  ModuleOp module;
  MemoryReport report;
  llvm::DenseSet<StringRef> copied; // names of parameters with a 16-bit copy
  unsigned entries = 0, trainingEntries = 0;
  uint64_t inputSlots, trainingArena = 0;
  SmallVector<MemorySlice> inputs, labels;
  uint64_t end = 0; // of everything but scratch memory
};

} // namespace

MemoryReport MemoryReport::of(ModuleOp module, unsigned threads) {
  return Reporter(module, threads).run();
}

std::string MemoryReport::toJson() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/2);
  auto string = [&](StringRef key, const std::string &value) {
    json.attribute(key, llvm::json::fixUTF8(value));
  };
  json.object([&] {
    json.attribute("version", 1);
    json.attributeObject("classes", [&] {
      for (auto &[name, bytes] : classes)
        json.attribute(name, bytes);
    });
    json.attribute("peak_bytes", peakBytes);
    json.attributeObject("scratch", [&] {
      json.attribute("bytes_per_thread", scratchBytes);
      json.attribute("threads", threads);
    });
    json.attributeArray("live_at_peak", [&] {
      for (unsigned i : liveAtPeak)
        json.value(llvm::json::fixUTF8(slices[i].name));
    });
    json.attributeArray("slices", [&] {
      for (const MemorySlice &slice : slices)
        json.object([&] {
          string("name", slice.name);
          string("node", slice.node);
          string("class", slice.memoryClass);
          string("type", slice.type);
          json.attribute("offset", slice.offset);
          json.attribute("bytes", slice.bytes);
          json.attribute("first", slice.first);
          json.attribute("last", slice.last);
        });
    });
  });
  return text;
}
