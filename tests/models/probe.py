"""--probe: what it counts, what it finds, and that following its advice removes what it found."""

import json
import math
import pathlib
import re
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

from support import DATA, ON_CUDA, Program, halfstep, logged, run

EMULATED = ["--target", "cuda", "--device", "emulate"]
QUIET = "halfstep: probe: no 16-bit numbers out of range\n"


def product(folder, weight):
    """y = x W^T with W = weight [1, 4]."""
    return network(folder, [helper.make_node("Gemm", ["x", "W"], ["y"], "/fc(1)", transB=1)],
                   {"W": (weight, [1, 4])})


def network(folder, nodes, weights):
    """From x [batch, 4] to y [batch, 1]; a weight is of one number and of a shape."""
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])],
        [helper.make_tensor(name, TensorProto.FLOAT, shape, [value] * math.prod(shape))
         for name, (value, shape) in weights.items()])
    path = folder / "network.onnx"
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
        """What a run of three steps says on stderr; `code` is what it ends with."""
        return halfstep("train", model, *data, "--optimizer", "sgd:lr=0.01", "--steps", 3, "--log",
                        self.log, *options, code=code)

    def mlp(self, *options):
        program = Program("mlp10", self.folder)
        return self.train(program.model, program.data(), "--batch", 16, "--loss", "mse", *options)

    def network(self, value, nodes, weights, *options, code=0):
        """Three steps on a batch of 4 samples of one number; their output is averaged."""
        x = self.folder / "x.npy"
        numpy.save(x, numpy.full((4, 4), value, numpy.float32))
        return self.train(network(self.folder, nodes, weights), ["--data", f"x={x}"], "--batch", 4,
                          "--loss", "mean", "--precision", "half-grad", "--probe", *options,
                          code=code)

    def two_products(self, value, first, second, *options, between="Relu", code=0):
        return self.network(value, [
            helper.make_node("Gemm", ["x", "W"], ["h"], "first", transB=1),
            helper.make_node(between, ["h"], ["r"], "between"),
            helper.make_node("Gemm", ["r", "V"], ["y"], "second", transB=1)],
            {"W": (first, [4, 4]), "V": (second, [1, 4])}, *options, code=code)

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
        advice = re.search(r"raise the loss scale: (--set) (scale=\d+)\n", said)
        said = self.mlp("--precision", "half-grad", "--loss-scale", 0.001, *advice.groups(),
                        "--probe")
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
        said = self.two_products(1000, 1, 1, "--loss-scale", "dynamic:init_scale=1e38", "--pin",
                                 ".*=fp32")
        self.assertNotIn("breaks down", said)
        said = self.mlp("--precision", "half-grad", "--loss-scale", scale, "--probe")
        self.assertRegex(said, r"the gradient of .* overflows in 3 of 3 steps: .*; lower the loss "
                               r"scale: --set scale=1048576\n")

    def test_only_the_node_at_fault_is_named(self):
        """4 * 300 * 100 is no f16 number, and what follows it is infinite too."""
        said = self.two_products(300, 100, 0.01, "--loss-scale", 1)
        self.assertEqual(re.findall(r"probe: (.*) overflows in 3 of 3 steps", said), ["first"])
        self.assertNotIn("breaks down", said)

    def test_a_run_that_ends_early_says_what_it_found(self):
        finding = "probe: first overflows in {0} of {0} steps"
        said = self.two_products(300, 100, 0.01, "--loss-scale", "none", code=3)
        self.assertIn(finding.format(1), said)  # the loss is infinite
        said = self.two_products(300, 100, 0.01, "--loss-scale", "dynamic:max_skips=2", code=3)
        self.assertIn(finding.format(2), said)

    def test_an_infinity_that_reaches_no_result_is_counted_and_no_fault(self):
        """tanh(120000) is what tanh(inf) is."""
        said = self.two_products(300, 100, 0.01, "--loss-scale", 1024, between="Tanh")
        self.assertTrue(said.endswith(QUIET), said)
        self.assertIn(1, [event.get("non_finite") for event in self.events()])

    def test_the_end_of_the_type(self):
        """4 * 16376 is 65504."""
        said = self.two_products(16376, 1, 0.0001, "--loss-scale", 1, "--set", "lr=0")
        self.assertIn("probe: first overflows in 3 of 3 steps: 48 of 48 values are at or beyond "
                      "65504; keep it in f32: --pin 'first=fp32'\n", said)

    def test_data_beyond_the_type(self):
        said = self.two_products(1e6, 1, 1)
        self.assertIn("probe: input x is not finite as the step reads it: 16 of 16 values in F16; "
                      "look at the data: F16 ends at 65504", said)
        self.assertNotIn("overflows", said)

    def test_an_update_that_breaks_down(self):
        """It is named, not the weights that the next step reads."""
        x = self.folder / "x.npy"
        numpy.save(x, numpy.full((4, 4), 1000, numpy.float32))
        said = self.train(product(self.folder, 1), ["--data", f"x={x}"], "--batch", 4, "--loss",
                          "mean", "--set", "lr=3e38", "--probe", code=3)
        self.assertRegex(said, r"probe: the update breaks down at .*; lower the learning rate")
        self.assertNotIn("as the step reads it", said)

    def test_gradients_that_are_all_zero(self):
        """A quarter of 2^-26 is zero in f16."""
        said = self.two_products(1, 1, 1, "--loss-scale", 2**-26)
        self.assertIn("probe: the gradient of second and all after it are zero; raise the loss "
                      "scale: --set scale=0.0009765625\n", said)
        said = self.two_products(1, 1, 1, "--loss-scale", 2**-26, "--set", "scale=0.0009765625")
        self.assertTrue(said.endswith(QUIET), said)

    @unittest.skipIf(ON_CUDA, "runs on both by itself")
    def test_on_a_device_the_same_is_counted(self):
        """All numbers are exact, whatever the order of sums."""
        seen = []
        for options in [], EMULATED:
            said = self.two_products(1, 2**-5, 1, "--loss-scale", 2**-18, "--set", "lr=0.125",
                                     *options)
            seen.append((re.findall("probe: .*", said), self.events()))
        self.assertIn("underflow", seen[0][0][0])
        self.assertEqual(*seen)

    @unittest.skipIf(ON_CUDA, "runs on both by itself")
    def test_a_concatenation_is_counted_part_by_part(self):
        """What is still to be written counts as zero, in later steps too."""
        nodes = [helper.make_node("Gemm", ["x", "W"], ["h"], "first", transB=1),
                 helper.make_node("Neg", ["h"], ["n"], "turned"),
                 helper.make_node("Relu", ["h"], ["r"], "kept"),
                 helper.make_node("Concat", ["n", "r"], ["c"], "join", axis=1),
                 helper.make_node("Gemm", ["c", "V"], ["y"], "second", transB=1)]
        for options in [], EMULATED:
            self.network(1, nodes, {"W": (1, [4, 4]), "V": (1, [1, 8])}, "--loss-scale", 1,
                         *options)
            shares = [(event["step"], event["zeros"], event["non_finite"])
                      for event in self.events()
                      if event.get("pass") == "forward" and event["elements"] == 32]
            self.assertEqual(shares, [(step, zeros, 0) for step in (1, 2, 3) for zeros in (0.5, 0)])

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
        """Ten products of subnormal numbers."""
        nodes = [*(helper.make_node("Gemm", ["x", f"W{i}"], [f"y{i}"], f"small{i}", transB=1)
                   for i in range(10)),
                 helper.make_node("Sum", [f"y{i}" for i in range(10)], ["y"], "sum")]
        said = self.network(1, nodes, {f"W{i}": (1e-6, [1, 4]) for i in range(10)}, "--set", "lr=0")
        self.assertEqual(said.count("probe: "), 9)
        self.assertRegex(said, r"probe: \d+ more of the kind\n")

    def test_nothing_of_sixteen_bits(self):
        self.assertTrue(self.mlp("--probe").endswith("probe: nothing in this step is of 16 bits\n"))

    def test_it_is_not_another_check(self):
        said = run("halfstep", "train", DATA / "mlp10.onnx", "--probe", "--detect-anomaly", code=2)
        self.assertIn("--detect-anomaly excludes --probe", said)


if __name__ == "__main__":
    unittest.main()
