"""The C example trains a compiled model inside another program."""

import pathlib
import tempfile
import unittest

import numpy
import onnxruntime

from support import DIGITS, halfstep, run


class EmbedTest(unittest.TestCase):
    def test_the_example_trains_the_digits(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model, checkpoint, trained = (folder / n for n in ("model", "c.safetensors", "t.onnx"))
            halfstep("compile", DIGITS / "mlp.onnx", "-o", model, "--loss", "cross-entropy",
                     "--optimizer", "adam:lr=1e-3", "--batch", 64)
            run("train-digits", model, DIGITS / "train.x.npy", DIGITS / "train.label.npy", checkpoint)
            halfstep("export", DIGITS / "mlp.onnx", "--weights", checkpoint, "-o", trained)
            scores, = onnxruntime.InferenceSession(trained).run(
                None, {"x": numpy.load(DIGITS / "heldout.x.npy")})
            hits = scores.argmax(axis=1) == numpy.load(DIGITS / "heldout.label.npy")
            self.assertGreater(hits.mean(), 0.9)
            message = run("train-digits", checkpoint, DIGITS / "train.x.npy",
                          DIGITS / "train.label.npy", folder / "other.safetensors", code=1)
            self.assertIn("train-digits: ", message)


if __name__ == "__main__":
    unittest.main()
