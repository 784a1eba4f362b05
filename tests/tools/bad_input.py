"""Wrong input, case by case: the exact exit code, and the message.

There is one error each time, which names the file, node or option at fault. No case may change a
file or leave one behind.
"""

import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

import numpy
from onnx import TensorProto, helper, numpy_helper

from bad_input_cases import CASES, DIGITS_RECIPE, MLP, RECIPE
from support import DATA, DIGITS, halfstep


def make_files(folder):
    """All files that the cases name, in `folder`."""
    for path in (DATA / MLP, DATA / "mlp10.x.npy", DATA / "mlp10.label.npy"):
        shutil.copy(path, folder)
    shutil.copy(DIGITS / "mlp.onnx", folder / "digits.onnx")
    shutil.copy(DIGITS / "train.x.npy", folder / "digits.x.npy")
    model = (folder / MLP).read_bytes()
    (folder / "folder").mkdir()
    (folder / "link.onnx").symlink_to(MLP)
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "truncated.onnx").write_bytes(model[:len(model) // 2])
    (folder / "random.onnx").write_bytes(numpy.random.default_rng(3).bytes(5000))
    for name in ("text.onnx", "text.npy", "text.mlir"):
        (folder / name).write_text("This is not what you expect.\n" * 20)
    (folder / "wrong.toml").write_text('batch = 16\nloss = "mse"\noptimiser = "sgd"\n')

    make_models(folder)

    x = numpy.load(DATA / "mlp10.x.npy")
    numpy.save(folder / "complex.npy", x.astype(numpy.complex128))
    numpy.save(folder / "short.npy", numpy.zeros((5, 1), numpy.float32))
    numpy.save(folder / "short_x.npy", x[:5])
    data = (DATA / "mlp10.x.npy").read_bytes()
    (folder / "truncated.npy").write_bytes(data[:len(data) - 100])
    labels = numpy.load(DIGITS / "train.label.npy")
    numpy.save(folder / "digits.x0.npy", labels.astype(numpy.float32))
    labels[1000] = -1
    numpy.save(folder / "negative.npy", labels)
    labels[1000] = 10
    numpy.save(folder / "classes.npy", labels)

    halfstep(*f"compile {MLP} {RECIPE} --dump-phases dumps -o dumped".split(), cwd=folder)
    dump = (folder / "dumps" / "03-precision.mlir").read_text()
    for name, pattern, text in (
            ("no_recipe", r'halfstep\.recipe = "(?:[^"\\]|\\.)*", ', ""),
            ("no_source", r'halfstep\.source = "[^"]*"', 'halfstep.other = ""'),
            ("other_graph", r'(halfstep\.graph_hash = ")[^"]*', r"\1other")):
        edited, count = re.subn(pattern, text, dump)
        assert count == 1, name
        (folder / f"{name}.mlir").write_text(edited)
    shutil.move(folder / "dumps" / "05-kernels.mlir", folder / "kernels.mlir")
    shutil.rmtree(folder / "dumps")

    def train(model, recipe, x, label, checkpoint):
        halfstep(*f"train {model} {recipe} --steps 1 --data x={x} --data label={label} "
                 f"--save {checkpoint}".split(), cwd=folder)

    halfstep(*f"compile digits.onnx {DIGITS_RECIPE} -o digits.train".split(), cwd=folder)
    train(MLP, RECIPE, "mlp10.x.npy", "mlp10.label.npy", "mlp10.safetensors")
    for name in ("trained.onnx.data", "trained.onnx.part"):
        shutil.copy(folder / "mlp10.safetensors", folder / name)
    shutil.copy(folder / MLP, folder / "data.onnx.data")
    labels[1000] = 0
    numpy.save(folder / "digits.label.npy", labels)
    train("digits.onnx", DIGITS_RECIPE, "digits.x.npy", "digits.label.npy", "digits.safetensors")


def make_models(folder):
    def save(name, shape, nodes, initializers, **others):
        inputs = {"x": shape, **others} if shape else others
        graph = helper.make_graph(
            nodes, "graph",
            [helper.make_tensor_value_info(each, TensorProto.FLOAT, sizes)
             for each, sizes in inputs.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (folder / name).write_bytes(model.SerializeToString())

    weight = numpy_helper.from_array(numpy.ones((10, 1), numpy.float32), "weight")
    product = helper.make_node("MatMul", ["x", "weight"], ["y"], "product")
    save("unknown_op.onnx", ["batch", 10],
         [helper.make_node("NoSuchOp", ["x"], ["z"], "strange"),
          helper.make_node("MatMul", ["z", "weight"], ["y"], "product")], [weight])
    numbers = [numpy_helper.from_array(numpy.int64(number), name)
               for name, number in (("from", 0), ("to", 10), ("by", 1))]
    save("reserved.onnx", ["batch", 10],
         [helper.make_node("Range", ["from", "to", "by"], ["numbers"], "range"),
          helper.make_node("Cast", ["numbers"], ["halfstep/positions"], "cast",
                           to=TensorProto.FLOAT),
          helper.make_node("Add", ["x", "halfstep/positions"], ["z"], "shift"),
          helper.make_node("MatMul", ["z", "weight"], ["y"], "product")], [weight, *numbers])
    save("zero.onnx", ["batch", 0], [product], [weight])
    save("scalar.onnx", ["batch", 10],
         [helper.make_node("ReduceMean", ["x"], ["y"], "mean", keepdims=0)], [])
    save("constant.onnx", None, [helper.make_node("Relu", ["weight"], ["y"], "relu")], [weight])
    save("lengths.onnx", [4, 10],
         [helper.make_node("ReduceSum", ["z"], ["s"], "sum"),
          helper.make_node("Add", ["x", "s"], ["y"], "add")], [], z=[8, 10])
    save("negative.onnx", ["batch", -3], [product], [weight])

    def external(location):
        tensor = TensorProto(name="weight", data_type=TensorProto.FLOAT, dims=[10, 1],
                             data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=location)
        return tensor

    (folder / "weights.data").write_bytes(bytes(40))
    save("external.onnx", ["batch", 10], [product], [external("weights.data")])
    save("no_data.onnx", ["batch", 10], [product], [external("no_data.onnx.data")])
    save("absolute.onnx", ["batch", 10], [product], [external("/etc/hostname")])
    save("outside.onnx", ["batch", 10], [product], [external("../outside.data")])
    (folder.parent / "outside.data").write_bytes(bytes(40))


class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name) / "work"
        cls.folder.mkdir()
        make_files(cls.folder)

    def check(self, code, pattern, command, **options):
        before = snapshot(self.folder)
        done = subprocess.run(command.split(), cwd=self.folder, capture_output=True, text=True,
                              timeout=60, **options)
        errors = re.findall(r"^halfstep: error: ", done.stderr, re.MULTILINE)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(errors), 1, done.stderr)
        message = done.stderr[done.stderr.index("halfstep: error: ") + len("halfstep: error: "):]
        self.assertTrue(re.match(pattern, message), f"{message!r} does not match {pattern!r}")
        self.assertEqual(snapshot(self.folder), before, "a file was changed or left behind")

    def test_table(self):
        for what, code, pattern, command in CASES:
            with self.subTest(what, command=command):
                self.check(code, pattern, command)

    def test_full_disk_keeps_the_old_checkpoint(self):
        """A limit on the size of files makes writing fail as a full disk does."""
        def limit():
            # More than the executable's code, which is loaded through a file in memory; less than
            # the checkpoint.
            resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        # With signals as Python has them the limit's own signal, SIGXFSZ, stays ignored.
        self.check(1, r"digits\.safetensors: .*File too large",
                   "./digits.train --steps 2 --data x=digits.x.npy --data label=digits.label.npy "
                   "--save digits.safetensors --force",
                   preexec_fn=limit, restore_signals=False)


def snapshot(folder):
    """Names and contents of all files."""
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


if __name__ == "__main__":
    unittest.main()
