//===- ProfileReport.cpp - A step's profile for people and programs -------===//

#include "tools/ProfileReport.h"
#include "tools/MemorySummary.h"
#include "tools/TextTable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace halfstep {

using namespace codegen;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "940", "12.3 k", "4.0 M", ...
static std::string countText(uint64_t count) {
  if (count < 1000)
    return std::to_string(count);
  double scaled = double(count) / 1000;
  const char *unit = "kMGTPE";
  for (; scaled >= 1000 && unit[1]; ++unit)
    scaled /= 1000;
  return llvm::formatv("{0:f1} {1}", scaled, *unit);
}

static std::string timeText(double seconds) {
  if (seconds < 1e-6)
    return llvm::formatv("{0:f1} ns", seconds * 1e9);
  if (seconds < 1e-3)
    return llvm::formatv("{0:f1} us", seconds * 1e6);
  return llvm::formatv("{0:f1} ms", seconds * 1e3);
}

static void addCost(TextRow &row, const EntryCost &cost) {
  row.insert(row.end(),
             {sizeText(cost.bytesRead), sizeText(cost.bytesWritten), countText(cost.flops)});
}

/// Grid, threads, registers, shared memory and spills.
static void addKernel(TextRow &row, const EntryProfile &entry) {
  std::vector<std::string> cells(5);
  if (entry.launch) {
    cells[0] = std::to_string(entry.launch->grid.blocks);
    cells[1] = std::to_string(entry.launch->grid.threads);
  }
  if (entry.resources) {
    cells[2] = std::to_string(entry.resources->registers);
    cells[3] = sizeText(entry.resources->sharedBytes);
    cells[4] = sizeText(entry.resources->spillBytes);
  }
  row.insert(row.end(), cells.begin(), cells.end());
}

static void printProgram(const Profile &profile, const ProgramProfile &program,
                         llvm::raw_ostream &os) {
  bool isCuda = !profile.devices.empty();
  std::vector<TextRow> table;
  TextRow head = {"  entry", "read", "written", "flops"};
  if (isCuda)
    head.insert(head.end(), {"blocks", "threads", "registers", "shared", "spills"});
  for (const Device &device : profile.devices)
    head.push_back(device.name.str());
  head.push_back("nodes");
  const size_t last = head.size() - 1;
  table.push_back(std::move(head));
  for (const EntryProfile &entry : program.entries) {
    TextRow row = {"  " + entry.name};
    addCost(row, entry.cost);
    if (isCuda)
      addKernel(row, entry);
    for (const Device &device : profile.devices)
      row.push_back(timeText(entry.timeOn(device)));
    row.push_back(entry.nodes);
    table.push_back(std::move(row));
  }
  TextRow sum = {"  all"};
  addCost(sum, program.cost());
  if (isCuda)
    sum.resize(sum.size() + 5);
  for (const Device &device : profile.devices)
    sum.push_back(timeText(program.timeOn(device)));
  sum.push_back("");
  table.push_back(std::move(sum));
  os << program.name << ": " << program.entries.size()
     << (program.entries.size() == 1 ? " entry\n" : " entries\n");
  printTable(table, os, [&](size_t column) { return column > 0 && column < last; });
  os << '\n';
}

void printProfile(const Profile &profile, llvm::raw_ostream &os) {
  for (const ProgramProfile &program : profile.programs)
    printProgram(profile, program, os);
  EntryCost step = profile.stepCost();
  os << "a step: " << profile.stepEntries() << " entries, " << sizeText(step.bytesRead) << " read, "
     << sizeText(step.bytesWritten) << " written, " << countText(step.flops) << " flops\n";
  for (const Device &device : profile.devices)
    os << "  " << device.name << ": " << timeText(profile.stepTimeOn(device))
       << " at least, without the launches\n";
  if (!profile.note.empty())
    os << "note: " << profile.note << '\n';
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void printCost(llvm::json::OStream &json, const EntryCost &cost) {
  json.attribute("bytes_read", cost.bytesRead);
  json.attribute("bytes_written", cost.bytesWritten);
  json.attribute("flops", cost.flops);
}

/// Seconds by device.
static void printTimes(llvm::json::OStream &json, const Profile &profile,
                       llvm::function_ref<double(const Device &)> timeOn) {
  if (profile.devices.empty())
    return;
  json.attributeObject("time", [&] {
    for (const Device &device : profile.devices)
      json.attribute(device.name, timeOn(device));
  });
}

static void printEntry(llvm::json::OStream &json, const Profile &profile,
                       const EntryProfile &entry) {
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(entry.name));
    json.attribute("nodes", llvm::json::fixUTF8(entry.nodes));
    printCost(json, entry.cost);
    if (entry.launch) {
      json.attribute("kernel", llvm::json::fixUTF8(entry.launch->kernel));
      json.attribute("blocks", entry.launch->grid.blocks);
      json.attribute("threads", entry.launch->grid.threads);
    }
    if (entry.resources) {
      json.attribute("registers", entry.resources->registers);
      json.attribute("shared_bytes", entry.resources->sharedBytes);
      json.attribute("spill_bytes", entry.resources->spillBytes);
    }
    printTimes(json, profile, [&](const Device &device) { return entry.timeOn(device); });
  });
}

void printProfileJson(const Profile &profile, const Target &target, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("target", target.cuda ? target.cuda->architecture : "cpu");
    json.attributeArray("programs", [&] {
      for (const ProgramProfile &program : profile.programs)
        json.object([&] {
          json.attribute("program", program.name);
          json.attributeArray("entries", [&] {
            for (const EntryProfile &entry : program.entries)
              printEntry(json, profile, entry);
          });
        });
    });
    json.attributeObject("step", [&] {
      json.attribute("entries", profile.stepEntries());
      printCost(json, profile.stepCost());
      printTimes(json, profile, [&](const Device &device) { return profile.stepTimeOn(device); });
    });
    if (!profile.note.empty())
      json.attribute("note", llvm::json::fixUTF8(profile.note));
  });
  os << '\n';
}

} // namespace halfstep
