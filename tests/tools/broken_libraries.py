"""Libraries that are there and do not work: one clear error, with the library's name.

A program looks for its libraries in its own folder first, so each case is a folder with a stub
(stub_library.c) and a copy of a training executable.

usage: broken_libraries.py FOLDER-OF-STUBS
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

from support import DIGITS, halfstep

STUBS = pathlib.Path(sys.argv.pop(1))

# (folder of the stub, what the program says)
CASES = [
    ("dnnl_incomplete",
     "libdnnl.so.3: the plan has work for oneDNN 3, which cannot be loaded\n"
     "  it is not complete\n"),
    ("dnnl_engine_create", "libdnnl.so.3: oneDNN has no CPU engine\n"),
    ("dnnl_stream_create", "libdnnl.so.3: oneDNN cannot create a stream\n"),
    ("dnnl_matmul_primitive_desc_create",
     "oneDNN has no product of F32 and F32 into F32 on this CPU\n"),
    ("dnnl_primitive_create", "oneDNN cannot create a matrix product\n"),
    ("cuda_incomplete",
     "CUDA: the driver lacks cuInit\nhelp: it has to be of CUDA 11.8 or newer\n"),
]


class BrokenLibrariesTest(unittest.TestCase):
    def test_each_is_an_error(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for kind in ("x", "label"):
                shutil.copy(DIGITS / f"train.{kind}.npy", folder)
            for target in ("cpu", "cuda"):
                halfstep("compile", DIGITS / "mlp.onnx", "--batch", 64, "--loss", "cross-entropy",
                         "--optimizer", "sgd", "--target", target, "-o", folder / target)
            for stub, message in CASES:
                with self.subTest(stub):
                    shutil.copytree(STUBS / stub, folder / stub)
                    target = "cuda" if stub.startswith("cuda") else "cpu"
                    program = shutil.copy(folder / target, folder / stub / "program")
                    device = ["--device", "0"] if target == "cuda" else []
                    done = subprocess.run(
                        [program, "--steps", "1", "--data", "x=train.x.npy", "--data",
                         "label=train.label.npy", *device],
                        cwd=folder, capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertTrue(done.stderr.startswith("halfstep: error: " + message),
                                    done.stderr)


if __name__ == "__main__":
    unittest.main()
