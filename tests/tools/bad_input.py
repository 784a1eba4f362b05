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
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import DATA, DIGITS, halfstep

MLP = "mlp10.onnx"
RECIPE = "--batch 16 --loss mse --optimizer sgd"
DIGITS_RECIPE = "--batch 16 --loss cross-entropy --optimizer adam"
TRAIN = f"halfstep train {MLP} {RECIPE} --steps 2"
TRAIN_HALF = f"halfstep train {MLP} --batch 16 --loss mse --optimizer adam --precision half-grad --steps 2"
INPUTS = "--data x=mlp10.x.npy --data label=mlp10.label.npy"

# (what, exit code, pattern at the start of the message behind "halfstep: error: ", command)
CASES = [
    # Files that are no model.
    ("missing model", 1, r"no\.onnx: no such file", f"halfstep compile no.onnx {RECIPE} -o out"),
    ("folder", 1, r"folder: is not a regular file", f"halfstep compile folder {RECIPE} -o out"),
    ("empty model", 1, r"empty\.onnx: is empty", f"halfstep compile empty.onnx {RECIPE} -o out"),
    ("truncated model", 1, r"truncated\.onnx: is not an ONNX model, or a truncated one",
     f"halfstep compile truncated.onnx {RECIPE} -o out"),
    ("random bytes", 1, r"random\.onnx: is not an ONNX model",
     f"halfstep compile random.onnx {RECIPE} -o out"),
    ("text file", 1, r"text\.onnx: is a text file", f"halfstep compile text.onnx {RECIPE} -o out"),
    ("text as a module", 1, r"text\.mlir:1:1: ", f"halfstep compile text.mlir {RECIPE} -o out"),

    # Models that cannot be trained.
    ("unknown op", 1, r"unknown_op\.onnx: strange: NoSuchOp .* is not supported",
     f"halfstep compile unknown_op.onnx {RECIPE} -o out"),
    ("computed constant with a name of checkpoints", 1,
     r"reserved\.onnx: shift: .*'halfstep/positions'.* checkpoints keep these names",
     f"halfstep compile reserved.onnx {RECIPE} -o out"),
    ("unknown op, inspected", 1, r"unknown_op\.onnx: strange: NoSuchOp",
     "halfstep inspect unknown_op.onnx"),
    ("unknown op, coverage", 1, r"unknown_op\.onnx: ", "halfstep ops unknown_op.onnx"),
    ("dimension of size zero", 1, r"zero\.onnx: x: dimension 1 of this graph input is 0",
     f"halfstep compile zero.onnx {RECIPE} -o out"),
    ("dimension of negative size", 1, r"negative\.onnx: x: dimension 1 of this graph input is -3",
     f"halfstep compile negative.onnx {RECIPE} -o out"),

    # External data.
    ("missing external data", 1, r"no_data\.onnx: .*no_data\.onnx\.data",
     f"halfstep compile no_data.onnx {RECIPE} -o out"),
    ("external data outside", 1, r"outside\.onnx: .*\.\./",
     f"halfstep compile outside.onnx {RECIPE} -o out"),
    ("absolute external data", 1, r"absolute\.onnx: .*/etc/hostname",
     f"halfstep compile absolute.onnx {RECIPE} -o out"),

    # Dimensions.
    ("unbound batch", 2, r"mlp10\.onnx: x: dimension 0 \('batch'\) .*has no size",
     f"halfstep compile {MLP} --loss mse --optimizer sgd -o out"),
    ("batch of zero", 2, r"--batch: '0' is not a positive whole number",
     f"halfstep compile {MLP} --batch 0 --loss mse --optimizer sgd -o out"),
    ("negative batch", 2, r"--batch: '-4' is not a positive whole number",
     f"halfstep compile {MLP} --batch -4 --loss mse --optimizer sgd -o out"),
    ("bound to zero", 2, r"--bind: batch: '0' is not a positive whole number",
     f"halfstep compile {MLP} --bind batch=0 --loss mse --optimizer sgd -o out"),
    ("bound without number", 2, r"--bind: 'batch' is not NAME=N",
     f"halfstep compile {MLP} --bind batch --loss mse --optimizer sgd -o out"),
    ("unknown dimension", 2, r".*no graph input has a dimension named 'bach'",
     f"halfstep compile {MLP} --batch 16 --bind bach=2 --loss mse --optimizer sgd -o out"),
    ("indivisible batch", 2, r"--accumulate: 3 micro-batches do not divide a batch of 16",
     f"halfstep compile {MLP} {RECIPE} --accumulate 3 -o out"),

    # Data.
    ("missing data file", 1, r"no\.npy: ", f"{TRAIN} --data x=no.npy --data label=mlp10.label.npy"),
    ("no data", 2, r"--data: no data for label", f"{TRAIN} --data x=mlp10.x.npy"),
    ("unknown input", 2, r"--data: no input of the model is called 'y'",
     f"{TRAIN} {INPUTS} --data y=mlp10.x.npy"),
    ("data of wrong shape", 1,
     r"digits\.x\.npy: its shape does not fit input x(.*\n)*.*\[1437, 64\]",
     f"{TRAIN} --data x=digits.x.npy --data label=mlp10.label.npy"),
    ("data of wrong type", 1, r"complex\.npy: .*complex|complex\.npy: .*c16",
     f"{TRAIN} --data x=complex.npy --data label=mlp10.label.npy"),
    ("class ids as floats", 1, r"digits\.x0\.npy: .*float32.*",
     f"halfstep train digits.onnx {DIGITS_RECIPE} --steps 2 --data x=digits.x.npy "
     "--data label=digits.x0.npy"),
    ("different counts", 1, r"short\.npy: 5 samples, but mlp10\.x\.npy holds 64",
     f"{TRAIN} --data x=mlp10.x.npy --data label=short.npy"),
    ("less than a batch", 1, r"short_x\.npy: ",
     f"{TRAIN} --data x=short_x.npy --data label=short.npy"),
    ("truncated data", 1, r"truncated\.npy: ",
     f"{TRAIN} --data x=truncated.npy --data label=mlp10.label.npy"),
    ("data of another format", 1, r"text\.npy: ",
     f"{TRAIN} --data x=text.npy --data label=mlp10.label.npy"),
    ("class out of range", 1, r"classes\.npy: .*\b10\b",
     f"halfstep train digits.onnx {DIGITS_RECIPE} --steps 200 --no-shuffle "
     "--data x=digits.x.npy --data label=classes.npy"),
    ("negative class", 1, r"negative\.npy: .*-1\b",
     f"halfstep train digits.onnx {DIGITS_RECIPE} --steps 200 --no-shuffle "
     "--data x=digits.x.npy --data label=negative.npy"),

    # Recipe.
    ("unknown loss", 2, r"--loss: .*'mes'.*\n?.*mse",
     f"halfstep compile {MLP} --batch 16 --loss mes --optimizer sgd -o out"),
    ("unknown optimizer", 2, r"--optimizer: .*'adan'.*\n?.*adam",
     f"halfstep compile {MLP} --batch 16 --loss mse --optimizer adan -o out"),
    ("unknown schedule", 2, r"--schedule: .*'cosin'.*\n?.*cosine",
     f"halfstep compile {MLP} {RECIPE} --schedule cosin:t_max=3 -o out"),
    ("unknown key", 2, r"--optimizer: .*'rl'",
     f"halfstep compile {MLP} --batch 16 --loss mse --optimizer sgd:rl=1 -o out"),
    ("value that is no number", 2, r"--optimizer: .*lr must be a number \(got fast\)",
     f"halfstep compile {MLP} --batch 16 --loss mse --optimizer sgd:lr=fast -o out"),
    ("value out of range", 2, r"--optimizer: .*lr must not be negative \(got -1\)",
     f"halfstep compile {MLP} --batch 16 --loss mse --optimizer sgd:lr=-1 -o out"),
    ("key without value", 2, r"--optimizer: .*'lr' is not key=value",
     f"halfstep compile {MLP} --batch 16 --loss mse --optimizer sgd:lr -o out"),
    ("required key", 2, r"--schedule: .*t_max",
     f"halfstep compile {MLP} {RECIPE} --schedule cosine -o out"),
    ("no loss", 2, r"--loss: is needed to train",
     f"halfstep compile {MLP} --batch 16 --optimizer sgd -o out"),
    ("no optimizer", 2, r"--optimizer: is needed to train",
     f"halfstep compile {MLP} --batch 16 --loss mse -o out"),
    ("mixed precision", 2, r"--precision: 'mixed' .*(\n.*)*autocast or half-grad",
     f"halfstep compile {MLP} {RECIPE} --precision mixed -o out"),
    ("unknown precision", 2, r"--precision: no mode is called 'fp8'",
     f"halfstep compile {MLP} {RECIPE} --precision fp8 -o out"),
    ("unknown CPU", 2, r"--cpu: no level is called 'x86-64-v2'",
     f"halfstep compile {MLP} {RECIPE} --cpu x86-64-v2 -o out"),
    ("negative clipping", 2, r"--clip-norm: '-1' is not a positive number",
     f"halfstep compile {MLP} {RECIPE} --clip-norm -1 -o out"),
    ("loss that does not fit", 2, r"--loss: .*one number",
     f"halfstep compile {MLP} --batch 16 --loss output --optimizer sgd -o out"),

    # Inputs.
    ("unknown input type", 2, r"--input-type: 'x=fp8' is not NAME=fp32, NAME=fp16 or NAME=bf16",
     f"halfstep compile {MLP} {RECIPE} --input-type x=fp8 -o out"),
    ("input type of no input", 2,
     r"--input-type: no input of the model is called 'labels'; did you mean label\?",
     f"halfstep compile {MLP} {RECIPE} --input-type labels=fp16 -o out"),
    ("input type of class ids", 2, r"--input-type: label holds 'i64', which is no float type",
     f"halfstep compile digits.onnx {DIGITS_RECIPE} --input-type label=fp16 -o out"),
    ("no input slot", 2, r"--input-slots: '0' is not a whole number from 1 to 64",
     f"halfstep compile {MLP} {RECIPE} --input-slots 0 -o out"),
    ("too many input slots", 2, r"--input-slots: '65' is not a whole number from 1 to 64",
     f"halfstep compile {MLP} {RECIPE} --input-slots 65 -o out"),

    # Patterns.
    ("pattern that matches nothing", 2,
     r"--freeze nothing matches no parameter(.*\n)*help: .*0\.weight",
     f"halfstep compile {MLP} {RECIPE} --freeze nothing -o out"),
    ("pattern that does not parse", 2, r"--train \[: not a regular expression",
     f"halfstep compile {MLP} {RECIPE} --train [ -o out"),
    ("everything frozen", 1, r"mlp10\.onnx: every parameter is frozen",
     f"halfstep compile {MLP} {RECIPE} --freeze . -o out"),

    # Command line.
    ("no command", 2, r"it is not said what to do", "halfstep"),
    ("unknown command", 2,
     r"halfstep: no command is called 'trian'(.*\n)*help: did you mean train\?", "halfstep trian"),
    ("unknown option", 2,
     r"halfstep compile: no option is called '--optimiser'(.*\n)*help: did you mean --optimizer\?",
     f"halfstep compile {MLP} --optimiser sgd -o out"),
    ("option that is not there", 2, r"halfstep compile: no option is called '--fast-math'",
     f"halfstep compile {MLP} {RECIPE} --fast-math -o out"),
    ("no model", 2, r"MODEL is required", "halfstep compile -o out"),
    ("superfluous word", 2, r".*more", f"halfstep compile {MLP} more {RECIPE} -o out"),
    ("both lengths", 2, r"--\w+ excludes --\w+", f"{TRAIN} {INPUTS} --epochs 3"),
    ("no length", 2, r"it is not said how long to train",
     f"halfstep train {MLP} {RECIPE} {INPUTS}"),
    ("unknown phase", 2, r"--phase: no phase is called 'gard'(.*\n)*help: did you mean grad\?",
     f"halfstep inspect {MLP} --phase gard"),
    ("unknown format", 2, r"--format: no format is called 'yaml'",
     f"halfstep inspect {MLP} --format yaml"),
    ("hyperparameter out of its range", 2, r"--set: beta1 must be from 0 to below 1 \(got 1\)",
     f"{TRAIN_HALF} {INPUTS} --set beta1=1"),
    ("loss scale of zero", 2, r"--set: scale must be positive \(got 0\)",
     f"{TRAIN_HALF} {INPUTS} --set scale=0"),
    ("backoff that grows", 2, r"--set: backoff_factor must lie between 0 and 1 \(got 1\)",
     f"{TRAIN_HALF} {INPUTS} --set backoff_factor=1"),
    ("growth that shrinks", 2, r"--set: growth_factor must be above 1 \(got 1\)",
     f"{TRAIN_HALF} {INPUTS} --set growth_factor=1"),
    ("no skip allowed", 2, r"--set: max_skips must be at least 1 \(got 0\)",
     f"{TRAIN_HALF} {INPUTS} --set max_skips=0"),
    ("unknown hyperparameter", 2, r"--set: no hyperparameter of the model is called 'rl'",
     f"{TRAIN} {INPUTS} --set rl=1"),
    ("unknown metric", 2, r"--metric: no metric is called 'acuracy'",
     f"{TRAIN} {INPUTS} --validate x=mlp10.x.npy --validate label=mlp10.label.npy "
     "--metric acuracy"),
    ("missing config file", 2, r"no\.toml", f"halfstep compile {MLP} --config no.toml -o out"),
    ("unknown name in config file", 2,
     r"--config: no option is called 'optimiser'(.*\n)*help: did you mean optimizer\?",
     f"halfstep compile {MLP} --config wrong.toml -o out"),

    # Checkpoints.
    ("checkpoint of another model", 1, r"digits\.safetensors: ",
     f"{TRAIN} {INPUTS} --resume digits.safetensors"),
    ("weights of another model", 1, r"digits\.safetensors: ",
     f"{TRAIN} {INPUTS} --weights digits.safetensors"),
    ("export of another model", 1, r"mlp10\.onnx: 4\.bias: .*checkpoint of another model",
     f"halfstep export {MLP} --weights digits.safetensors -o out"),
    ("checkpoint that is none", 1, r"text\.npy: ", f"{TRAIN} {INPUTS} --resume text.npy"),
    ("missing checkpoint", 1, r"no\.safetensors: ", f"{TRAIN} {INPUTS} --resume no.safetensors"),

    # Outputs.
    ("output in no folder", 1, r"no/out: ", f"halfstep compile {MLP} {RECIPE} -o no/out"),
    ("output where nothing can be", 1, r"/proc/out: ",
     f"halfstep compile {MLP} {RECIPE} -o /proc/out"),
    ("output that is a folder", 1, r"folder: ", f"halfstep compile {MLP} {RECIPE} -o folder"),
    ("output that is the model", 2, r"-o: .*mlp10\.onnx",
     f"halfstep compile {MLP} {RECIPE} -o {MLP}"),
    ("output that is the model by another name", 2, r"-o: .*link\.onnx",
     f"halfstep compile {MLP} {RECIPE} -o link.onnx"),
    ("output that is external data", 2, r"-o: .*weights\.data",
     f"halfstep compile external.onnx {RECIPE} -o weights.data"),
    ("export onto the model", 2, r"-o: ",
     f"halfstep export {MLP} --weights mlp10.safetensors -o {MLP}"),
    ("export's external data onto the checkpoint", 2, r"-o: trained\.onnx\.data is also read",
     f"halfstep export {MLP} --weights trained.onnx.data -o trained.onnx"),
    ("export's external data onto the model", 2, r"-o: .*data\.onnx\.data is also read",
     "halfstep export data.onnx.data --weights mlp10.safetensors -o data.onnx"),
    ("checkpoint onto the data", 2, r"--save: .*mlp10\.x\.npy",
     f"{TRAIN} {INPUTS} --save mlp10.x.npy --force"),
    ("checkpoint onto the model", 2, r"--save: .*mlp10\.onnx",
     f"{TRAIN} {INPUTS} --save {MLP} --force"),
    ("log onto the data", 2, r"--log: .*mlp10\.x\.npy", f"{TRAIN} {INPUTS} --log mlp10.x.npy"),
    ("existing checkpoint", 2, r"--save: mlp10\.safetensors exists already",
     f"{TRAIN} {INPUTS} --save mlp10.safetensors"),
]


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

    def train(model, recipe, x, label, checkpoint):
        halfstep(*f"train {model} {recipe} --steps 1 --data x={x} --data label={label} "
                 f"--save {checkpoint}".split(), cwd=folder)

    halfstep(*f"compile digits.onnx {DIGITS_RECIPE} -o digits.train".split(), cwd=folder)
    train(MLP, RECIPE, "mlp10.x.npy", "mlp10.label.npy", "mlp10.safetensors")
    shutil.copy(folder / "mlp10.safetensors", folder / "trained.onnx.data")
    shutil.copy(folder / MLP, folder / "data.onnx.data")
    labels[1000] = 0
    numpy.save(folder / "digits.label.npy", labels)
    train("digits.onnx", DIGITS_RECIPE, "digits.x.npy", "digits.label.npy", "digits.safetensors")


def make_models(folder):
    def save(name, shape, nodes, initializers):
        graph = helper.make_graph(
            nodes, "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
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
          helper.make_node("Cast", ["numbers"], ["halfstep/positions"], "cast", to=TensorProto.FLOAT),
          helper.make_node("Add", ["x", "halfstep/positions"], ["z"], "shift"),
          helper.make_node("MatMul", ["z", "weight"], ["y"], "product")], [weight, *numbers])
    save("zero.onnx", ["batch", 0], [product], [weight])
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
