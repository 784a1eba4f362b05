"""Dumps of each phase, edited mechanically, as input: one clear error or a compiled module, no crash.

Every op, every attribute and every argument or result of every phase is taken away in turn, functions
lose their bodies, types and constants are changed. What is left need not make sense; `halfstep` has
to end by itself, with an exit code of its own, and say what is wrong once.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import DATA, halfstep

# An attribute of a list with what is before and behind it; values may hold commas themselves.
VALUE = r'(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|<[^<>]*(?:<[^<>]*>[^<>]*)*>|[^,{}"\[<]|\{\})+'
ATTRIBUTE = re.compile(rf"(?P<before>, |\{{)(?P<key>[a-zA-Z_][\w.]*)(?P<value> = {VALUE})?"
                       r"(?P<after>, |\}(?! loc\())")
REPLACEMENTS = [("f32>", "f16>"), ("f32>", "i32>"), ("f64>", "f32>"), ("tensor<", "tensor<2x"),
                ("tensor<2x", "tensor<?x"), ("<2x8x", "<8x2x"), ("non_negative", "below_one")]
# Consistent, and still not what a phase expects.
RETYPINGS = [("xf32>", "xf64>"), ("xf32>", "xi32>"), ("f16", "bf16"), ("f64", "f32")]


def without_attribute(match):
    """What is left of the text of `match` without the attribute."""
    before, after = match["before"], match["after"]
    if before == "{":
        return "{" if after == ", " else "{}"
    return before if after == ", " else "}"


def edits_of_line(line):
    """Pairs of what was done and the line that it gives."""
    if line.strip() not in ("}", "{"):
        yield "deleted", ""
    for match in ATTRIBUTE.finditer(line):
        start, end, key = line[:match.start()], line[match.end():], match["key"]
        yield f"{key} deleted", start + without_attribute(match) + end
        for value in ("", " = -1 : i64") if match["value"] else (" = 7 : i32",):
            yield f"{key}{value}", start + match["before"] + key + value + match["after"] + end
    for old, new in REPLACEMENTS:
        if old in line:
            yield f"{old} is {new}", line.replace(old, new)


def edits(text):
    """Pairs of what was done and the text that it gives."""
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        if line.startswith("#loc"):
            continue
        before, behind = "".join(lines[:index]), "".join(lines[index + 1:])
        for what, edited in edits_of_line(line):
            yield f"line {index + 1}: {what}", before + edited + behind
        if "func.func" in line or "kernel.group" in line:
            end = next(i for i in range(index + 1, len(lines)) if lines[i].startswith("  }"))
            behind = "".join(lines[end + 1:])
            yield f"line {index + 1}: without the function", before + behind
            head = re.sub(r' loc\("[^"]*"(:\d+:\d+)?\)', "", line.rstrip()[:-1])
            yield (f"line {index + 1}: a declaration",
                   before + head.replace("func.func", "func.func private") + "\n" + behind)
    for old, new in RETYPINGS:
        yield f"all {old} are {new}", text.replace(old, new)
    for match in re.finditer(r"dense<([-\d.eE+]+)> : tensor<(\d+)xf(\d+)>", text):
        values = ", ".join(f"{i}.0" for i in range(int(match[2])))
        yield (f"{match[0]} counts", text[:match.start()] +
               f"dense<[{values}]> : tensor<{match[2]}xf{match[3]}>" + text[match.end():])


class EditedDumpsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        halfstep("compile", DATA / "linear8.onnx", "--batch", 2, "--loss", "mse", "--optimizer",
                 "sgd:momentum=0.9", "--precision", "half-grad", "--dump-phases", cls.folder / "phases",
                 "-o", cls.folder / "whole")

    def outcome(self, number, edited):
        """The exit code (None: it does not end) and stderr of compiling a dump."""
        path = self.folder / f"{number}.mlir"
        path.write_text(edited)
        command = ["halfstep", "compile", path, "--emit", "object", "-o", path.with_suffix(".o")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            path.unlink()

    def check_phase(self, name):
        whats = {edited: what for what, edited in edits((self.folder / "phases" / name).read_text())}
        self.assertGreater(len(whats), 50)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = pool.map(self.outcome, range(len(whats)), whats)
            for what, (code, stderr) in zip(whats.values(), outcomes):
                with self.subTest(what):
                    self.assertIn(code, (0, 1, 2), stderr[-2000:])
                    errors = stderr.count("halfstep: error: ")
                    self.assertEqual(errors, 1 if code else 0, stderr[-2000:])


for number, phase in enumerate(("import", "grad", "precision", "update", "kernels", "memory"), 1):
    setattr(EditedDumpsTest, f"test_{phase}",
            lambda self, name=f"0{number}-{phase}.mlir": self.check_phase(name))


if __name__ == "__main__":
    unittest.main()
