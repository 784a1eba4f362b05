"""What the tests that run whole programs have in common.

The programs are found through PATH, as lit and ctest set it. Where HALFSTEP_TEST_TARGET is `cuda`,
steps are compiled for CUDA and run on the device that HALFSTEP_TEST_DEVICE says, as in Device.h.
"""

import json
import os
import pathlib
import subprocess

import numpy

TESTS = pathlib.Path(__file__).resolve().parent
DATA = TESTS / "models" / "data"
DIGITS = TESTS.parent / "examples" / "digits"

ON_CUDA = os.environ.get("HALFSTEP_TEST_TARGET") == "cuda"
DEVICE = os.environ.get("HALFSTEP_TEST_DEVICE", "emulate")
EMULATED = ON_CUDA and DEVICE == "emulate"


def orders():
    """Options of training that change the order of a step's work and may change no bit: the number
    of threads, or what an emulated device runs first. A device has no such option."""
    if not ON_CUDA:
        return [["--threads", threads] for threads in (1, 2, 3)]
    return [["--emulator-seed", seed] if EMULATED else [] for seed in (0, 1, 2)]


def on_device(command):
    """The words of a command of halfstep or of a training executable, for what tests run on."""
    words = [str(word) for word in command]
    program = words[1] if words[0] == "halfstep" else "executable"
    if ON_CUDA and program in ("compile", "inspect", "train", "run"):
        words += ["--target", "cuda", *(["--with-emulation"] if EMULATED else [])]
    if ON_CUDA and program in ("executable", "train", "run"):
        words += ["--device", DEVICE]
    return words


def run(*command, code=0, **options):
    """Runs a program that must end with exit code `code`; returns what it wrote to stderr."""
    command = on_device(command)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, (
        f"exit code {done.returncode}, not {code}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stderr


def output(*command):
    """What a program that ends with exit code 0 wrote to stdout."""
    return subprocess.run(on_device(command), capture_output=True, text=True, timeout=300,
                          check=True).stdout


def halfstep(*arguments, **options):
    return run("halfstep", *arguments, **options)


# Of programs whose steps take an emulated device a quarter of a second.
EMULATED_STEPS = {"digits_cnn_plain": 4}


class Program:
    """A model with data and a recipe, whose training PyTorch recorded."""

    def __init__(self, name, folder):
        base = name.split(".")[0]
        self.record = json.loads((DATA / f"{base}.json").read_text())
        self.steps = self.record["steps"]
        if EMULATED:
            self.steps = min(self.steps, EMULATED_STEPS.get(base, self.steps))
        self.losses = self.record["modes"]["fp32"]["loss"][:self.steps]
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

    def scale(self):
        """Options of the loss scaling that it was recorded with, where the mode scales the loss."""
        return ["--loss-scale", "none"] if self.record["loss_scale"] == "none" else []

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


def tensors(path):
    """The tensors of a checkpoint by name, as bytes."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    places = {name: entry["data_offsets"] for name, entry in json.loads(content[8:start]).items()
              if name != "__metadata__"}
    return {name: content[start + begin:start + end] for name, (begin, end) in places.items()}


def logged(path, key):
    """The values of `key` in the steps of a --log file, as exact numbers."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event[key] for event in events if event["event"] == "step"]
