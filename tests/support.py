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


def halfstep(*arguments, **options):
    return run("halfstep", *arguments, **options)


class Program:
    """A model with data and a recipe, whose training PyTorch recorded."""

    def __init__(self, name, folder):
        base = name.split(".")[0]
        self.record = json.loads((DATA / f"{base}.json").read_text())
        self.losses = self.record["modes"]["fp32"]["loss"]
        self.steps = self.record["steps"]
        if base == "digits_mlp":
            self.x, self.label = (folder / f"digits.{kind}.npy" for kind in ("x", "label"))
            for kind, path in (("x", self.x), ("label", self.label)):
                parts = [numpy.load(DIGITS / f"{part}.{kind}.npy") for part in ("train", "heldout")]
                numpy.save(path, numpy.concatenate(parts))
        else:
            self.x, self.label = (DATA / f"{base}.{kind}.npy" for kind in ("x", "label"))
        self.model = DIGITS / "mlp.onnx" if name == "digits_mlp" else DATA / f"{name}.onnx"

    def recipe(self):
        return ["--batch", self.record["batch"], "--loss", self.record["loss"],
                "--optimizer", self.record["optimizer"]]

    def data(self):
        label = ["--data", f"label={self.label}"] if self.label.exists() else []
        return ["--data", f"x={self.x}", *label]


def logged(path, key):
    """The values of `key` in the steps of a --log file, as exact numbers."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event[key] for event in events if event["event"] == "step"]
