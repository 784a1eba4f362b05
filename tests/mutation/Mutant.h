//===- Mutant.h - which mutant of a program runs ----------------------------------------------===//
//
// Every mutant is compiled in, behind `mutant(its number)`, so that hundreds of them cost one
// build.
//
//===------------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_TESTS_MUTATION_MUTANT_H
#define HALFSTEP_TESTS_MUTATION_MUTANT_H

#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace halfstep {

/// Whether this process is mutant `number` (HALFSTEP_MUTANT). Where HALFSTEP_MUTANTS_REACHED names
/// a file, byte `number` of it becomes 1: a mapping, which survives a crash and is shared by forks.
inline bool mutant(unsigned number) {
  struct Process {
    unsigned chosen = 0, count = 0;
    char *reached = nullptr;

    Process() {
      if (const char *text = std::getenv("HALFSTEP_MUTANT"))
        chosen = unsigned(std::atoi(text));
      const char *path = std::getenv("HALFSTEP_MUTANTS_REACHED");
      int file = path ? ::open(path, O_RDWR) : -1;
      struct stat status;
      if (file < 0 || ::fstat(file, &status) != 0)
        return;
      void *mapping =
          ::mmap(nullptr, size_t(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (mapping == MAP_FAILED)
        return;
      reached = static_cast<char *>(mapping);
      count = unsigned(status.st_size);
    }
  };
  static const Process process;
  if (number < process.count)
    process.reached[number] = 1;
  return number == process.chosen;
}

} // namespace halfstep

#endif
