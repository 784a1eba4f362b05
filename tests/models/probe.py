"""--probe: what it counts, what it finds, and that following its advice removes what it found."""

import json
import pathlib
import re
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

from support import DATA, Program, halfstep, logged, run

QUIET = "halfstep: probe: no 16-bit numbers out of range\n"


def product(folder, weight):
    """y = x W^T with W = weight [1, 4]."""
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "W"], ["y"], "/fc(1)", transB=1)], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])],
        [helper.make_tensor("W", TensorProto.FLOAT, [1, 4], [weight] * 4)])
    path = folder / "product.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


class ProbeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log.jsonl"

    def train(self, model, data, *options, code=0):
        """What a run of three steps says on stderr."""
        return halfstep("train", model, *data, "--optimizer", "sgd:lr=0.01", "--steps", 3, "--log",
                        self.log, *options, code=code)

    def mlp(self, *options):
        program = Program("mlp10", self.folder)
        return self.train(program.model, program.data(), "--batch", 16, "--loss", "mse", *options)

    def events(self):
        return [event for event in map(json.loads, self.log.read_text().splitlines())
                if event["event"] == "probe"]

    def test_what_is_counted(self):
        self.mlp("--precision", "half-grad", "--loss-scale", 1024)
        losses = logged(self.log, "loss")
        said = self.mlp("--precision", "half-grad", "--loss-scale", 1024, "--probe")
        self.assertTrue(said.endswith(QUIET), said)
        self.assertEqual(logged(self.log, "loss"), losses)  # the step is the one that always runs
        events = self.events()
        self.assertEqual({event["step"] for event in events}, {1, 2, 3})
        tensors = [event for event in events if "tensor" in event]
        relu = next(event for event in tensors if event["nodes"] == "/1/Relu")
        self.assertEqual((relu["pass"], relu["type"], relu["elements"]), ("forward", "F16", 160))
        self.assertTrue(0.3 < relu["zeros"] < 0.7, relu)
        self.assertEqual([relu[key] for key in ("subnormals", "saturated", "non_finite")], [0] * 3)
        self.assertEqual({event["pass"] for event in tensors}, {"forward", "gradient"})
        ratios = {event["parameter"]: event["update_ratio"] for event in events
                  if "parameter" in event}
        self.assertEqual(set(ratios), {"0.weight", "0.bias", "2.weight", "2.bias"})
        self.assertTrue(all(1e-5 < ratio < 1e-1 for ratio in ratios.values()), ratios)

    def test_gradients_that_underflow(self):
        said = self.mlp("--precision", "half-grad", "--loss-scale", 0.001, "--probe")
        self.assertIn("underflow: up to 100 % of the numbers that are not zero are subnormal", said)
        advice = re.search(r"raise the loss scale: (--loss-scale) (\d+)\n", said)
        said = self.mlp("--precision", "half-grad", *advice.groups(), "--probe")
        self.assertTrue(said.endswith(QUIET), said)

    def test_a_forward_pass_that_overflows(self):
        """4 * 300 * 100 is no f16 number; every update is skipped."""
        x = self.folder / "x.npy"
        numpy.save(x, numpy.full((8, 4), 100, numpy.float32))
        command = [product(self.folder, 300), ["--data", f"x={x}"], "--batch", 8, "--loss", "mean",
                   "--precision", "half-grad"]
        said = self.train(*command, "--probe")
        self.assertIn("probe: /fc(1) overflows in 3 of 3 steps: 24 of 24 values are at or beyond "
                      "65504; keep it in f32: --pin '/fc\\(1\\)=fp32'\n", said)
        said = self.train(*command, "--pin", "/fc\\(1\\)=fp32", "--probe")
        self.assertNotIn("overflows", said)

    def test_a_forward_pass_that_underflows(self):
        x = self.folder / "x.npy"
        numpy.save(x, numpy.full((8, 4), 1e-3, numpy.float32))
        command = [product(self.folder, 1e-3), ["--data", f"x={x}"], "--batch", 8, "--loss", "mean",
                   "--precision", "half-grad"]
        said = self.train(*command, "--probe")
        self.assertIn("probe: /fc(1) underflows: 100 % of the numbers that are not zero are "
                      "subnormal; keep it in f32: --pin '/fc\\(1\\)=fp32'\n", said)
        said = self.train(*command, "--pin", "/fc\\(1\\)=fp32", "--probe")
        self.assertNotIn("/fc(1) underflows", said)

    def test_gradients_that_overflow(self):
        """At a scale that does not adapt; where it does, overflows are how it finds its place."""
        scale = 2**24
        said = self.mlp("--precision", "half-grad", "--loss-scale", f"dynamic:init_scale={scale}",
                        "--probe")
        self.assertTrue(said.endswith(QUIET), said)
        said = self.mlp("--precision", "half-grad", "--loss-scale", scale, "--probe")
        self.assertRegex(said, r"the gradient of .* overflows in 3 of 3 steps: .*; lower the loss "
                               rf"scale: --loss-scale 1.04858e\+06\n")

    def test_weights_that_stand_still(self):
        said = self.mlp("--precision", "half", "--set", "lr=1e-9", "--probe")
        self.assertIn("probe: parameter 0.weight has not moved: its updates are smaller than its "
                      "precision; keep f32 masters: --precision half-grad, or add --rounding "
                      "stochastic\n", said)
        # Updates that are skipped say nothing of weights.
        said = self.mlp("--precision", "half", "--loss-scale", f"dynamic:init_scale={2**30}",
                        "--probe")
        self.assertNotIn("has not moved", said)

    def test_many_findings_are_cut(self):
        said = self.mlp("--precision", "half-grad", "--loss-scale", 2**24, "--probe")
        self.assertLessEqual(said.count("probe: "), 9)

    def test_nothing_of_sixteen_bits(self):
        self.assertTrue(self.mlp("--probe").endswith("probe: nothing in this step is of 16 bits\n"))

    def test_it_is_not_another_check(self):
        said = run("halfstep", "train", DATA / "mlp10.onnx", "--probe", "--detect-anomaly", code=2)
        self.assertIn("--detect-anomaly excludes --probe", said)


if __name__ == "__main__":
    unittest.main()
