"""How data reaches a step: types that inputs are staged in, and slots that are filled ahead."""

import json
import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

from support import halfstep, logged, output

SAMPLES, BATCH, FEATURES, OUTPUTS = 1280, 256, 400, 3  # a batch is long enough for a thread


class InputsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        generator = numpy.random.default_rng(1)
        cls.x = generator.standard_normal((SAMPLES, FEATURES), dtype=numpy.float32)
        cls.label = generator.standard_normal((SAMPLES, OUTPUTS), dtype=numpy.float32)
        cls.classes = generator.integers(0, OUTPUTS, SAMPLES)
        weight = generator.standard_normal((OUTPUTS, FEATURES), dtype=numpy.float32) / 20
        cls.model = cls.folder / "linear.onnx"
        graph = helper.make_graph(
            [helper.make_node("Gemm", ["x", "w"], ["y"], "linear", transB=1)], "linear",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", OUTPUTS])],
            [helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.flatten())])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), cls.model)

    def data(self, x=None, label=None):
        arguments = []
        for name, array, given in (("x", self.x, x), ("label", self.label, label)):
            path = self.folder / f"{name}.npy"
            numpy.save(path, array if given is None else given)
            arguments += ["--data", f"{name}={path}"]
        return arguments

    def train(self, data, *options, loss="mse", code=0):
        """Returns losses, checkpoint and message of a run."""
        log, checkpoint = self.folder / "log.jsonl", self.folder / "checkpoint.safetensors"
        log.unlink(missing_ok=True)
        message = halfstep("train", self.model, "--batch", BATCH, "--loss", loss, "--optimizer",
                           "sgd:lr=0.01", "--epochs", 3, *data, "--log", log, "--save", checkpoint,
                           "--force", *options, code=code)
        return logged(log, "loss"), checkpoint.read_bytes() if code == 0 else None, message

    def parameters(self, checkpoint):
        """The tensors of a checkpoint without the recipe, which says how it was made."""
        return checkpoint[8 + int.from_bytes(checkpoint[:8], "little"):]

    def test_slots_change_no_bit(self):
        data = self.data()
        for order in ("--shuffle", "--no-shuffle"):
            runs = {}
            for slots in (1, 2, 3):
                validate = [word.replace("--data", "--validate") for word in data]
                losses, checkpoint, _ = self.train(data, *validate, order, "--input-slots", slots,
                                                   "--input-type", "x=fp16")
                runs[slots] = losses, self.parameters(checkpoint)
            with self.subTest(order):
                self.assertEqual(len(runs[1][0]), 15)
                self.assertEqual(runs[1], runs[2])
                self.assertEqual(runs[1], runs[3])

    def test_a_bad_label_stops_the_step_that_reads_it(self):
        """Sample 600 is in the third batch: two steps are done, whoever staged it when."""
        classes = self.classes.copy()
        classes[600] = OUTPUTS
        data = self.data(label=classes)
        for slots in (1, 2, 4):
            with self.subTest(slots=slots):
                losses, _, message = self.train(data, "--no-shuffle", "--input-slots", slots,
                                                "--input-type", "x=fp16", loss="cross-entropy",
                                                code=1)
                self.assertEqual(len(losses), 2)
                self.assertIn("label.npy: sample 600: the class id 3", message)

    def test_a_narrow_input_is_the_rounded_one(self):
        """The same bits as from data that were rounded beforehand, whatever type the file has."""
        x, label = self.x.astype(numpy.float16), self.label.astype(numpy.float16)
        wide = self.train(self.data(x.astype(numpy.float32), label.astype(numpy.float32)))
        for given in ((self.x, self.label), (x, label), (x.astype(numpy.float64), label)):
            narrow = self.train(self.data(*given), "--input-type", "x=fp16", "--input-type",
                                "label=fp16")
            self.assertEqual(narrow[0], wide[0])
            self.assertEqual(self.parameters(narrow[1]), self.parameters(wide[1]))
        self.assertNotEqual(self.train(self.data())[0], wide[0])

    def test_bf16_inputs(self):
        bits = self.x.view(numpy.uint32)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(numpy.uint32)
        wide = self.train(self.data(rounded.view(numpy.float32)))
        narrow = self.train(self.data(), "--input-type", "x=bf16")
        self.assertEqual(narrow[0], wide[0])

    def test_the_executable_says_what_it_takes(self):
        executable = self.folder / "train"
        halfstep("compile", self.model, "--batch", BATCH, "--loss", "mse", "--optimizer", "sgd",
                 "--precision", "half-grad", "--input-type", "x=fp32", "--input-type", "label=bf16",
                 "-o", executable)
        description = output(executable, "--describe")
        self.assertRegex(description, rf"x +F32\[{BATCH}, {FEATURES}\]")
        self.assertRegex(description, rf"label +BF16\[{BATCH}, {OUTPUTS}\]")

    def test_the_plan_counts_the_slots(self):
        bytes_of_slot = BATCH * FEATURES * 2 + BATCH * OUTPUTS * 4
        for slots in (1, 2, 5):
            plan = output("halfstep", "inspect", self.model, "--batch", BATCH, "--loss", "mse",
                          "--optimizer", "sgd", "--input-type", "x=fp16", "--input-slots", slots,
                          "--phase", "memory", "--format", "json")
            self.assertEqual(json.loads(plan)["classes"]["inputs"], slots * bytes_of_slot)


if __name__ == "__main__":
    unittest.main()
