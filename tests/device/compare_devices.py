"""Each entry of a CUDA step leaves on a device what it leaves on the emulated one.

The device is what HALFSTEP_TEST_DEVICE says: a number, or "emulate", which is the emulated device with
another seed.
"""

import os
import pathlib
import sys
import tempfile
import unittest

from support import Program, halfstep, output

COMPARE = sys.argv.pop()
DEVICE = os.environ.get("HALFSTEP_TEST_DEVICE", "emulate")


class CompareDevicesTest(unittest.TestCase):
    def test_entries_of_the_reference_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in ("linear8", "mlp10", "digits_mlp", "keknet", "digits_cnn_plain"):
                program = Program(name, folder)
                data = [word for word in map(str, program.data()) if word != "--data"]
                for mode in (["fp32"], ["half-grad"], ["half-grad", "--half-type", "bf16"]):
                    with self.subTest(name, mode=mode):
                        executable = folder / "train"
                        halfstep("compile", program.model, *program.recipe(), "-o", executable,
                                 "--precision", *mode, "--target", "cuda", "--with-emulation")
                        report = output(COMPARE, executable, DEVICE, *data)
                        self.assertRegex(report, r"\d+ entries compared")
                        if DEVICE != "emulate":
                            print(name, *mode, report, sep="\n")


if __name__ == "__main__":
    unittest.main()
