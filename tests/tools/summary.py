"""`halfstep inspect` without a phase: the line that it prints trains, and what blocks a model is said."""

import json
import math
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

from support import DATA, Program, logged, output, run

PROGRAMS = ("linear8", "mlp10", "mlp10.default_export", "digits_mlp", "digits_mlp.default_export",
            "digits_cnn_plain", "keknet")


def blocked_model(path):
    """Two ops that nothing covers, and what an exporter leaves of two equal norms."""
    nodes = [
        helper.make_node("LayerNormalization", ["x", "ln.weight"], ["a"], "/ln1"),
        helper.make_node("LayerNormalization", ["a", "ln.weight"], ["b"], "/ln2"),
        helper.make_node("Hardmax", ["b"], ["c"], "/hard"),
        helper.make_node("MatMul", ["c", "onnx::MatMul_12"], ["d"], "/fc"),
        helper.make_node("Det", ["square"], ["e"], "/det"),
        helper.make_node("Add", ["d", "e"], ["y"], "/add"),
    ]
    inputs = {"x": ["batch", 10], "square": [16, 3, 3]}
    graph = helper.make_graph(
        nodes, "blocked",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
         for name, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "rows"])],
        [helper.make_tensor("ln.weight", TensorProto.FLOAT, [10], [1.0] * 10),
         helper.make_tensor("onnx::MatMul_12", TensorProto.FLOAT, [10, 1], [1.0] * 10)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


class SummaryTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_the_compile_line_trains(self):
        for name in PROGRAMS:
            with self.subTest(name):
                program = Program(name, self.folder)
                line = output("halfstep", "inspect", program.model, *program.recipe())
                command = line.splitlines()[-1].strip()
                self.assertTrue(command.startswith("halfstep compile "), command)
                subprocess.run(command, shell=True, cwd=self.folder, check=True,
                               capture_output=True)
                run(self.folder / program.model.stem, *program.data(), "--steps", 3, "--log",
                    self.folder / "log", cwd=self.folder)
                losses = logged(self.folder / "log", "loss")
                self.assertEqual(len(losses), 3)
                self.assertTrue(all(map(math.isfinite, losses)), losses)

    def test_the_compile_line_keeps_what_was_given(self):
        """In a file of options too; what asks about the summary alone is no part of the line."""
        (self.folder / "options.toml").write_text(
            'clip-norm = 1.5\nfreeze = ["0.bias", "2.bias"]\n')
        (self.folder / "a model.onnx").write_bytes((DATA / "mlp10.onnx").read_bytes())
        given = ["--batch", "16", "--accumulate", "4", "--precision", "half-grad", "--half-type",
                 "bf16", "--pin", "/2/=fp32", "--schedule", "cosine:t_max=300", "--loss-scale", "8",
                 "--input-type", "x=fp16", "--target", "cpu,cuda", "--with-emulation"]
        line = json.loads(output("halfstep", "inspect", self.folder / "a model.onnx", *given,
                                 "--config", self.folder / "options.toml", "--format",
                                 "json"))["compile"]
        self.assertEqual(
            shlex.split(line),
            ["halfstep", "compile", str(self.folder / "a model.onnx"), "--batch", "16",
             "--loss", "mse", "--optimizer", "adam:lr=1e-3", "--accumulate", "4",
             "--clip-norm", "1.5", "--freeze", "0.bias", "--freeze", "2.bias", "--half-type",
             "bf16", "--input-type", "x=fp16", "--loss-scale", "8", "--pin", "/2/=fp32",
             "--precision", "half-grad", "--schedule", "cosine:t_max=300", "--target", "cpu,cuda",
             "--with-emulation", "-o", "a model"])
        subprocess.run(line, shell=True, cwd=self.folder, check=True, capture_output=True)

    def test_blocking_nodes(self):
        model = blocked_model(self.folder / "blocked.onnx")
        done = subprocess.run(["halfstep", "inspect", model], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 nodes cannot be imported", done.stderr)
        in_front = "is not supported (in front of: "
        self.assertEqual(
            done.stdout,
            "inputs\n"
            "  x                batchx10xf32\n"
            "  square           16x3x3xf32\n"
            "outputs\n"
            "  y                batchxrowsxf32\n"
            "parameters: 20 elements\n"
            "  ln.weight        10xf32\n"
            "  onnx::MatMul_12  10x1xf32\n"
            "lost in the export\n"
            "  square: the batch of 16 is fixed; export with dynamic_axes or dynamic_shapes\n"
            "  onnx::MatMul_12: is a parameter that the exporter has transposed or computed anew, "
            "under a name of its own\n"
            "  ln.weight: is one tensor for 2 LayerNormalization nodes (/ln1, /ln2), which training "
            "keeps equal: exporters merge parameters of equal values\n"
            "blocked by\n"
            f"  /hard: Hardmax (operator set 17) {in_front}ln.weight)\n"
            "  /det: Det (operator set 17) is not supported\n")
        done = subprocess.run(["halfstep", "inspect", model, "--format", "json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertEqual(report["inputs"][0]["shape"], ["batch", 10])
        self.assertEqual([each["node"] for each in report["blocking"]], ["/hard", "/det"])
        self.assertEqual([each["subject"] for each in report["lost"]],
                         ["square", "onnx::MatMul_12", "ln.weight"])
        self.assertNotIn("compile", report)

    def test_a_node_without_a_gradient(self):
        """It can be imported, and blocks all the same."""
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["a"], "/fc"),
             helper.make_node("ArgMax", ["a"], ["b"], "/argmax"),
             helper.make_node("Cast", ["b"], ["y"], "/cast", to=TensorProto.FLOAT)], "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [helper.make_tensor("w", TensorProto.FLOAT, [4, 3], [1.0] * 12)])
        path = self.folder / "argmax.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        done = subprocess.run(["halfstep", "inspect", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("blocked by\n", done.stdout)

    def test_what_is_at_fault_beside_nodes_has_no_summary(self):
        for model, options, code in ((self.folder / "none.onnx", [], 1),
                                     (DATA / "mlp10.onnx", ["--bind", "bach=2"], 2)):
            done = subprocess.run(["halfstep", "inspect", model, *options], capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stdout), (code, ""))
            self.assertEqual(done.stderr.count("error"), 1)


if __name__ == "__main__":
    unittest.main()
