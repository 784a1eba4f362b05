"""Overflow that data cause, in whole training runs: what a skip leaves alone, which node is named.

The network is y = mean(relu(x W^T) V^T): f16 ends at 65504, so the size of a sample alone decides
whether the forward pass, the backward pass or nothing overflows.
"""

import pathlib
import struct
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import halfstep, logged, run, tensors


def philox(counter, key):
    """The first word of Philox4x32-10 (Salmon et al., SC 2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [second >> 32 ^ c[1] ^ k[0], second & 0xFFFFFFFF, first >> 32 ^ c[3] ^ k[1],
             first & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


class OverflowTest(unittest.TestCase):
    MODES = [(mode, accumulate) for mode in ("autocast", "half-grad") for accumulate in (1, 2)]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log.jsonl"

    def network(self, first, second):
        """W = first [4, 4] and V = second [1, 4], each of one number."""
        weights = [numpy_helper.from_array(numpy.full(shape, value, numpy.float32), name)
                   for name, shape, value in (("W", (4, 4), first), ("V", (1, 4), second))]
        nodes = [helper.make_node("Gemm", ["x", "W"], ["h"], "first", transB=1),
                 helper.make_node("Relu", ["h"], ["r"], "relu"),
                 helper.make_node("Gemm", ["r", "V"], ["y"], "second", transB=1)]
        graph = helper.make_graph(
            nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])], weights)
        path = self.folder / "network.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        return path

    def compiled(self, model, mode, accumulate, *options):
        """A training executable of batch 4; Adam has slots, the schedule counts applied updates."""
        program = self.folder / "network"
        halfstep("compile", model, "--batch", 4, "--accumulate", accumulate, "--loss", "mean",
                 "--optimizer", "adam:lr=0.001", "--schedule", "cosine:t_max=4",
                 "--precision", mode, "-o", program, *options)
        return program

    def train(self, program, batches, *options, code=0):
        """Trains one step for each of `batches`: all values of its samples."""
        data = self.folder / "x.npy"
        numpy.save(data, numpy.repeat(numpy.float32(batches), 4 * 4).reshape(-1, 4))
        steps = [] if "--steps" in options else ["--steps", len(batches)]
        return run(program, "--data", f"x={data}", "--no-shuffle", "--log", self.log, *steps,
                   *options, code=code)

    def test_a_skipped_step_changes_the_scale_and_nothing_else(self):
        """At scale 2048 the gradient of W for the one batch of 100s is 2048 * 100 (half of it in
        each of two micro-batches), which is no f16 number; its forward pass is finite. The next
        batch is trained on as if nothing had been."""
        for mode, accumulate in self.MODES:
            with self.subTest(mode=mode, accumulate=accumulate):
                program = self.compiled(self.network(0.025, 1), mode, accumulate,
                                        "--loss-scale", "dynamic:init_scale=2048")
                before, after, whole = (self.folder / f"{name}.safetensors"
                                        for name in ("before", "after", "whole"))
                self.train(program, [1, 100], "--steps", 1, "--save", before, "--force")
                self.train(program, [1, 100], "--save", after, "--force")
                self.assertEqual(logged(self.log, "skipped"), [False, True])
                self.assertEqual(logged(self.log, "scale"), [2048, 2048])
                old, new = tensors(before), tensors(after)
                changed = {name for name in old if old[name] != new[name]}
                changed.discard("halfstep/running_loss")  # is that of the batch
                self.assertEqual(changed,
                                 {"halfstep/iteration", "halfstep/growth", "halfstep/scale"})
                self.assertLessEqual({"W", "halfstep/exp_avg/W", "halfstep/applied"}, set(old))
                self.assertEqual(struct.unpack("<d", new["halfstep/scale"]), (1024,))

                # The data move on: the third batch is the one that follows.
                self.train(program, [1, 100, 2], "--save", whole, "--force")
                self.assertEqual(logged(self.log, "scale"), [2048, 2048, 1024])
                rates = logged(self.log, "lr")
                self.assertTrue(rates[0] > rates[1] == rates[2], rates)
                self.train(program, [1, 2], "--save", before, "--force")
                self.assertEqual(tensors(whole)["W"], tensors(before)["W"])

    def test_a_forward_overflow_names_its_node(self):
        """300 * 4 * 100 is no f16 number."""
        for mode, accumulate in self.MODES:
            with self.subTest(mode=mode, accumulate=accumulate):
                program = self.compiled(self.network(100, 1), mode, accumulate,
                                        "--loss-scale", "dynamic:init_scale=16")
                message = self.train(program, [1] + [300] * 25, code=3)
                self.assertRegex(
                    message, r"error: step 21: 20 updates in a row were skipped\n"
                             r"  the forward pass breaks down at first.*: \d+ of \d+ values in F16 "
                             r"are not finite, of finite operands up to 300 .*\n"
                             r"  no loss scale can help\n"
                             r"help: keep the node in f32 \(--pin '.*=fp32'\), train in bf16")
                self.assertEqual(len(logged(self.log, "loss")), 21)

    def test_a_replay_drops_what_the_step_dropped(self):
        """Each element of a sample has a node of its own behind the dropout, and overflows there:
        where the mask keeps one element alone, its node is named. It is that of the second
        micro-batch of the second step."""
        size = 4
        weights = [numpy_helper.from_array(numpy.full((1, 1), 30000, numpy.float32), f"w{i}")
                   for i in range(size)]
        constants = [numpy_helper.from_array(numpy.array(value), name) for name, value in (
            ("ratio", numpy.float32(0.5)), ("training", True))]
        parts = [f"d{i}" for i in range(size)]
        nodes = [helper.make_node("Dropout", ["x", "ratio", "training"], ["d"], "drop"),
                 helper.make_node("Split", ["d"], parts, "split", axis=1, num_outputs=size),
                 *(helper.make_node("MatMul", [f"d{i}", f"w{i}"], [f"y{i}"], f"path{i}")
                   for i in range(size)),
                 helper.make_node("Sum", [f"y{i}" for i in range(size)], ["y"], "sum")]
        graph = helper.make_graph(
            nodes, "paths",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", size])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1])],
            weights + constants)
        model, program, data = (self.folder / name for name in ("m.onnx", "paths", "x.npy"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                    ir_version=8), model)
        halfstep("compile", model, "--batch", 2, "--accumulate", 2, "--loss", "mean", "--optimizer",
                 "sgd", "--precision", "half-grad", "--loss-scale", "dynamic:max_skips=1", "-o",
                 program)
        numpy.save(data, numpy.float32([[0] * size] * 3 + [[2] * size]))
        named = set()
        for seed in range(32):
            kept = [i for i in range(size) if philox((i, 1, 1, 0), (seed, 0)) < 2**31]
            if len(kept) != 1:
                continue
            message = run(program, "--data", f"x={data}", "--no-shuffle", "--steps", 2, "--seed",
                          seed, code=3)
            self.assertRegex(message, rf"step 2: the update was skipped\n"
                                      rf"  the forward pass breaks down at path{kept[0]}\b")
            named.add(kept[0])
        self.assertGreater(len(named), 2)

    def test_pinning_the_named_nodes_helps(self):
        options = "half-grad", 1, "--loss-scale", "1"
        program = self.compiled(self.network(100, 1), *options, "--pin", "first|relu=fp32")
        message = self.train(program, [300] * 20, code=3)
        self.assertRegex(message, r"the forward pass breaks down at .*second")
        program = self.compiled(self.network(100, 1), *options, "--pin", "first|relu|second=fp32")
        self.train(program, [300] * 3)
        self.assertEqual(logged(self.log, "skipped"), [False] * 3)

    def test_a_backward_overflow_is_recovered_within_the_backoffs(self):
        """The gradient of W is 100 * scale, which fits from 512 down; each of two micro-batches has
        half of it, and their sum is f32."""
        for mode, accumulate in self.MODES:
            with self.subTest(mode=mode, accumulate=accumulate):
                program = self.compiled(self.network(0.025, 1), mode, accumulate,
                                        "--loss-scale", "dynamic:init_scale=16384")
                self.train(program, [100] * 8)
                skips = 5 if accumulate == 1 else 4
                self.assertEqual(logged(self.log, "scale"),
                                 [16384 / 2**min(i, skips) for i in range(8)])
                self.assertEqual(logged(self.log, "skipped"),
                                 [True] * skips + [False] * (8 - skips))

    def test_a_backward_overflow_that_stays_names_node_and_scale(self):
        program = self.compiled(self.network(0.025, 1), "half-grad", 1, "--loss-scale",
                                "dynamic:init_scale=16384")
        message = self.train(program, [100] * 8, "--set", "max_skips=3", code=3)
        self.assertRegex(message, r"error: step 3: 3 updates in a row were skipped\n"
                                  r"  gradients overflow at a loss scale of 4096 too\n"
                                  r"  the backward pass breaks down at .*first.*: .* in F16 are "
                                  r"not finite, of finite operands up to \d+ .*\n"
                                  r"help: begin with a smaller scale")

    def test_detect_anomaly_stops_at_the_first_value(self):
        program = self.compiled(self.network(100, 1), "half-grad", 2, "--loss-scale",
                                "dynamic:init_scale=16")
        message = self.train(program, [1, 300], "--detect-anomaly", code=3)
        self.assertRegex(message, r"error: step 2: a value is not finite\n"
                                  r"  the forward pass breaks down at first")
        message = self.train(program, [1, numpy.inf], "--detect-anomaly", code=3)
        self.assertRegex(message, r"error: step 2: .*\n  input x is not finite as the step reads "
                                  r"it: 8 of 8 values in F16")
        self.assertIn("help: look at the data", message)

    def test_detect_anomaly_warns_of_gradients_that_only_skip(self):
        program = self.compiled(self.network(0.025, 1), "half-grad", 2, "--loss-scale",
                                "dynamic:init_scale=2048")
        message = self.train(program, [100, 1, 100], "--detect-anomaly")
        self.assertEqual(message.count("halfstep: warning: "), 1)
        self.assertRegex(message, r"warning: step 1: the update is skipped: the backward pass "
                                  r"breaks down at .*first")
        # A scale that stays as it is never gets over it.
        program = self.compiled(self.network(0.025, 1), "half-grad", 1, "--loss-scale", "1024")
        message = self.train(program, [1, 100], "--detect-anomaly", code=3)
        self.assertRegex(message, r"error: step 2: a value is not finite\n  the backward pass")

    def test_detect_anomaly_changes_no_bit(self):
        program = self.compiled(self.network(0.025, 1), "half-grad", 2, "--loss-scale", "16")
        checked, unchecked = self.folder / "checked", self.folder / "unchecked"
        self.train(program, [1, 2, 3], "--save", unchecked)
        message = self.train(program, [1, 2, 3], "--save", checked, "--detect-anomaly")
        self.assertNotIn("warning", message)
        self.assertEqual(checked.read_bytes(), unchecked.read_bytes())

    def test_in_fp32_too(self):
        """The product overflows f32 in the forward pass; then a learning rate in the update."""
        program = self.compiled(self.network(1e10, 1), "fp32", 1)
        message = self.train(program, [1, 1e30], code=3)
        self.assertRegex(message,
                         r"error: the loss of step 2 is infinite\n(.*\n)*.*--detect-anomaly")
        message = self.train(program, [1, 1e30], "--detect-anomaly", code=3)
        self.assertRegex(message, r"breaks down at first.* in F32 are not finite.*\n"
                                  r"help: lower the learning rate")
        program = self.compiled(self.network(0.025, 1), "fp32", 1)
        message = self.train(program, [1], "--detect-anomaly", "--set", "lr=3e38", code=3)
        self.assertRegex(message, r"the update breaks down at")


if __name__ == "__main__":
    unittest.main()
