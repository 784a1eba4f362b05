"""Parts of tensors through the programs: values as ONNX's reference has them, gradients in f64 as
finite differences do."""

import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from support import halfstep


class PartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.draw = numpy.random.default_rng(11).standard_normal

    def check(self, nodes, x, weights, structure, forward):
        """The model of `nodes` gives what `forward(weights)` does, which is what ONNX's reference
        gives, and its gradients are those of `forward`."""
        graph = helper.make_graph(
            nodes, "parts",
            [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch", *x.shape[1:]])],
            [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
            [numpy_helper.from_array(numpy.asarray(value), name)
             for name, value in {**weights, **structure}.items()])
        model, data, label, trained = (self.folder / name for name in (
            "model.onnx", "x.npy", "label.npy", "trained.onnx"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)],
                                    ir_version=9), model)
        y = forward(weights)
        reference, = ReferenceEvaluator(str(model)).run(None, {"x": x})
        numpy.testing.assert_allclose(y, reference, rtol=1e-14, atol=1e-14)
        target = self.draw(y.shape)
        numpy.save(data, x)
        numpy.save(label, target)

        common = ["--batch", len(x), "--precision", "as-is", "--data", f"x={data}"]
        halfstep("run", model, *common, "--out", self.folder / "out")
        numpy.testing.assert_allclose(numpy.load(self.folder / "out" / "y.npy"), y, rtol=1e-14,
                                      atol=1e-14)

        checkpoint = self.folder / "checkpoint.safetensors"
        halfstep("train", model, *common, "--data", f"label={label}", "--loss", "mse",
                 "--optimizer", "sgd:lr=1", "--steps", 1, "--save", checkpoint)
        halfstep("export", model, "--weights", checkpoint, "-o", trained)
        after = {t.name: numpy_helper.to_array(t) for t in onnx.load(trained).graph.initializer}
        loss = lambda weights: ((forward(weights) - target)**2).mean()
        step = 1e-6
        for name, value in weights.items():
            for index in numpy.ndindex(value.shape):
                above, below = ({**weights, name: value.copy()} for _ in range(2))
                above[name][index] += step
                below[name][index] -= step
                expected = (loss(above) - loss(below)) / (2 * step)
                self.assertAlmostEqual(value[index] - after[name][index], expected, delta=1e-8,
                                       msg=(name, index))

    def test_a_split_that_leaves_nothing_for_the_last(self):
        """2, 2, 2 and 0 of six; and a slice from 3 to 3."""
        x, w = self.draw((4, 5)), self.draw((5, 6))
        self.check([helper.make_node("MatMul", ["x", "w"], ["h"]),
                    helper.make_node("Split", ["h"], ["a", "b", "c", "e"], axis=1, num_outputs=4),
                    helper.make_node("Slice", ["h", "three", "three", "one"], ["n"]),
                    helper.make_node("Mul", ["a", "b"], ["p"]),
                    helper.make_node("Concat", ["e", "c", "p", "n", "a"], ["y"], axis=1)],
                   x, {"w": w}, {"three": [3], "one": [1]},
                   lambda weights: numpy.concatenate(
                       [(h := x @ weights["w"])[:, 4:], h[:, :2] * h[:, 2:4], h[:, :2]], axis=1))

    def test_wrapping_beyond_a_period(self):
        """Rows of three by more than two periods, columns of two by exactly one."""
        x, w = self.draw((4, 5)), self.draw((5, 6))
        pads = [0, 7, 2, 0, 4, 2]
        self.check([helper.make_node("MatMul", ["x", "w"], ["m"]),
                    helper.make_node("Reshape", ["m", "shape"], ["h"]),
                    helper.make_node("Pad", ["h", "pads"], ["y"], mode="wrap")],
                   x, {"w": w}, {"shape": [0, 3, 2], "pads": pads},
                   lambda weights: numpy.pad((x @ weights["w"]).reshape(4, 3, 2),
                                             [(0, 0), (7, 4), (2, 2)], mode="wrap"))

    def test_a_shuffled_block_under_a_maximum(self):
        """Half of the channels turned round, half convolved, then the maximum of windows. Its
        gradient jumps where two numbers under a window change places, which a step of 1e-2 does
        and one of 1e-6 does not."""
        x, w, v = self.draw((4, 3, 6, 6)), self.draw((4, 3, 1, 1)) / 2, self.draw((2, 1, 3, 3)) / 2

        def forward(weights):
            a = numpy.einsum("oi,bihw->bohw", weights["w"][:, :, 0, 0], x)
            padded = numpy.pad(a[:, 2:], [(0, 0), (0, 0), (1, 1), (1, 1)])
            right = sum(weights["v"][None, :, 0, i, j, None, None] * padded[:, :, i:i + 6, j:j + 6]
                        for i in range(3) for j in range(3))
            q = numpy.pad(numpy.concatenate([a[:, 1::-1, ::-1], right], axis=1),
                          [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-numpy.inf)
            return numpy.max([q[:, :, i:i + 6:2, j:j + 6:2] for i in range(3) for j in range(3)],
                             axis=0)

        self.check([helper.make_node("Conv", ["x", "w"], ["a"]),
                    helper.make_node("Split", ["a"], ["l", "r"], axis=1, num_outputs=2),
                    helper.make_node("Conv", ["r", "v"], ["right"], group=2, pads=[1, 1, 1, 1]),
                    helper.make_node("Slice", ["l", "last", "end", "axes", "back"], ["left"]),
                    helper.make_node("Concat", ["left", "right"], ["q"], axis=1),
                    helper.make_node("MaxPool", ["q"], ["y"], kernel_shape=[3, 3], strides=[2, 2],
                                     pads=[1, 1, 1, 1])],
                   x, {"w": w, "v": v},
                   {"last": [-1, -1], "end": [-99, -99], "axes": [1, 2], "back": [-1, -1]}, forward)


if __name__ == "__main__":
    unittest.main()
