"""Norms through the programs: closed forms in 16 bits, and a block of a transformer."""

import json
import math
import pathlib
import tempfile
import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from support import halfstep, output

EPSILON = 1e-5  # of ONNX, where a node states none


def save(path, nodes, shape, weights, element=TensorProto.FLOAT, opset=23):
    """A model of input x [batch, ...] and output y, as a file."""
    graph = helper.make_graph(
        nodes, "norms", [helper.make_tensor_value_info("x", element, ["batch", *shape])],
        [helper.make_tensor_value_info("y", element, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                ir_version=10), path)
    return path


class NormTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_model(self, model, x, *options):
        data, out = self.folder / "x.npy", self.folder / "out"
        numpy.save(data, x)
        halfstep("run", model, "--batch", len(x), "--data", f"x={data}", "--out", out, *options)
        return numpy.load(out / "y.npy")

    def layer_norm(self, length, element, bias=0.0):
        kind = helper.tensor_dtype_to_np_dtype(element)
        return save(self.folder / "norm.onnx",
                    [helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"], "norm")],
                    [length], {"s": numpy.ones(length, kind), "b": numpy.full(length, bias, kind)},
                    element)

    def test_norm_of_300s_is_finite(self):
        """300 squared is no f16 number, and 64 of them have the norm 2400."""
        x = numpy.full((3, 64), 300, numpy.float16)
        for op, expected in (("ReduceL2", 2400), ("ReduceL1", 19200)):
            path = save(self.folder / "l2.onnx", [helper.make_node(op, ["x", "a"], ["y"], "norm")],
                        [64], {"a": numpy.array([1])}, TensorProto.FLOAT16)
            y = self.run_model(path, x, "--precision", "as-is")
            numpy.testing.assert_array_equal(y, numpy.float16(expected))
        path = save(self.folder / "rms.onnx",
                    [helper.make_node("RMSNormalization", ["x", "s"], ["y"], "norm")], [64],
                    {"s": numpy.full(64, 2, numpy.float16)}, TensorProto.FLOAT16)
        y = self.run_model(path, x, "--precision", "as-is")
        numpy.testing.assert_array_equal(y, numpy.float16(2))

    def test_a_square_is_f32_before_it_is_summed(self):
        """In autocast, where an ordinary product of two f16 numbers is one."""
        path = save(self.folder / "squares.onnx",
                    [helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
                     helper.make_node("ReduceSumSquare", ["h", "a"], ["y"], "squares")], [4],
                    {"w": numpy.eye(4, dtype=numpy.float32), "a": numpy.array([1])})
        y = self.run_model(path, numpy.full((2, 4), 300, numpy.float32), "--precision", "autocast")
        numpy.testing.assert_array_equal(y, numpy.float32(4 * 300 * 300))

    def test_a_constant_row_has_no_variance(self):
        """Whatever its length: a mean that is off by one rounding makes the variance as large as
        epsilon, and a wrong row."""
        for length in (1, 7, 100, 1000, 10007, 70001):
            for value in (65504, -300.25, 1 / 3):
                x = numpy.full((3, length), value, numpy.float16)
                y = self.run_model(self.layer_norm(length, TensorProto.FLOAT16, 0.5), x,
                                   "--precision", "as-is")
                numpy.testing.assert_array_equal(y, numpy.float16(0.5))

    def test_statistics_as_outputs_are_those_of_the_norm(self):
        """In f32, of f16 rows: a variance of 250,000, which is no f16 number, and none at all."""
        length = 10007  # a plain sum of so many 65504s, divided by it, is 65503.996
        x = numpy.stack([numpy.resize([500, -500], length), numpy.full(length, 65504)])
        path = save(self.folder / "statistics.onnx",
                    [helper.make_node("LayerNormalization", ["x", "s"], ["n", "m", "d"], "norm"),
                     helper.make_node("Concat", ["m", "d"], ["y"], "both", axis=1)], [length],
                    {"s": numpy.ones(length, numpy.float16)}, TensorProto.FLOAT16, opset=17)
        model = onnx.load(path)
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
        onnx.save(model, path)
        y = self.run_model(path, x.astype(numpy.float16), "--precision", "as-is")
        # A mean is as exact as the numbers that it is of.
        self.assertLess(abs(y[0, 0] - 500 / length), 500 * 2**-24)
        numpy.testing.assert_allclose(y[0, 1], 1 / 500, rtol=1e-6)
        numpy.testing.assert_allclose(y[1], [65504, EPSILON**-0.5], rtol=1e-6)

    def test_a_large_mean_does_not_drown_the_deviations(self):
        """1e4 and small steps that f32 holds: E[x^2] - E[x]^2 is off by 2 there."""
        steps = numpy.arange(1, 32) / 16
        symmetric = numpy.concatenate([1e4 + steps, 1e4 - steps]) # whose mean is exact
        random = 1e4 + numpy.random.default_rng(1).standard_normal(62)
        for row, bound in ((symmetric, 1e-6), (random, 1e-3)):
            x = numpy.stack([row, -row, 2 * row]).astype(numpy.float32)
            deviation = x - x.mean(axis=1, keepdims=True, dtype=numpy.float64)
            expected = deviation / numpy.sqrt((deviation**2).mean(axis=1, keepdims=True) + EPSILON)
            y = self.run_model(self.layer_norm(62, TensorProto.FLOAT), x)
            numpy.testing.assert_allclose(y, expected, rtol=0, atol=bound)

    def test_norms_between_products_keep_only_16_bits(self):
        """What lives between the passes, and anything else of the activations' size, is f16."""
        size, rows = 64, 512
        for norm in ("RMSNormalization", "LayerNormalization"):
            weights = {"w1": numpy.zeros((size, size), numpy.float32),
                       "w2": numpy.zeros((size, size), numpy.float32),
                       "s": numpy.ones(size, numpy.float32)}
            path = save(self.folder / "between.onnx",
                        [helper.make_node("MatMul", ["x", "w1"], ["h"], "first"),
                         helper.make_node(norm, ["h", "s"], ["n"], "norm"),
                         helper.make_node("MatMul", ["n", "w2"], ["y"], "second")], [size], weights)
            for mode in ("autocast", "half-grad"):
                plan = output("halfstep", "inspect", path, "--batch", rows, "--loss", "mse",
                              "--optimizer", "sgd", "--precision", mode, "--phase", "memory",
                              "--format", "json")
                types = [part["type"] for part in json.loads(plan)["slices"]
                         if part["name"].startswith("micro/")]
                self.assertIn(f"{rows}x{size}xf16", types)
                self.assertNotIn(f"{rows}x{size}xf32", types, (norm, mode))


class BlockTest(unittest.TestCase):
    """x + Linear(GELU(Linear(LayerNorm(x)))), trained on the squared error."""

    WIDTH, HIDDEN, SHAPE = 6, 10, (4, 3, 6)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        generator = numpy.random.default_rng(5)
        draw = lambda *shape: generator.standard_normal(shape) / 2
        self.weights = {"scale": 1 + draw(self.WIDTH), "shift": draw(self.WIDTH),
                        "w1": draw(self.WIDTH, self.HIDDEN), "b1": draw(self.HIDDEN),
                        "w2": draw(self.HIDDEN, self.WIDTH), "b2": draw(self.WIDTH)}
        self.x, self.label = draw(*self.SHAPE), draw(*self.SHAPE)

    def model(self, kind):
        nodes = [helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"], "norm"),
                 helper.make_node("MatMul", ["n", "w1"], ["m1"], "up"),
                 helper.make_node("Add", ["m1", "b1"], ["h"], "up/bias"),
                 helper.make_node("Gelu", ["h"], ["g"], "gelu"),
                 helper.make_node("MatMul", ["g", "w2"], ["m2"], "down"),
                 helper.make_node("Add", ["m2", "b2"], ["d"], "down/bias"),
                 helper.make_node("Add", ["x", "d"], ["y"], "residual")]
        return save(self.folder / f"block.{kind().dtype}.onnx", nodes, self.SHAPE[1:],
                    {name: value.astype(kind) for name, value in self.weights.items()},
                    helper.np_dtype_to_tensor_dtype(numpy.dtype(kind)), opset=20)

    def gradients(self, kind, *options):
        """What one step of SGD with lr 1 takes from the weights."""
        model, out = self.model(kind), self.folder / "out.onnx"
        for name, value in (("x", self.x), ("label", self.label)):
            numpy.save(self.folder / f"{name}.npy", value.astype(kind))
        checkpoint = self.folder / "block.safetensors"
        halfstep("train", model, "--batch", len(self.x), "--loss", "mse", "--optimizer", "sgd:lr=1",
                 "--steps", 1, "--no-shuffle", "--data", f"x={self.folder / 'x.npy'}", "--data",
                 f"label={self.folder / 'label.npy'}", "--save", checkpoint, "--force", *options)
        halfstep("export", model, "--weights", checkpoint, "-o", out)
        trained = {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
        return {name: self.weights[name] - trained[name] for name in self.weights}

    def loss(self, w):
        """In f64, from the definitions."""
        deviation = self.x - self.x.mean(axis=-1, keepdims=True)
        n = deviation / numpy.sqrt((deviation**2).mean(axis=-1, keepdims=True) + EPSILON)
        h = (n * w["scale"] + w["shift"]) @ w["w1"] + w["b1"]
        g = h * (1 + numpy.vectorize(math.erf)(h / math.sqrt(2))) / 2
        return ((self.x + g @ w["w2"] + w["b2"] - self.label)**2).mean()

    def finite_differences(self):
        step = 1e-5
        result = {}
        for name, value in self.weights.items():
            gradient = numpy.zeros_like(value)
            for index in numpy.ndindex(value.shape):
                moved = {name: value.copy() for name, value in self.weights.items()}
                moved[name][index] += step
                above = self.loss(moved)
                moved[name][index] -= 2 * step
                gradient[index] = (above - self.loss(moved)) / (2 * step)
            result[name] = gradient
        return result

    def test_forward_is_that_of_onnxruntime(self):
        model = self.model(numpy.float32)
        x = self.x.astype(numpy.float32)
        numpy.save(self.folder / "x.npy", x)
        halfstep("run", model, "--batch", len(x), "--data", f"x={self.folder / 'x.npy'}", "--out",
                 self.folder / "out")
        expected, = onnxruntime.InferenceSession(model).run(None, {"x": x})
        numpy.testing.assert_allclose(numpy.load(self.folder / "out" / "y.npy"), expected, rtol=0,
                                      atol=1e-6 * numpy.abs(expected).max())

    def test_gradients_are_those_of_finite_differences(self):
        expected = self.finite_differences()
        cases = [(numpy.float64, 1e-7, ["--precision", "as-is"]),
                 (numpy.float32, 1e-5, ["--precision", "fp32"])]
        for mode in ("autocast", "half-grad"):
            for half_type, bound in (("fp16", 4e-3), ("bf16", 3e-2)):
                cases.append((numpy.float32, bound, ["--precision", mode, "--half-type", half_type,
                                                     "--loss-scale", "1024"]))
        for kind, bound, options in cases:
            with self.subTest(options):
                for name, gradient in self.gradients(kind, *options).items():
                    scale = numpy.abs(expected[name]).max()
                    numpy.testing.assert_allclose(gradient, expected[name], rtol=0,
                                                  atol=bound * scale, err_msg=name)


if __name__ == "__main__":
    unittest.main()
