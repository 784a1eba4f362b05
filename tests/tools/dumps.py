"""Every tool takes what --dump-phases writes, of every reference program and phase.

halfstep-opt prints it byte for byte, runs the phase behind it to what the next dump holds, and
halfstep goes on from what halfstep-opt printed to the same plan.
"""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import Program, halfstep, output

PHASES = ("import", "grad", "precision", "update", "kernels", "memory")
PROGRAMS = ("linear8", "mlp10", "mlp10.default_export", "digits_mlp", "digits_cnn_plain", "keknet")
PRECISION = ["--precision", "half-grad"]


def halfstep_opt(path, *options):
    return output("halfstep-opt", path, "--mlir-print-debuginfo", *options)


def options_of(recipe):
    """A recipe's options in the words of a phase: what MLIR's parser does not take is left out."""
    words = {"loss", "optimizer", "schedule", "precision"}
    given = {key: value for key, value in recipe.items() if key in words and value}
    return "=" + " ".join(f"{key}={value}" for key, value in given.items())


def unphased(text):
    """Without the name of the phase that a module has finished, which halfstep writes."""
    return re.sub(r'halfstep\.phase = "\w+"', "", text)


class DumpsTest(unittest.TestCase):
    def test_every_tool_takes_every_dump(self):
        with tempfile.TemporaryDirectory() as temporary:
            for name in PROGRAMS:
                folder = pathlib.Path(temporary) / name
                folder.mkdir()
                program = Program(name, folder)
                halfstep("inspect", program.model, *program.recipe(), *PRECISION,
                         "--phase", "memory", "--dump-phases", folder / "dumps")
                dumps = {phase: folder / "dumps" / f"0{number}-{phase}.mlir"
                         for number, phase in enumerate(PHASES, 1)}
                self.check(name, {phase: path.read_text() for phase, path in dumps.items()}, folder)

    def check(self, name, dumps, folder):
        recipe = re.search(r'halfstep\.recipe = "((?:[^"\\]|\\.)*)"', dumps["import"])[1]
        options = options_of(json.loads(re.sub(r"\\(..)", lambda m: chr(int(m[1], 16)), recipe)))
        for phase, following in zip(PHASES, PHASES[1:] + (None,)):
            with self.subTest(f"{name}, {phase}"):
                path = folder / "again.mlir"
                path.write_text(dumps[phase])
                again = halfstep_opt(path)
                self.assertEqual(again, dumps[phase])
                if following:
                    self.assertEqual(unphased(halfstep_opt(path, f"--phase-{following}{options}")),
                                     unphased(dumps[following]))
                path.write_text(again)
                plan = output("halfstep", "inspect", path, "--phase", "memory", "--format", "mlir")
                self.assertEqual(plan, dumps["memory"])


if __name__ == "__main__":
    unittest.main()
