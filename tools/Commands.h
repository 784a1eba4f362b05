//===- Commands.h - The commands of halfstep ------------------------------===//
//
// Each reads argv, whose first word is its own name, and returns the exit code. Errors of usage and
// of files are thrown as runtime::Error.
//
//===----------------------------------------------------------------------===//

#ifndef HALFSTEP_TOOLS_COMMANDS_H
#define HALFSTEP_TOOLS_COMMANDS_H

namespace halfstep {

int compileCommand(int argc, char **argv);
int trainCommand(int argc, char **argv);
int runCommand(int argc, char **argv);
int inspectCommand(int argc, char **argv);
int opsCommand(int argc, char **argv);
int exportCommand(int argc, char **argv);

} // namespace halfstep

#endif
