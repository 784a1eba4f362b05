"""ptxas accepts the kernels of every reference program, in every mode and for every architecture."""

import pathlib
import tempfile
import unittest

from support import Program, halfstep

MODES = [["fp32"], *([mode, "--half-type", half_type] for mode in ("autocast", "half-grad", "half")
                     for half_type in ("fp16", "bf16"))]


class PtxTest(unittest.TestCase):
    def test_is_assembled(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in ("linear8", "mlp10", "digits_mlp", "keknet", "digits_cnn_plain"):
                program = Program(name, folder)
                for mode in MODES:
                    for architecture in ("sm_80", "sm_90"):
                        with self.subTest(name, mode=mode, architecture=architecture):
                            halfstep("compile", program.model, *program.recipe(), "--precision",
                                     *mode, "--target", "cuda", "--arch", architecture, "--emit",
                                     "cubin", "-o", folder / "cubin")


if __name__ == "__main__":
    unittest.main()
