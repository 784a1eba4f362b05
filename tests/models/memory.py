"""The memory that a training executable takes is the memory that was planned."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import onnx

from support import DATA, Program, halfstep, run

ALLOCATION_COUNT = sys.argv.pop()  # the library that counts
SIZE, BATCH = 555, 4
RECIPE = ["--loss", "mse", "--optimizer", "rmsprop:lr=3e-5,alpha=0.99,eps=1e-7", "--loss-scale",
          "none"]
NARROW = ["--input-type", "x=fp16", "--input-type", "label=fp16"]


def keknet(folder, size):
    """keknet for images of another size."""
    model = onnx.load(DATA / "keknet.onnx")
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim[2:]:
            dimension.dim_value = size
    path = folder / f"keknet_{size}.onnx"
    onnx.save(model, path)
    return path


def plan(model, *options):
    command = ["halfstep", "inspect", model, *options, "--phase", "memory", "--format", "json",
               "--threads", 2]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def peak_of_own_memory(command):
    """The largest resident memory of a process besides what it maps from files, in bytes."""
    peak = 0
    with subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE) as process:
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            found = re.search(r"RssAnon:\s*(\d+) kB", status.read_text())
            peak = max(peak, 1024 * int(found[1]) if found else 0)  # none: it has just ended
            time.sleep(0.002)
        assert process.returncode == 0, process.stderr.read()
    return peak


class MemoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def data(self, size, samples):
        """Zeros in f16, which are staged in any type but take no room on the disk."""
        arguments = []
        for name, channels in (("x", 3), ("label", 64)):
            path = self.folder / f"{name}_{size}.npy"
            numpy.lib.format.open_memmap(path, "w+", numpy.float16,
                                         (samples, channels, size, size)).flush()
            arguments += ["--data", f"{name}={path}"]
        return arguments

    def test_a_run_meets_its_plan(self):
        """Beside a small model's run, which has the same libraries and threads."""
        data = {size: self.data(size, BATCH) for size in (16, SIZE)}
        for mode in ("fp32", "autocast", "half-grad"):
            planned, measured = {}, {}
            for size in (16, SIZE):
                model, executable = keknet(self.folder, size), self.folder / "train"
                options = ["--batch", BATCH, "--precision", mode]
                planned[size] = plan(model, *RECIPE, *options)["peak_bytes"]
                halfstep("compile", model, *RECIPE, *options, "-o", executable)
                measured[size] = peak_of_own_memory(
                    [executable, *data[size], "--shuffle", "--epochs", 3, "--threads", 2,
                     "--quiet"])
            ratio = (measured[SIZE] - measured[16]) / (planned[SIZE] - planned[16])
            with self.subTest(mode, measured=measured, planned=planned):
                self.assertLess(abs(ratio - 1), 0.05)

    def test_the_largest_plan_is_small_enough(self):
        model = keknet(self.folder, SIZE)
        memory = plan(model, *RECIPE, "--batch", 40, "--schedule", "cosine:t_max=300", "--precision",
                      "half-grad", *NARROW, "--input-slots", 1)
        self.assertLessEqual(memory["peak_bytes"], 3.5e9)

    def test_training_on_a_device_stores_no_output_of_a_first_convolution(self):
        """Nor its gradient: the label alone is 1.58 GB, and each of them as much again. An inference
        has the output as its result, but no label."""
        memory = plan(keknet(self.folder, SIZE), *RECIPE, "--batch", 40, "--precision", "half-grad",
                      *NARROW, "--input-slots", 1, "--target", "cuda")
        self.assertLessEqual(memory["peak_bytes"], 1.8e9)

    def test_what_the_forward_pass_saves_is_narrow(self):
        """Nothing that the backward pass reads again is an f32 copy of a 16-bit value."""
        for name, saved in (("keknet", 0), ("digits_cnn_plain", 4)):
            program = Program(name, self.folder)
            for mode in ("autocast", "half-grad"):
                memory = plan(program.model, *program.recipe(), "--precision", mode)
                micro = [s for s in memory["slices"] if s["name"].startswith("micro/")]
                loss = max(s["first"] for s in micro if "loss" in s["node"].split(", "))
                across = [s["type"] for s in micro if s["first"] < loss < s["last"]]
                tensors = [kind for kind in across if "x" in kind and not kind.endswith("i32")]
                with self.subTest(name, mode=mode):
                    self.assertEqual({t[-3:] for t in tensors} - {"f16"}, set(), across)
                    self.assertGreaterEqual(len(tensors), saved)

    def allocations(self, *command):
        """How often a command allocates, and how many blocks it keeps to its end."""
        report = self.folder / "allocations"
        run(*command, env={**os.environ, "LD_PRELOAD": ALLOCATION_COUNT,
                           "ALLOCATION_COUNT": str(report)})
        return tuple(map(int, report.read_text().split()))

    def test_steps_allocate_nothing(self):
        """More steps are not more allocations."""
        for name in ("linear8", "mlp10"):
            program = Program(name, self.folder)
            executable = self.folder / name
            halfstep("compile", program.model, *program.recipe(), "-o", executable)
            counts = {steps: self.allocations(executable, *program.data(), "--quiet", "--threads",
                                              2, "--steps", steps) for steps in (2, 500)}
            with self.subTest(name):
                self.assertEqual(counts[2], counts[500])

    def test_what_the_library_allocates_it_gives_back(self):
        """oneDNN allocates what it passes to its primitives anew in each call."""
        for name in ("digits_mlp", "digits_cnn_plain"):
            program = Program(name, self.folder)
            executable = self.folder / name
            halfstep("compile", program.model, *program.recipe(), "--precision", "half-grad", "-o",
                     executable)
            blocks = {steps: self.allocations(executable, *program.data(), "--quiet", "--threads",
                                              2, "--steps", steps)[1] for steps in (2, 100)}
            with self.subTest(name):
                self.assertEqual(blocks[2], blocks[100])


if __name__ == "__main__":
    unittest.main()
