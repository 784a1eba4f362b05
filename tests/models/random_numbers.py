"""Dropout and stochastic rounding through the programs: the same bits whatever must not matter."""

import json
import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import EMULATED, halfstep, logged, orders, output, run, tensors

STEPS = 12
# Of the hidden layer: enough for several threads, or for grids of 64 blocks.
WIDTH = 4000 if EMULATED else 12000
MODES = ([], ["--accumulate", 4], ["--precision", "half", "--rounding", "stochastic"],
         ["--precision", "half", "--half-type", "bf16", "--rounding", "stochastic"])


class RandomNumbersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        generator = numpy.random.default_rng(1)
        self.x = generator.standard_normal((64, 20)).astype(numpy.float32)
        numpy.save(self.folder / "x.npy", self.x)
        numpy.save(self.folder / "label.npy",
                   generator.standard_normal((64, 4)).astype(numpy.float32))
        self.model = self.network(generator, 0.25)

    def network(self, generator, ratio):
        """Linear, ReLU, Dropout, Linear as PyTorch exports it in training mode."""
        sizes = {"w1": (WIDTH, 20), "b1": (WIDTH,), "w2": (4, WIDTH), "b2": (4,)}
        weights = [numpy_helper.from_array(
            (0.1 * generator.standard_normal(size)).astype(numpy.float32), name)
            for name, size in sizes.items()]
        constants = [numpy_helper.from_array(numpy.array(ratio, numpy.float32), "ratio"),
                     numpy_helper.from_array(numpy.array(True), "training")]
        nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1", transB=1),
                 helper.make_node("Relu", ["h"], ["r"], "relu"),
                 helper.make_node("Dropout", ["r", "ratio", "training"], ["d"], "drop"),
                 helper.make_node("Gemm", ["d", "w2", "b2"], ["y"], "fc2", transB=1)]
        graph = helper.make_graph(
            nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 20])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
            weights + constants)
        path = self.folder / "net.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        return path

    def compile(self, *options):
        program = self.folder / "train"
        halfstep("compile", self.model, "--batch", 16, "--loss", "mse", "--optimizer",
                 "adam:lr=1e-2", *options, "-o", program)
        return program

    def train(self, program, *options, steps=STEPS, name="run"):
        """The checkpoint's bytes by name, and the losses."""
        checkpoint, log = self.folder / f"{name}.safetensors", self.folder / f"{name}.jsonl"
        run(program, "--data", f"x={self.folder}/x.npy", "--data", f"label={self.folder}/label.npy",
            "--steps", steps, "--save", checkpoint, "--force", "--log", log, *options)
        return tensors(checkpoint), logged(log, "loss")

    def test_the_order_of_work_does_not_show(self):
        for options in MODES:
            with self.subTest(options):
                program = self.compile(*options)
                one, *others = (self.train(program, *order) for order in orders())
                for other in others:
                    self.assertEqual(other, one)

    def test_resumed_is_uninterrupted(self):
        for options in MODES:
            with self.subTest(options):
                program = self.compile(*options)
                whole = self.train(program, "--seed", 3)
                self.train(program, "--seed", 3, steps=5, name="part")
                resumed = self.train(program, "--resume", self.folder / "part.safetensors",
                                     name="part")
                self.assertEqual(resumed, whole)

    def test_the_seed_decides(self):
        for options in MODES:
            with self.subTest(options):
                program = self.compile(*options)
                runs = [self.train(program, "--no-shuffle", "--seed", seed)[0]["w2"]
                        for seed in (0, 0, 1, 1 << 40)]
                self.assertEqual(runs[0], runs[1])
                self.assertEqual(len(set(runs)), 3)

    def test_dropout_is_off_where_nothing_is_trained(self):
        """Validation and inference give what a network without Dropout gives."""
        halfstep("run", self.model, "--batch", 16, "--data", f"x={self.folder}/x.npy", "--out",
                 self.folder / "out")
        weights = {t.name: numpy_helper.to_array(t).astype(numpy.float64)
                   for t in onnx.load(self.model).graph.initializer}
        hidden = numpy.maximum(self.x @ weights["w1"].T + weights["b1"], 0)
        expected = hidden @ weights["w2"].T + weights["b2"]
        numpy.testing.assert_allclose(numpy.load(self.folder / "out" / "y.npy"), expected,
                                      atol=1e-5)

    def test_inspect_says_what_is_on_in_training_only(self):
        report = output("halfstep", "inspect", self.model, "--format", "json")
        self.assertEqual(json.loads(report)["training_only"], [{"node": "drop", "op": "dropout"}])
        report = output("halfstep", "inspect", self.model)
        self.assertIn("in training only\n  drop  dropout\ncompile it with\n", report)

    def test_a_skipped_update_moves_on(self):
        """A label of infinity makes the gradients infinite: weights keep their bits, and the step
        after it draws other numbers than the step before."""
        numpy.save(self.folder / "label.npy", numpy.full((64, 4), numpy.inf, numpy.float32))
        for options in (["--loss-scale", "dynamic"],
                        ["--precision", "half", "--rounding", "stochastic"]):
            with self.subTest(options):
                program = self.compile(*options)
                first, _ = self.train(program, steps=1)
                second, _ = self.train(program, steps=2)
                self.assertEqual(second["w1"], first["w1"])
                self.assertEqual(second["w2"], first["w2"])
                self.assertNotEqual(second["halfstep/iteration"], first["halfstep/iteration"])
                self.assertEqual(second["halfstep/applied"], first["halfstep/applied"])

    def test_rounding_without_16_bit_weights_is_refused(self):
        for mode in ("fp32", "autocast", "half-grad"):
            message = halfstep("compile", self.model, "--batch", 16, "--loss", "mse", "--optimizer",
                               "sgd", "--precision", mode, "--rounding", "stochastic", "-o",
                               self.folder / "train", code=2)
            self.assertRegex(message,
                             "--rounding stochastic: no trained weight is stored in 16 bits")


if __name__ == "__main__":
    unittest.main()
