"""The mutator on small C++: which mutants it sees, and that each one runs as what it says.

usage: mutation_test.py COMPILER
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import mutants
from units import diagnosis

COMPILER = sys.argv.pop(1)
TREE = pathlib.Path(__file__).resolve().parents[2]

# Sums numbers below a bound; `note` is told each.
TOY = """#include <cstdio>
static void note(int number) { std::printf("%d ", number); }
static int sum(int bound, int step) {
  int result = 0;
  // if (bound < 0) is only a comment.
  for (int i = 0; i < bound; ++i) {
    note(i);
    result += i - step;
  }
  return result;
}
int main() { std::printf("= %d; if (1 < 2)\\n", sum(3, 1)); }
"""


def found(code):
    source = mutants.Source("x.cpp", code)
    return [(mutant.kind, source.signature(mutant).removeprefix("x.cpp: "))
            for mutant in source.mutants]


class Finding(unittest.TestCase):

    def test_conditions(self):
        self.assertEqual(found("if (int x = f(); x && y) {}"),
                         [("negate", "if (int x = f(); [x && y => !(x && y)]) {}"),
                          ("negate", "if (int x = f(); [x && y => x || y]) {}")])
        self.assertEqual(found("z = a ? b : c;"), [("negate", "z = [a => !(a)] ? b : c;")])
        self.assertEqual(found("if (auto *x = f()) {}"), [])

    def test_bounds(self):
        self.assertEqual(found("while (f<A>(x) < y) {}")[1:],
                         [("bound", "while ([f<A>(x) < y => f<A>(x) <= y]) {}")])
        self.assertEqual(found("z = v[i];"), [("bound", "z = v[[i => i + 1]];")])
        self.assertEqual(found("auto [a, b] = f([&] {});"), [])
        self.assertEqual(found("z = x <= 7;"), [("bound", "z = [x <= 7 => x < 7];"),
                                                ("bound", "z = x <= [7 => 7 + 1];")])

    def test_operands(self):
        self.assertEqual(found("z = a + b * c - d / e;"),
                         [("swap", "z = [a + b * c - d / e => d / e - (a + b * c)];"),
                          ("swap", "z = a + b * c - [d / e => e / (d)];")])
        self.assertEqual(found("z = b.sub(x, f(y, w));"),
                         [("swap", "z = [b.sub(x, f(y, w)) => b.sub(f(y, w), x)];")])

    def test_statements(self):
        self.assertEqual(found("void f() { b.barrier(); }"),
                         [("drop", "void f() { [b.barrier() => ]; }")])
        self.assertEqual(found("void f() { if (x) return g(y); Value v(w); }"),
                         [("negate", "void f() { if ([x => !(x)]) return g(y); Value v(w); }")])

    def test_casts_grids_and_live_ranges(self):
        self.assertEqual(found("x = b.widen(raw, type);"),
                         [("cast", "x = [b.widen(raw, type) => raw];")])
        self.assertEqual(found("grid = {n, m};"), [("grid", "grid = {[n => n + 1], m};"),
                                                   ("grid", "grid = {n, [m => m + 1]};")])
        self.assertEqual(found("return {first, last};"),
                         [("reuse", "return {first, [last => last - 1]};")])

    def test_what_is_left_alone(self):
        self.assertEqual(found('assert(x < 3); throw Error("a < b").help(x < 3); z = f("x < 3");'),
                         [])
        self.assertEqual(found("static constexpr int width = 8;"), [])


class Running(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = pathlib.Path(cls.folder.name)
        cls.source = mutants.Source("toy.cpp", TOY)
        for number, mutant in enumerate(cls.source.mutants, 1):
            mutant.number = number
        (path / "toy.cpp").write_text('#include "tests/mutation/Mutant.h"\n' +
                                      cls.source.render()[0])
        cls.program = path / "toy"
        subprocess.run([COMPILER, "-std=c++17", f"-I{TREE}", path / "toy.cpp", "-o", cls.program],
                       check=True)

    def output(self, text=None, **environment):
        if text:
            number, = [mutant.number for mutant in self.source.mutants
                       if text in self.source.signature(mutant)]
            environment["HALFSTEP_MUTANT"] = str(number)
        return subprocess.run([self.program], env=os.environ | environment, check=True,
                              capture_output=True, text=True).stdout.split(";")[0]

    def test_each_runs_as_it_reads(self):
        self.assertEqual(self.output(), "0 1 2 = 0")
        self.assertEqual(self.output("[i < bound => i <= bound]"), "0 1 2 3 = 2")
        self.assertEqual(self.output("[i < bound => !(i < bound)]"), "= 0")
        self.assertEqual(self.output("[i - step => step - (i)]"), "0 1 2 = 0")
        self.assertEqual(self.output("[note(i) => ]"), "= 0")
        self.assertEqual(self.output("int i = [0 => 0 + 1]"), "1 2 = 1")
        self.assertEqual(self.output("result = [0 => 0 + 1]"), "0 1 2 = 1")

    def test_reach(self):
        reached = pathlib.Path(self.folder.name) / "reached"
        reached.write_bytes(bytes(len(self.source.mutants) + 1))
        self.output(HALFSTEP_MUTANTS_REACHED=str(reached))
        self.assertEqual(reached.read_bytes(), b"\0" + b"\1" * len(self.source.mutants))

    def test_lines_stay(self):
        self.assertEqual(self.source.render()[0].count("\n"), TOY.count("\n"))


class Reporting(unittest.TestCase):

    def test_the_error_is_named(self):
        self.assertEqual(diagnosis("Running main\n[ RUN ] x\nfile: error: data race\nblock 3\n"),
                         "file: error: data race block 3")


if __name__ == "__main__":
    unittest.main()
