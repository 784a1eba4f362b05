"""Whole training steps, halfstep beside PyTorch in one run: a table of times and memory.

    PATH=build/release/bin:$PATH python bench/train.py

Both start from the same weights and take the same batches in the same order; before anything is
timed, their losses have to agree. A step of halfstep is the wall time of a process that makes
warm-up and timed steps, less that of one that makes the warm-up only: reading the data and
checking the loss are in it. A step of PyTorch is a block of steps in a warm process. The two take
turns; medians of ROUNDS are printed.
"""

import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx

from memory import peak_megabytes

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests"))
from support import Program, halfstep, logged  # noqa: E402

# Steps of halfstep before any is timed; steps timed at once, halfstep's and PyTorch's.
STEPS = {"linear8": (1_000, 200_000, 1_000), "mlp10": (1_000, 200_000, 1_000),
         "digits_mlp": (1_000, 5_000, 250), "keknet_555": (5, 20, 3)}
ROUNDS = 5
AGREE_AFTER = 20  # steps
TOLERANCE = {"fp32": 1e-5, "autocast": 1e-3, "half-grad": 1e-3}  # relative, of the loss


class LargeKeknet(Program):
    """keknet on one image of 555 x 555: more memory than any cache, and a label of 79 MB."""

    def __init__(self, folder):
        super().__init__("keknet", folder)
        self.record = {**self.record, "batch": 1, "schedule": None}
        model = onnx.load(self.model)
        for value in (*model.graph.input, *model.graph.output):
            for dimension in value.type.tensor_type.shape.dim[2:]:
                dimension.dim_value = 555
        self.model = folder / "keknet_555.onnx"
        onnx.save(model, self.model)
        generator = numpy.random.default_rng(7)
        for path, channels in ((self.x, 3), (self.label, 64)):
            numpy.save(path, generator.standard_normal((2, channels, 555, 555), numpy.float32))


def load_program(name, folder):
    return LargeKeknet(folder) if name == "keknet_555" else Program(name, folder)


class Halfstep:
    def __init__(self, program, precision, threads, warm_up, folder, options=()):
        self.warm_up = warm_up
        executable = folder / "train"
        halfstep("compile", program.model, *program.recipe(), "--precision", precision, "-o",
                 executable, *options)
        self.command = [str(word) for word in (executable, "--quiet", "--no-shuffle", "--threads",
                                               threads, *program.data(), "--steps")]

    def seconds(self, steps):
        start = time.perf_counter()
        subprocess.run([*self.command, str(steps)], check=True)
        return time.perf_counter() - start

    def step_seconds(self, steps):
        warm_up = self.seconds(self.warm_up)
        return (self.seconds(self.warm_up + steps) - warm_up) / steps

    def loss(self, folder):
        log = folder / "log.jsonl"
        subprocess.run([*self.command, str(AGREE_AFTER), "--log", str(log)], check=True)
        return logged(log, "loss")[-1]

    def megabytes(self):
        """The largest resident memory, read half a second into a training without end."""
        process = subprocess.Popen([*self.command, str(2**53)])
        time.sleep(0.5)
        peak = peak_megabytes(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait()
        return peak


class PyTorch:
    def __init__(self, name, program, precision, threads, folder, place=()):
        recipe = {key: program.record[key] for key in ("batch", "loss", "optimizer")}
        (folder / "recipe.json").write_text(json.dumps({"model": name, **recipe}))
        model = onnx.load(program.model)
        numpy.savez(folder / "weights.npz", **{weight.name: onnx.numpy_helper.to_array(weight)
                                               for weight in model.graph.initializer})
        for kind, path in (("x", program.x), ("label", program.label)):
            if path.exists():
                numpy.save(folder / f"{kind}.npy", numpy.load(path))
        # With libgomp's default, PyTorch's second thread spins; where others want that CPU, its
        # steps take five times as long (measured).
        self.process = subprocess.Popen(
            [sys.executable, BENCH / "pytorch.py", precision, str(threads), folder, *place], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"GOMP_SPINCOUNT": "1000", **os.environ})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def compare(name, precision, threads, folder):
    """A row of the table."""
    program = load_program(name, folder)
    warm_up, our_steps, their_steps = STEPS[name]
    ours = Halfstep(program, precision, threads, warm_up, folder)
    with PyTorch(name, program, precision, threads, folder) as theirs:
        numpy.testing.assert_allclose(ours.loss(folder), theirs.run(AGREE_AFTER)["loss"],
                                      rtol=TOLERANCE[precision], err_msg=f"{name} {precision}")
        theirs.run(their_steps)  # warm-up
        pairs = []
        for _ in range(ROUNDS):
            block = theirs.run(their_steps)
            pairs.append((ours.step_seconds(our_steps), block["seconds"] / their_steps))
    ours_median, theirs_median = (statistics.median(times) * 1e6 for times in zip(*pairs))
    return (f"| {name} | {precision} | {threads} | {ours_median:.2f} | {theirs_median:.1f} "
            f"| {theirs_median / ours_median:.0f} | {ours.megabytes():.1f} "
            f"| {block['megabytes']:.0f} |")


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def load():
    return " ".join(f"{average:.1f}" for average in os.getloadavg())


def main():
    print(f"{datetime.date.today()}, {processor()}, {os.cpu_count()} CPUs, load {load()}\n")
    print("| model | precision | threads | halfstep, µs a step | PyTorch, µs a step | ratio "
          "| halfstep, MB | PyTorch, MB |\n|---|---|---|---|---|---|---|---|")
    for name in STEPS:
        for precision in TOLERANCE:
            for threads in (1, 2):
                with tempfile.TemporaryDirectory() as folder:
                    print(compare(name, precision, threads, pathlib.Path(folder)), flush=True)
    print(f"\nload at end {load()}")


if __name__ == "__main__":
    main()
