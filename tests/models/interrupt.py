"""SIGINT at any moment of a step ends the training in order: saved, and with exit code 130.

oneDNN's code moves the stack pointer to the heap for most of a product, and a signal that is
handled there must not write over what is beside it (runtime/SignalStack.h); an emulated device
changes stacks all the time. Which moment is hit is chance, so there are several tries.
"""

import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

from support import EMULATED, halfstep, on_device, run

TRIES = 16
BATCH, WIDTH = 64, 64 if EMULATED else 512


def save_model(path):
    """Two layers whose products, and whose gradients', are nearly all that a step does."""
    generator = numpy.random.default_rng(1)
    weights = [onnx.numpy_helper.from_array(
        generator.standard_normal((WIDTH, WIDTH), numpy.float32) / WIDTH, name)
        for name in ("w1", "w2")]
    nodes = [helper.make_node("Gemm", ["x", "w1"], ["h"], transB=1),
             helper.make_node("Gemm", ["h", "w2"], ["y"])]
    tensors = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH])]
               for name in ("x", "y")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", *tensors, weights), ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)


class InterruptTest(unittest.TestCase):
    def test_training_ends_saved_wherever_it_is(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            save_model(folder / "model.onnx")
            halfstep("compile", folder / "model.onnx", "--batch", BATCH, "--loss", "mse",
                     "--optimizer", "sgd:lr=1e-6", "-o", folder / "train")
            data = []
            for tensor in ("x", "label"):
                numpy.save(folder / f"{tensor}.npy", numpy.ones((BATCH, WIDTH), numpy.float32))
                data += ["--data", f"{tensor}={folder / tensor}.npy"]
            checkpoint = folder / "checkpoint"
            for attempt in range(TRIES):
                threads = 1 + attempt % 2
                command = [folder / "train", "--quiet", "--threads", threads, *data, "--steps",
                           10**9, "--save", checkpoint, "--force"]
                process = subprocess.Popen(on_device(command), stderr=subprocess.PIPE, text=True)
                time.sleep(0.2 + 0.013 * attempt)
                process.send_signal(signal.SIGINT)
                message = process.communicate(timeout=60)[1]
                self.assertEqual(process.returncode, 130, f"{threads} threads: {message}")
            run(folder / "train", "--evaluate", *data, "--weights", checkpoint)


if __name__ == "__main__":
    unittest.main()
