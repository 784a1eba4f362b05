"""Files that mix element types and write roundings of their own, in every precision mode."""

import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import halfstep, logged

MODES = ("as-is", "fp32", "autocast", "half-grad", "half")
NARROW = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}


class MixedTypesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def save(self, nodes, initializers, features, results):
        graph = helper.make_graph(
            nodes, "mixed",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", features])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", results])],
            initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        path = self.folder / "model.onnx"
        onnx.save(model, path)
        return path

    def two_layers(self, narrow):
        """FLOAT in the first layer, 16 bits in the second, and the casts that go with it."""
        random = numpy.random.default_rng(1)
        tensor = lambda name, type, shape: helper.make_tensor(
            name, type, shape, 0.3 * random.standard_normal(shape).astype(numpy.float32).flatten())
        return self.save(
            [helper.make_node("MatMul", ["x", "w1"], ["h"], "first"),
             helper.make_node("Cast", ["h"], ["narrow"], "narrow", to=narrow),
             helper.make_node("Add", ["narrow", "b1"], ["a"], "bias"),
             helper.make_node("Relu", ["a"], ["r"], "relu"),
             helper.make_node("MatMul", ["r", "w2"], ["z"], "second"),
             helper.make_node("Cast", ["z"], ["y"], "widen", to=TensorProto.FLOAT)],
            [tensor("w1", TensorProto.FLOAT, (8, 6)), tensor("b1", narrow, (6,)),
             tensor("w2", narrow, (6, 3))], 8, 3)

    def train(self, model, mode, half_type, *options, steps=20, name=None, code=0):
        random = numpy.random.default_rng(2)
        data = []
        for tensor, size in (("x", 8), ("label", 3)):
            path = self.folder / f"{tensor}.npy"
            numpy.save(path, random.standard_normal((16, size)).astype(numpy.float32))
            data += ["--data", f"{tensor}={path}"]
        checkpoint, log = self.folder / f"{name or mode}.safetensors", self.folder / "log.jsonl"
        message = halfstep("train", model, "--batch", 16, "--loss", "mse", "--optimizer",
                           "adam:lr=0.01", "--precision", mode, "--half-type", half_type,
                           "--no-shuffle", "--steps", steps, *data, "--save", checkpoint, "--log",
                           log, "--force", *options, code=code)
        return message if code else (checkpoint, logged(log, "loss"))

    def test_every_mode_trains_and_exports_the_types_of_the_file(self):
        for half_type, narrow in NARROW.items():
            model = self.two_layers(narrow)
            _, expected = self.train(model, "fp32", half_type)
            self.assertLess(expected[-1], 0.7 * expected[0])
            for mode in MODES:
                with self.subTest(mode, half_type=half_type):
                    checkpoint, losses = self.train(model, mode, half_type)
                    bound = 5e-3 if half_type == "fp16" else 2e-2
                    numpy.testing.assert_allclose(losses, expected, rtol=bound)
                    out = self.folder / "out.onnx"
                    halfstep("export", model, "--weights", checkpoint, "-o", out)
                    types = {t.name: t.data_type for t in onnx.load(out).graph.initializer}
                    self.assertEqual(types, {"w1": TensorProto.FLOAT, "b1": narrow, "w2": narrow})

    def test_16_bit_weights_have_f32_masters_where_the_mode_has_masters(self):
        """From 1, steps of 2^-13: a bf16 or f16 weight stays where it is, a master arrives."""
        for half_type, narrow in NARROW.items():
            model = self.save(
                [helper.make_node("Cast", ["w"], ["wide"], "widen", to=TensorProto.FLOAT),
                 helper.make_node("MatMul", ["x", "wide"], ["y"], "product")],
                [helper.make_tensor("w", narrow, (1, 1), [1.0])], 1, 1)
            data = self.folder / "ones.npy"
            numpy.save(data, numpy.ones((4, 1), numpy.float32))
            for mode, moves in (("as-is", False), ("fp32", True), ("autocast", True),
                                ("half-grad", True), ("half", False)):
                with self.subTest(mode, half_type=half_type):
                    checkpoint = self.folder / "masters.safetensors"
                    halfstep("train", model, "--batch", 4, "--loss", "mean", "--optimizer",
                             f"sgd:lr={2**-13}", "--precision", mode, "--half-type", half_type,
                             "--steps", 64, "--data", f"x={data}", "--save", checkpoint, "--force")
                    out = self.folder / "out.onnx"
                    halfstep("export", model, "--weights", checkpoint, "-o", out)
                    weight = onnx.load(out).graph.initializer[0]
                    self.assertEqual(weight.data_type, narrow)
                    value = float(numpy_helper.to_array(weight).astype(numpy.float32)[0, 0])
                    self.assertEqual(value, 1 - 64 * 2**-13 if moves else 1)

    def test_roundings_of_the_file_survive(self):
        """A cast to 16 bits and back rounds in every mode, those that compute in f32 too."""
        for half_type, narrow in NARROW.items():
            step = 2**-12 if half_type == "fp16" else 2**-9
            model = self.save(
                [helper.make_node("Mul", ["x", "w"], ["p"], "product"),
                 helper.make_node("Cast", ["p"], ["narrow"], "narrow", to=narrow),
                 helper.make_node("Cast", ["narrow"], ["y"], "widen", to=TensorProto.FLOAT)],
                [helper.make_tensor("w", TensorProto.FLOAT, (1,), [1.0])], 1, 1)
            data, log = self.folder / "x.npy", self.folder / "log.jsonl"
            numpy.save(data, numpy.full((2, 1), 1 + step, numpy.float32))
            for mode in MODES:
                with self.subTest(mode, half_type=half_type):
                    halfstep("train", model, "--batch", 2, "--loss", "mean", "--optimizer", "sgd",
                             "--precision", mode, "--half-type", half_type, "--steps", 1, "--data",
                             f"x={data}", "--log", log)
                    self.assertEqual(logged(log, "loss"), [1.0])

    def test_a_run_goes_on_in_another_mode_with_the_same_state(self):
        """Modes with f32 weights share their state, loss scaling aside: the resumed step starts
        from the moments that were saved, so that one step later the runs agree as the modes do."""
        model = self.two_layers(TensorProto.FLOAT16)
        modes = ("fp32", "autocast", "half-grad")
        _, uninterrupted = self.train(model, "fp32", "fp16", "--loss-scale", "none", steps=30)
        for mode in modes:
            checkpoint, _ = self.train(model, mode, "fp16", "--loss-scale", "none")
            for other in modes:
                with self.subTest(mode, other=other):
                    _, losses = self.train(model, other, "fp16", "--loss-scale", "none",
                                           "--resume", checkpoint, steps=30, name="resumed")
                    numpy.testing.assert_allclose(losses[-10:], uninterrupted[-10:], rtol=5e-3)
        message = self.train(model, "half", "fp16", "--loss-scale", "none", "--resume", checkpoint,
                             steps=21, name="resumed", code=1)
        self.assertRegex(message, r"tensor 'w1' is F32\[8, 6\] in it, F16\[8, 6\] in the model")
        self.assertRegex(message, "--weights")


if __name__ == "__main__":
    unittest.main()
