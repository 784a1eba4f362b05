"""The precision modes against PyTorch's recorded runs and against closed forms."""

import json
import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

from support import Program, halfstep, logged, output, run

# The bounds of a whole trajectory: 16-bit kernels differ from PyTorch's in the order of their sums.
BOUNDS = {"fp16": 5e-3, "bf16": 2e-2}


def tensors(path):
    """The f32 and f64 tensors of a checkpoint by name."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__")
    types = {"F32": "<f4", "F64": "<f8"}
    return {name: numpy.frombuffer(content[8 + length:], types[entry["dtype"]],
                                   count=(entry["data_offsets"][1] - entry["data_offsets"][0]) //
                                   numpy.dtype(types[entry["dtype"]]).itemsize,
                                   offset=entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in header.items()}


class HalfPrecisionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, program, mode, half_type, *options):
        log = self.folder / "log.jsonl"
        halfstep("train", program.model, *program.recipe(), "--precision", mode, "--half-type",
                 half_type, "--no-shuffle", "--steps", program.steps, *program.data(), "--log", log,
                 *options)
        return log

    def test_losses_scales_and_skips_are_those_of_pytorch(self):
        for name in ("linear8", "mlp10", "digits_mlp", "keknet", "digits_cnn_plain"):
            program = Program(name, self.folder)
            for mode in ("autocast", "half-grad"):
                for half_type, bound in BOUNDS.items():
                    with self.subTest(name, mode=mode, half_type=half_type):
                        key = f"{mode.replace('-', '_')}_{half_type}"
                        expected = {field: values[:program.steps] for field, values in
                                    program.record["modes"][key].items()}
                        log = self.train(program, mode, half_type, *program.scale())
                        numpy.testing.assert_allclose(logged(log, "loss"), expected["loss"],
                                                      rtol=bound, atol=0)
                        self.assertEqual(logged(log, "scale"), expected["scale"])
                        self.assertEqual(logged(log, "skipped"), expected["skipped"])
                        numpy.testing.assert_allclose(logged(log, "lr"), expected["lr"], rtol=1e-12)

    def test_half_stays_near_fp32_where_pytorch_does_not(self):
        """With Adam's eps of 1e-8, zero in f16, PyTorch's .half() ends in NaN on the digits; with
        RMSprop's of 1e-7 it ends at 1.758 on keknet, 36 % away."""
        for name, bound in (("digits_mlp", 0.05), ("digits_cnn_plain", 0.05), ("keknet", 0.01)):
            program = Program(name, self.folder)
            final = program.losses[-1]
            for half_type in BOUNDS:
                with self.subTest(name, half_type=half_type):
                    log = self.train(program, "half", half_type, *program.scale())
                    self.assertLess(abs(logged(log, "loss")[-1] / final - 1), bound)

    def linear(self, weight, bias, features):
        """y = x W^T + b as an ONNX file."""
        path = self.folder / "linear.onnx"
        initializers = [helper.make_tensor(name, TensorProto.FLOAT, value.shape, value.flatten())
                        for name, value in (("w", weight), ("b", bias))]
        graph = helper.make_graph(
            [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "linear", transB=1)], "linear",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", features])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", len(bias)])],
            initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, path)
        return path

    def graph(self, nodes, opset, weight, *others, features=1):
        """An ONNX file of nodes from x [batch, features] and w to y [batch, 1]."""
        path = self.folder / "graph.onnx"
        graph = helper.make_graph(
            nodes, "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", features])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])],
            [onnx.numpy_helper.from_array(weight, "w"), *others])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                    ir_version=8), path)
        return path

    def step(self, model, x, mode, *options, code=0):
        """One step of SGD with lr 1 on the mean of the output; returns the checkpoint's weights."""
        data, checkpoint = self.folder / "x.npy", self.folder / f"{mode}.safetensors"
        numpy.save(data, x)
        log = self.folder / "log.jsonl"
        message = halfstep("train", model, "--batch", len(x), "--loss", "mean", "--optimizer",
                           "sgd:lr=1", "--precision", mode, "--steps", 1, "--data", f"x={data}",
                           "--save", checkpoint, "--log", log, "--force", *options, code=code)
        if code:
            return message
        halfstep("export", model, "--weights", checkpoint, "-o", self.folder / "out.onnx")
        trained = onnx.load(self.folder / "out.onnx")
        weights = {t.name: onnx.numpy_helper.to_array(t) for t in trained.graph.initializer}
        return weights, logged(log, "loss")[0]

    def test_half_grad_rounds_the_gradient_to_16_bits(self):
        """x = 1 [3, 10] through Linear(10, 5) of zeros: dW = 3 * f16(1024 / 15) = 204.75 at scale
        1024, which is 0.199951171875; in f32 it is 0.2."""
        model = self.linear(numpy.zeros((5, 10), numpy.float32), numpy.zeros(5, numpy.float32), 10)
        x = numpy.ones((3, 10), numpy.float32)
        weights, _ = self.step(model, x, "half-grad", "--loss-scale", "1024")
        numpy.testing.assert_array_equal(weights["w"], numpy.float32(-0.199951171875))
        weights, _ = self.step(model, x, "fp32")
        numpy.testing.assert_allclose(weights["w"], -0.2, rtol=1e-7)

    def test_outputs_have_the_type_of_the_file(self):
        """Computed in 16 bits, they are written in f32, whole batches and the rest."""
        weight = numpy.arange(10_000, dtype=numpy.float32).reshape(-1, 1) % 256
        model = self.linear(weight, numpy.zeros(len(weight), numpy.float32), 1)
        data, x = self.folder / "x.npy", numpy.array([[1], [-2], [4]], numpy.float32)
        numpy.save(data, x)
        for mode in ("fp32", "autocast", "half-grad", "half"):
            for half_type in BOUNDS:
                with self.subTest(mode, half_type=half_type):
                    halfstep("run", model, "--batch", 2, "--precision", mode, "--half-type",
                             half_type, "--data", f"x={data}", "--out", self.folder)
                    y = numpy.load(self.folder / "y.npy")
                    self.assertEqual(y.dtype, numpy.float32)
                    numpy.testing.assert_array_equal(y, x @ weight.T)

    def test_the_smallest_gradient_at_the_largest_scale_moves_the_master(self):
        """65,536 rows, one of which is 2^-24: at scale 65536 the f16 gradient is 2^-24, its
        smallest number, and the update 2^-40."""
        model = self.graph([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], 17,
                           numpy.zeros((1, 1), numpy.float32))
        x = numpy.zeros((65536, 1), numpy.float32)
        x[0] = 2**-24
        weights, _ = self.step(model, x, "half-grad", "--loss-scale", "65536")
        self.assertEqual(weights["w"], numpy.float32(-(2**-40)))

    def test_half_grad_is_autocast_bit_for_bit(self):
        """Where low ops alone read the parameters, none twice, and nothing accumulates."""
        for name in ("mlp10", "digits_mlp", "digits_cnn_plain"):
            program = Program(name, self.folder)
            for half_type in BOUNDS:
                with self.subTest(name, half_type=half_type):
                    losses = [logged(self.train(program, mode, half_type), "loss")
                              for mode in ("autocast", "half-grad")]
                    self.assertEqual(*losses)

    def test_gradients_are_16_bits_wide_where_the_mode_says_so(self):
        program = Program("digits_mlp", self.folder)
        for mode, type in (("fp32", "f32"), ("autocast", "f32"), ("half-grad", "f16"),
                           ("half", "f16")):
            with self.subTest(mode):
                plan = json.loads(output("halfstep", "inspect", program.model, *program.recipe(),
                                         "--precision", mode, "--phase", "memory", "--format",
                                         "json"))
                types = {s["type"].split("x")[-1] for s in plan["slices"]
                         if s["class"] == "gradients"}
                self.assertEqual(types, {type})

    def test_squares_do_not_overflow_before_they_are_summed(self):
        """ReduceSumSquare of four products of 300: 360,000, whose parts are no f16 numbers."""
        model = self.graph(
            [helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
             helper.make_node("ReduceSumSquare", ["h"], ["y"], "squares", axes=[1])], 12,
            numpy.full((1, 4), 300, numpy.float32))
        for mode in ("autocast", "half-grad"):
            with self.subTest(mode):
                weights, loss = self.step(model, numpy.ones((1, 1), numpy.float32), mode,
                                          "--loss-scale", "none")
                self.assertEqual(loss, 360000)
                numpy.testing.assert_array_equal(weights["w"], numpy.full((1, 4), -300.0))

    def test_a_pinned_node_computes_what_16_bits_do_not_hold(self):
        """40,000 + 40,000, and a product of 121,445 elements: f16 has no such numbers."""
        add = [helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
               helper.make_node("Mul", ["h", "w"], ["g"], "scaled"),
               helper.make_node("Add", ["h", "g"], ["y"], "sum")]
        model = self.graph(add, 17, numpy.ones((1, 1), numpy.float32))
        x = numpy.full((1, 1), 40000, numpy.float32)
        message = self.step(model, x, "autocast", "--pin", "scaled=fp16", "--pin", "sum=fp16",
                            "--loss-scale", "none", code=3)
        self.assertRegex(message, "loss")
        self.assertEqual(self.step(model, x, "autocast", "--pin", "sum=fp32", "--loss-scale",
                                   "none")[1], 80000)
        matmul = [helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
        model = self.graph(matmul, 17, numpy.full((121445, 1), 2, numpy.float32), features=121445)
        x = numpy.full((1, 121445), 2, numpy.float32)
        self.step(model, x, "half-grad", "--loss-scale", "none", code=3)
        self.assertEqual(self.step(model, x, "half-grad", "--pin", "product=fp32", "--loss-scale",
                                   "none")[1], 485780)

    def test_a_norm_of_parts_holds_large_rows(self):
        """Layer normalisation as older exporters spell it, of rows whose variance of 10^6 is no f16
        number: the powers and their mean are f32."""
        constant = lambda name, number: helper.make_node(
            "Constant", [], [name], name, value=onnx.numpy_helper.from_array(numpy.float32(number)))
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
                 helper.make_node("ReduceMean", ["h"], ["mean"], "mean", axes=[1]),
                 helper.make_node("Sub", ["h", "mean"], ["d"], "centred"),
                 constant("two", 2), helper.make_node("Pow", ["d", "two"], ["square"], "square"),
                 helper.make_node("ReduceMean", ["square"], ["variance"], "variance", axes=[1]),
                 constant("eps", 1e-12),
                 helper.make_node("Add", ["variance", "eps"], ["v"], "eps_"),
                 helper.make_node("Sqrt", ["v"], ["deviation"], "deviation"),
                 helper.make_node("Div", ["d", "deviation"], ["n"], "normalised"),
                 helper.make_node("ReduceMax", ["n"], ["y"], "top", axes=[1])]
        model = self.graph(nodes, 17, numpy.array([[1000, -1000]], numpy.float32))
        for mode in ("autocast", "half-grad"):
            with self.subTest(mode):
                weights, loss = self.step(model, numpy.ones((1, 1), numpy.float32), mode,
                                          "--loss-scale", "none")
                self.assertEqual(loss, 1)
                self.assertTrue(numpy.isfinite(weights["w"]).all())

    def test_masks_beyond_f16_mask(self):
        """Where(mask, x, -1e9) in front of a softmax: what is masked has probability 0, and where
        all is masked nothing becomes NaN."""
        fill = onnx.numpy_helper.from_array(numpy.float32(-1e9))
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "product"),
                 helper.make_node("Constant", [], ["fill"], "fill", value=fill),
                 helper.make_node("Where", ["mask", "h", "fill"], ["m"], "where"),
                 helper.make_node("Softmax", ["m"], ["p"], "softmax", axis=-1),
                 helper.make_node("ReduceMax", ["p"], ["y"], "top", axes=[1])]
        for mask, top in (([True, False, False, False], 1), ([False] * 4, 0.25)):
            model = self.graph(nodes, 17, numpy.ones((1, 4), numpy.float32),
                               onnx.numpy_helper.from_array(numpy.array([mask]), "mask"))
            for mode in ("autocast", "half-grad", "half"):
                with self.subTest(mode, mask=mask):
                    weights, loss = self.step(model, numpy.ones((2, 1), numpy.float32), mode,
                                              "--loss-scale", "none")
                    self.assertEqual(loss, top)
                    numpy.testing.assert_array_equal(weights["w"], numpy.ones((1, 4)))

    def test_a_resumed_scale_is_the_uninterrupted_one(self):
        program, command = Program("mlp10", self.folder), self.folder / "train"
        halfstep("compile", program.model, *program.recipe(), "--precision", "half-grad",
                 "--loss-scale", "dynamic:growth_interval=7,init_scale=1024", "-o", command)
        whole, part = self.folder / "whole.safetensors", self.folder / "part.safetensors"
        log = self.folder / "log.jsonl"
        run(command, *program.data(), "--steps", 40, "--save", whole, "--log", log)
        self.assertGreater(logged(log, "scale")[-1], 1024)
        run(command, *program.data(), "--steps", 20, "--save", part)
        run(command, *program.data(), "--steps", 40, "--resume", part, "--save", part)
        self.assertEqual(whole.read_bytes(), part.read_bytes())

    def test_a_run_goes_on_in_another_mode(self):
        """From fp32 to fp16 the loss scale begins at its initial value, and back it is left out;
        weights, slots and counters go on. Adam's first steps from slots of zero are of lr for every
        weight, far from those that follow sixty others."""
        program = Program("mlp10", self.folder)
        start, whole, on = (self.folder / f"{name}.safetensors"
                            for name in ("start", "whole", "on"))
        log = self.folder / "log.jsonl"
        common = ["train", program.model, "--batch", 16, "--loss", "mse", "--optimizer", "adam",
                  *program.data(), "--no-shuffle", "--force", "--log", log]
        narrow = ["--precision", "half-grad", "--loss-scale", "dynamic:init_scale=1024"]
        for before, after, scale in (([], narrow, 1024), (narrow, [], 1)):
            with self.subTest(before=before, after=after):
                halfstep(*common, *before, "--steps", 62, "--save", whole)
                expected = logged(log, "loss")[-2:]
                halfstep(*common, *before, "--steps", 60, "--save", start)
                halfstep(*common, *after, "--steps", 62, "--resume", start, "--save", on)
                self.assertEqual(logged(log, "scale")[-2:], [scale, scale])
                self.assertEqual(logged(log, "step")[-2:], [61, 62])
                numpy.testing.assert_allclose(logged(log, "loss")[-2:], expected, rtol=1e-3)
                one, other = tensors(whole), tensors(on)
                self.assertEqual(other["halfstep/applied"], 62)
                self.assertEqual("halfstep/scale" in other, after == narrow)
                for name, value in one.items():
                    if name.startswith("halfstep/exp_avg/"):
                        numpy.testing.assert_allclose(other[name], value, rtol=0,
                                                      atol=5e-3 * numpy.abs(value).max())

    def test_overflow_of_the_forward_pass_stops_the_run(self):
        """1e5 is no f16 number: scaling the loss cannot help, and the run says so."""
        model = self.linear(numpy.ones((1, 1), numpy.float32), numpy.zeros(1, numpy.float32), 1)
        data = self.folder / "x.npy"
        numpy.save(data, numpy.full((2, 1), 1e5, numpy.float32))
        message = halfstep("train", model, "--batch", 2, "--loss", "mean", "--optimizer", "sgd",
                           "--precision", "autocast", "--steps", 100, "--data", f"x={data}", code=3)
        self.assertRegex(
            message, r"step 20: 20 updates in a row were skipped\n"
                     r"  input x is not finite as the step reads it: 2 of 2 values in F16\n"
                     r"  no loss scale can help\nhelp: look at the data: F16 ends at 65504")

    def test_overflow_of_the_backward_pass_is_recovered(self):
        """The adjoint of the output is the scale, no f16 number until it has been halved."""
        model = self.linear(numpy.ones((1, 1), numpy.float32), numpy.zeros(1, numpy.float32), 1)
        data, log = self.folder / "x.npy", self.folder / "log.jsonl"
        numpy.save(data, numpy.ones((1, 1), numpy.float32))
        options = ["--batch", 1, "--loss", "mean", "--optimizer", "sgd:lr=0.5", "--precision",
                   "half-grad", "--data", f"x={data}", "--log", log]
        halfstep("train", model, "--steps", 6, "--loss-scale", "dynamic:init_scale=262144",
                 *options)
        self.assertEqual(logged(log, "skipped"), [True, True, True, False, False, False])
        self.assertEqual(logged(log, "scale"), [262144, 131072, 65536, 32768, 32768, 32768])
        self.assertEqual(logged(log, "loss"), [1, 1, 1, 1, 0, -1])
        message = halfstep("train", model, "--steps", 6, "--loss-scale",
                           "dynamic:init_scale=262144,max_skips=2", *options, code=3)
        self.assertRegex(message, "gradients overflow at a loss scale of 131072 too")

    def test_operands_of_low_ops_are_16_bits_wide(self):
        """1 + 2^-12 is 1 in f16: a product in 16 bits sees no difference, one in f32 does."""
        weight = numpy.full((1, 1), 1 + 2**-12, numpy.float32)
        model = self.linear(weight, numpy.zeros(1, numpy.float32), 1)
        x = numpy.ones((1, 1), numpy.float32)
        for mode, expected in (("fp32", 1 + 2**-12), ("autocast", 1), ("half-grad", 1),
                               ("half", 1)):
            with self.subTest(mode):
                options = [] if mode == "fp32" else ["--loss-scale", "none"]
                self.assertEqual(self.step(model, x, mode, *options)[1], expected)


if __name__ == "__main__":
    unittest.main()
