"""How many launches a training step takes on a device: each costs as much as a megabyte moved."""

import json
import pathlib
import tempfile
import unittest

from support import Program, halfstep, output

# Entries of @micro and @update together.
LAUNCHES = {"mlp10": {"fp32": 9, "autocast": 13, "half-grad": 9, "half": 9},
            "keknet": {"fp32": 6, "autocast": 6, "half-grad": 4, "half": 4}}


class LaunchesTest(unittest.TestCase):
    def test_step(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, modes in LAUNCHES.items():
                program = Program(name, pathlib.Path(folder))
                for mode, launches in modes.items():
                    for half_type in ("fp16", "bf16"):
                        with self.subTest(name, mode=mode, half_type=half_type):
                            profile = json.loads(output(
                                "halfstep", "inspect", program.model, *program.recipe(),
                                "--precision", mode, "--half-type", half_type, "--target", "cuda",
                                "--phase", "emit", "--format", "json"))
                            self.assertEqual(profile["step"]["entries"], launches)


if __name__ == "__main__":
    unittest.main()
