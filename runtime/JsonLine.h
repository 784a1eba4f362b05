//===- JsonLine.h - One JSON object on one line -------------------------------------*- C++ -*-===//
//
// One JSON object on one line, for logs and metrics: numbers in full precision.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_JSONLINE_H
#define HALFSTEP_RUNTIME_JSONLINE_H

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace halfstep::runtime {

class JsonLine {
public:
  JsonLine &field(std::string_view key, std::string_view value) {
    addKey(key);
    addString(value);
    return *this;
  }

  /// The shortest digits that read back as the same double (at most 17); what JSON has no number
  /// for becomes the strings "NaN", "Infinity", "-Infinity".
  JsonLine &field(std::string_view key, double value) {
    addKey(key);
    if (std::isnan(value))
      addString("NaN");
    else if (std::isinf(value))
      addString(value > 0 ? "Infinity" : "-Infinity");
    else
      addNumber(value);
    return *this;
  }

  JsonLine &field(std::string_view key, uint64_t value) {
    addKey(key);
    addNumber(value);
    return *this;
  }

  JsonLine &field(std::string_view key, bool value) {
    addKey(key);
    text += value ? "true" : "false";
    return *this;
  }

  /// The object with a newline; to be asked for once.
  std::string &finish() { return text += "}\n"; }

private:
  void addKey(std::string_view key) {
    text += text.empty() ? '{' : ',';
    addString(key);
    text += ':';
  }

  void addString(std::string_view value) {
    text += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') {
        text += '\\';
        text += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        (text += "\\u00") += {digits[c >> 4], digits[c & 15]};
      } else {
        text += c;
      }
    }
    text += '"';
  }

  template <typename T> void addNumber(T value) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }

  std::string text;
};

} // namespace halfstep::runtime

#endif
