"""Training as PyTorch does it, and the same bits whichever way it is run."""

import math
import pathlib
import tempfile
import unittest

import numpy
import onnxruntime

from support import Program, halfstep, logged, orders, run

NAMES = ["linear8", "mlp10", "mlp10.default_export", "digits_mlp", "digits_mlp.default_export",
         "keknet", "digits_cnn_plain"]


class TrajectoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, name, *command):
        """Runs a training command; returns the losses of its steps and its checkpoint, as bytes."""
        log, checkpoint = self.folder / f"{name}.jsonl", self.folder / f"{name}.safetensors"
        run(*command, "--log", log, "--save", checkpoint)
        return logged(log, "loss"), checkpoint.read_bytes()

    def test_losses_are_those_of_pytorch(self):
        for name in NAMES:
            with self.subTest(name):
                program = Program(name, self.folder)
                losses, _ = self.train(name, "halfstep", "train", program.model, *program.recipe(),
                                       "--no-shuffle", "--steps", program.steps, *program.data())
                numpy.testing.assert_allclose(losses, program.losses, rtol=1e-5, atol=0)

    def test_same_bits_in_memory_and_as_executable_in_any_order(self):
        for name in ("linear8", "mlp10", "digits_mlp", "keknet", "digits_cnn_plain"):
            program = Program(name, self.folder)
            executable = self.folder / f"{name}.train"
            halfstep("compile", program.model, *program.recipe(), "-o", executable)
            options = ["--no-shuffle", "--steps", program.steps, *program.data()]
            losses, checkpoint = self.train(f"{name}.memory", "halfstep", "train", program.model,
                                            *program.recipe(), *options)
            self.assertEqual(len(losses), program.steps)
            for order in orders():
                other_losses, other_checkpoint = self.train(f"{name}.file", executable, *options,
                                                            *order, "--force")
                with self.subTest(name, order=order):
                    self.assertEqual(losses, other_losses)
                    self.assertEqual(checkpoint, other_checkpoint)

    def test_accumulated_micro_batches_equal_one_batch(self):
        program = Program("mlp10", self.folder)
        losses = {}
        for accumulate in (1, 4):
            losses[accumulate], _ = self.train(
                f"by{accumulate}", "halfstep", "train", program.model, *program.recipe(),
                "--accumulate", accumulate, "--no-shuffle", "--steps", 40, *program.data())
        numpy.testing.assert_allclose(losses[4], losses[1], rtol=1e-6, atol=0)

    def test_schedule_gives_the_learning_rates_of_its_formula(self):
        program = Program("mlp10", self.folder)
        for unit, count in (("step", lambda step: step), ("epoch", lambda step: step // 4)):
            with self.subTest(unit):
                log = self.folder / f"{unit}.jsonl"
                halfstep("train", program.model, *program.recipe(), "--steps", 12, *program.data(),
                         "--schedule", f"cosine:t_max=10,eta_min=1e-3,unit={unit}", "--log", log)
                expected = [1e-3 + (0.01 - 1e-3) * (1 + math.cos(math.pi * count(step) / 10)) / 2
                            for step in range(12)]
                numpy.testing.assert_allclose(logged(log, "lr"), expected, rtol=1e-12, atol=0)

    def test_resumed_equals_uninterrupted(self):
        program = Program("digits_mlp", self.folder)
        command = [self.folder / "train", *program.data(), "--shuffle", "--seed", 7]
        halfstep("compile", program.model, *program.recipe(), "-o", command[0])
        whole, part = self.folder / "whole.safetensors", self.folder / "part.safetensors"
        run(*command, "--steps", 50, "--save", whole)
        run(*command, "--steps", 20, "--save", part)
        self.assertNotEqual(whole.read_bytes(), part.read_bytes())
        run(*command, "--steps", 50, "--resume", part, "--save", part)
        self.assertEqual(whole.read_bytes(), part.read_bytes())

    def test_exported_model_computes_the_same_in_onnxruntime(self):
        for name in ("mlp10", "mlp10.default_export", "digits_mlp"):
            with self.subTest(name):
                program = Program(name, self.folder)
                executable = self.folder / f"{name}.train"
                checkpoint = self.folder / f"{name}.safetensors"
                trained = self.folder / f"{name}.trained.onnx"
                halfstep("compile", program.model, *program.recipe(), "-o", executable)
                run(executable, "--steps", 10, *program.data(), "--save", checkpoint)
                halfstep("export", program.model, "--weights", checkpoint, "-o", trained)

                x = numpy.load(program.x)
                session = onnxruntime.InferenceSession(trained)
                expected, = session.run(None, {"x": x})
                initial, = onnxruntime.InferenceSession(program.model).run(None, {"x": x})
                self.assertGreater(numpy.abs(expected - initial).max(), 1e-4)

                data = ["--data", f"x={program.x}"]
                halfstep("run", trained, "--batch", 16, *data, "--out", self.folder / "run")
                run(executable, "--infer", "--weights", checkpoint, *data,
                    "--out", self.folder / "infer")
                for way in ("run", "infer"):
                    y = numpy.load(self.folder / way / "y.npy")
                    numpy.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
