//===- Recipe.h - What the user asked for ---------------------------------===//
//
// One struct from the command line (or a recipe file) to the passes. Names and defaults are the
// command line's; it travels with the module and the artefact as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_PASSES_RECIPE_H
#define HALFSTEP_PASSES_RECIPE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace halfstep {

/// `NAME[:key=value,...]`, the form of --loss, --optimizer and --schedule.
struct Spec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;

  /// Errors say what is wrong with the text.
  static llvm::Expected<Spec> parse(llvm::StringRef text);
  std::string str() const;
};

/// The number that `text` is, all of it. A step computes in f32: what is infinite there, or zero
/// without being zero, is an error too. Errors continue the name of the number: "must be ...".
llvm::Expected<double> parseNumber(llvm::StringRef text);

/// A key that a loss, optimizer or schedule understands: PyTorch's keyword name and default.
struct SpecKey {
  llvm::StringLiteral name;
  llvm::StringLiteral defaultValue; // "" for required keys
};

/// The options of a spec, checked against the keys it may have and read by type. The first error
/// is kept and returned by takeError(); reads after it give defaults.
class SpecReader {
public:
  /// `kind` ("optimizer") and the spec's name are what messages speak of.
  SpecReader(llvm::StringRef kind, const Spec &spec, llvm::ArrayRef<SpecKey> keys);

  double number(llvm::StringRef key);
  int64_t integer(llvm::StringRef key);
  bool flag(llvm::StringRef key);              // true|false
  std::vector<double> list(llvm::StringRef key); // a:b:c
  llvm::StringRef text(llvm::StringRef key);
  bool isGiven(llvm::StringRef key) const;
  /// Reports that the value of `key` is out of range: "lr must be ... (got ...)".
  void reject(llvm::StringRef key, const llvm::Twine &requirement);
  llvm::Error takeError();

private:
  std::string kind;
  std::map<std::string, std::string> values;
  std::map<std::string, bool> given;
  std::string name, problem;
};

/// "did you mean X?" from the nearest of `candidates`, or the whole list when none is near.
std::string suggestion(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

struct Recipe {
  std::string loss, optimizer; // required for training; without a loss: forward only
  std::string schedule = "constant";
  std::string precision = "fp32";
  std::string halfType = "fp16";
  std::string lossScale;        // empty: as effectiveLossScale says
  std::string accumulateType = "f32";
  std::string rounding = "nearest"; // of 16-bit weights
  std::vector<std::string> pin; // REGEX=TYPE
  std::vector<std::string> inputType; // NAME=TYPE
  int64_t inputSlots = 2;
  double clipNorm = 0; // 0: no clipping
  int64_t batch = 0;   // 0: not given
  int64_t accumulate = 1;
  std::map<std::string, int64_t> bind;
  std::vector<std::string> train, freeze; // patterns, ECMAScript, searched
  std::string target = "cpu"; // or "cuda"; "cpu,cuda" is compiled once for each
  std::string cpu = "native", arch = "sm_80";
  bool withEmulation = false; // a CUDA step that an emulated device can run too

  /// What --loss-scale means where it is not given: dynamic for fp16 modes, none for others.
  std::string effectiveLossScale() const;
  /// What computes: "cpu", or a CUDA architecture.
  const std::string &executor() const { return target == "cuda" ? arch : target; }
  std::string toJson() const;
};

} // namespace halfstep

#endif
