//===- HtmlReport.cpp - A compilation as one page for a browser -----------===//

#include "tools/HtmlReport.h"

#include "tools/PageFiles.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;

namespace halfstep {

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

namespace {

/// Graphs as the compact arrays that HtmlReport describes.
class GraphWriter {
public:
  explicit GraphWriter(llvm::json::OStream &json) : json(json) {}

  void writePhase(Phase phase, const ModuleGraph &graph) {
    json.object([&] {
      json.attribute("name", info(phase).name);
      json.attribute("help", info(phase).help);
      json.attributeArray("functions", [&] {
        for (const GraphFunction &function : graph.functions)
          json.object([&] {
            json.attribute("name", llvm::json::fixUTF8(function.name));
            json.attributeArray("nodes", [&] {
              for (const GraphNode &node : function.nodes)
                writeNode(function, node);
            });
          });
      });
      json.attributeObject("regions", [&] {
        for (const auto &region : graph.regions)
          json.attributeArray(llvm::json::fixUTF8(region.first),
                              [&] { writeTexts(region.second); });
      });
    });
  }

  /// What the indices in the phases before stand for.
  void writeTables() {
    json.attributeArray("strings", [&] {
      for (const auto &each : strings)
        json.value(llvm::json::fixUTF8(each.first));
    });
    json.attributeArray("types", [&] {
      for (const auto &type : types)
        json.array([&] {
          json.value(type.first);
          json.value(type.second.second);
        });
    });
  }

private:
  void writeText(const std::string &text) {
    json.value(strings.insert({text, strings.size()}).first->second);
  }
  void writeTexts(llvm::ArrayRef<std::string> texts) {
    for (const std::string &text : texts)
      writeText(text);
  }

  void writeType(const GraphValue &value) {
    auto entry = std::make_pair(types.size(), value.bytes);
    json.value(types.insert({value.type, entry}).first->second.first);
  }

  void writeNode(const GraphFunction &function, const GraphNode &node) {
    json.array([&] {
      writeText(node.op);
      writeText(nameOf(node.pass).str());
      json.array([&] { writeTexts(node.onnxNodes); });
      writeText(node.reason);
      json.array([&] {
        for (unsigned operand : node.operands)
          json.value(operand);
      });
      json.array([&] {
        for (unsigned result : node.results)
          writeType(function.values[result]);
      });
      json.array([&] {
        for (const NamedTensor &tensor : node.tensors)
          json.array([&] { writeTexts({tensor.role, tensor.name}); });
      });
    });
  }

  llvm::json::OStream &json;
  llvm::MapVector<std::string, size_t, std::map<std::string, unsigned>> strings;
  // With the bytes that a value of the type takes.
  llvm::MapVector<std::string, std::pair<size_t, uint64_t>, std::map<std::string, unsigned>> types;
};

} // namespace

std::string HtmlReport::data() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  GraphWriter writer(json);
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("model", llvm::json::fixUTF8(model));
    json.attributeBegin("recipe");
    json.rawValue(recipe);
    json.attributeEnd();
    json.attributeArray("phases", [&] {
      for (auto &[phase, graph] : graphs)
        writer.writePhase(phase, graph);
    });
    writer.writeTables();
    for (auto &[key, value] : {std::pair("memory", &memory), std::pair("profile", &profile)}) {
      if (value->empty())
        continue;
      json.attributeBegin(key);
      json.rawValue(*value);
      json.attributeEnd();
    }
  });
  return text;
}

//===----------------------------------------------------------------------===//
// Page
//===----------------------------------------------------------------------===//

/// JSON that may stand in a script element: no character in it means anything to HTML, nor ends a
/// line of a script. All of them can only be parts of strings, where JSON has another spelling.
static std::string escaped(llvm::StringRef json) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> spellings[] = {
      {"<", "\\u003c"},
      {">", "\\u003e"},
      {"&", "\\u0026"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xe2\x80\xa9", "\\u2029"}};
  std::string text;
  while (!json.empty()) {
    auto *spelling =
        llvm::find_if(spellings, [&](auto &each) { return json.starts_with(each.first); });
    if (spelling == std::end(spellings)) {
      text += json.front();
      json = json.drop_front();
    } else {
      text += spelling->second;
      json = json.drop_front(spelling->first.size());
    }
  }
  return text;
}

/// How a content security policy names the one script that may run, so that no other does.
static std::string hashOf(llvm::StringRef script) {
  return "sha256-" + llvm::encodeBase64(llvm::SHA256::hash(llvm::arrayRefFromStringRef(script)));
}

void HtmlReport::print(llvm::raw_ostream &os) const {
  const std::pair<llvm::StringLiteral, std::string> places[] = {
      {"{{hash}}", hashOf(page::script)},
      {"{{style}}", page::style},
      {"{{data}}", escaped(data())},
      {"{{script}}", page::script},
  };
  llvm::StringRef rest = page::html;
  for (auto &[place, text] : places) {
    auto [before, behind] = rest.split(place);
    os << before << text;
    rest = behind;
  }
  os << rest;
}

} // namespace halfstep
