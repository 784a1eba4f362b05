"""What the tests that run whole programs have in common.

The programs are found through PATH, as lit and ctest set it.
"""

import json
import pathlib
import subprocess

import numpy

TESTS = pathlib.Path(__file__).resolve().parent
DATA = TESTS / "models" / "data"
DIGITS = TESTS.parent / "examples" / "digits"


def run(*command, code=0, **options):
    """Runs a program that must end with exit code `code`; returns what it wrote to stderr."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, (
        f"exit code {done.returncode}, not {code}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stderr


def output(*command):
    """What a program that ends with exit code 0 wrote to stdout."""
    command = [str(word) for word in command]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def halfstep(*arguments, **options):
    return run("halfstep", *arguments, **options)


class Program:
    """A model with data and a recipe, whose training PyTorch recorded."""

    def __init__(self, name, folder):
        base = name.split(".")[0]
        self.record = json.loads((DATA / f"{base}.json").read_text())
        self.losses = self.record["modes"]["fp32"]["loss"]
        self.steps = self.record["steps"]
        made = {"digits_mlp": digits, "digits_cnn_plain": digit_images, "keknet": noise}.get(base)
        place = folder if made else DATA
        self.x, self.label = (place / f"{base}.{kind}.npy" for kind in ("x", "label"))
        if made:
            for path, array in zip((self.x, self.label), made()):
                numpy.save(path, array)
        self.model = DIGITS / "mlp.onnx" if name == "digits_mlp" else DATA / f"{name}.onnx"

    def recipe(self):
        schedule = self.record["schedule"]
        return ["--batch", self.record["batch"], "--loss", self.record["loss"],
                "--optimizer", self.record["optimizer"],
                *(["--schedule", schedule] if schedule else [])]

    def data(self):
        label = ["--data", f"label={self.label}"] if self.label.exists() else []
        return ["--data", f"x={self.x}", *label]


def digits():
    """All samples of the digits example."""
    return [numpy.concatenate([numpy.load(DIGITS / f"{part}.{kind}.npy")
                               for part in ("train", "heldout")]) for kind in ("x", "label")]


def digit_images():
    x, label = digits()
    return x.reshape(-1, 1, 8, 8), label


def noise():
    """The samples that keknet was recorded with, drawn again."""
    generator = numpy.random.default_rng(7)
    for shape in ((64, 10), (10, 1), (240, 8)):  # drawn before them, for other programs
        generator.standard_normal(shape, dtype=numpy.float32)
    return [generator.standard_normal((80, channels, 16, 16)).astype(numpy.float16)
            for channels in (3, 64)]


def logged(path, key):
    """The values of `key` in the steps of a --log file, as exact numbers."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event[key] for event in events if event["event"] == "step"]
