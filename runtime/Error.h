//===- Error.h - What the user has to hear ------------------------------------------*- C++ -*-===//
//
// What the runtime throws when the user's input or the machine is at fault.
//
// The runtime uses exceptions: nearly every function of it can fail on a file, and none of that
// happens inside a step. The C interface (halfstep.h) turns them into status codes.
//
//===------------------------------------------------------------------------------------------===//
#ifndef HALFSTEP_RUNTIME_ERROR_H
#define HALFSTEP_RUNTIME_ERROR_H

#include <exception>
#include <string>

namespace halfstep::runtime {

/// One error for the user: `SUBJECT: what`, then indented details and a line of help.
class Error : public std::exception {
public:
  /// `subject` is the file, option or tensor at fault; empty where there is none.
  Error(const std::string &subject, const std::string &what)
      : text(subject.empty() ? what : subject + ": " + what) {}

  /// Adds an indented line below the first.
  Error &detail(const std::string &line) {
    text += "\n  " + line;
    return *this;
  }

  /// Adds the way out.
  Error &help(const std::string &line) {
    text += "\nhelp: " + line;
    return *this;
  }

  /// Sets the exit code of a program that ends with this error: 1, the input or the run is at
  /// fault, where nothing else is said; 2 wrong usage; 3 the numbers broke down.
  Error &exitWith(int exitCode) {
    code = exitCode;
    return *this;
  }
  int exitCode() const { return code; }

  /// The whole message, lines separated by '\n', without "halfstep: error: " and a last newline.
  const char *what() const noexcept override { return text.c_str(); }

private:
  std::string text;
  int code = 1;
};

/// An error of the operating system: `SUBJECT: ACTION: text of errno`.
Error systemError(const std::string &subject, const std::string &action);

} // namespace halfstep::runtime

#endif
