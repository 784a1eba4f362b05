"""A CUDA step on an emulated device trains as the CPU does, whatever order the device takes."""

import json
import pathlib
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import Program, halfstep, logged, output, run

# And how many steps of them: a step takes as long as its work, at some ten million loads a second.
PROGRAMS = {"linear8": 20, "mlp10": 40, "digits_mlp": 30, "keknet": 12, "digits_cnn_plain": 3}
# Losses of a trajectory, relative to the CPU's: sums of products are in another order.
BOUNDS = {"fp32": 1e-5, "fp16": 1e-3, "bf16": 2e-3}
CUDA = ["--target", "cuda", "--with-emulation"]


def emulated(seed=0):
    return ["--device", "emulate", "--emulator-seed", seed]


class EmulatedCudaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, program, *options):
        executable = self.folder / "train"
        halfstep("compile", program.model, *program.recipe(), "-o", executable, *options)
        return executable

    def train(self, executable, program, *options):
        log, checkpoint = self.folder / "log.jsonl", self.folder / "checkpoint"
        run(executable, *program.data(), "--no-shuffle", "--steps", program.steps, "--log", log,
            "--save", checkpoint, "--force", *options)
        return log, checkpoint.read_bytes()

    def check_mode(self, name, mode, half_type):
        program = Program(name, self.folder)
        program.steps = PROGRAMS[name]
        scale = ["--loss-scale", "none"] if program.record["loss_scale"] == "none" else []
        options = ["--precision", mode, "--half-type", half_type, *(scale if mode != "fp32" else [])]
        log, _ = self.train(self.compile(program, *options), program)
        keys = ("loss", "lr", "scale", "skipped")
        losses, *expected = (logged(log, key) for key in keys)
        executable = self.compile(program, *options, *CUDA)
        results = []
        for seed in range(3):
            log, checkpoint = self.train(executable, program, *emulated(seed))
            results.append(([logged(log, key) for key in keys], checkpoint))
        for result in results[1:]:
            self.assertEqual(results[0], result, "depends on the order of threads and blocks")
        (on_device, *others), _ = results[0]
        numpy.testing.assert_allclose(on_device, losses, atol=0,
                                      rtol=BOUNDS["fp32" if mode == "fp32" else half_type])
        self.assertEqual(others, expected)

    def test_trains_as_the_cpu_does_with_the_same_bits_for_every_seed(self):
        for name in PROGRAMS:
            for mode, half_type in (("fp32", "fp16"), ("autocast", "fp16"), ("half-grad", "fp16"),
                                    ("half", "fp16"), ("half-grad", "bf16"), ("half", "bf16")):
                with self.subTest(name, mode=mode, half_type=half_type):
                    self.check_mode(name, mode, half_type)

    def test_a_run_continues_on_the_other_back_end(self):
        program = Program("mlp10", self.folder)
        options = ["--precision", "half-grad"]
        on_cpu = self.folder / "on_cpu"
        halfstep("compile", program.model, *program.recipe(), "-o", on_cpu, *options)
        on_device = self.compile(program, *options, *CUDA)
        whole, _ = self.train(on_cpu, program)
        expected = logged(whole, "loss")
        ways = {"cpu": (on_cpu, []), "device": (on_device, emulated())}
        for first, second in (("cpu", "device"), ("device", "cpu")):
            with self.subTest(first=first, second=second):
                checkpoint, log = self.folder / first, self.folder / f"{first}.jsonl"
                executable, device = ways[first]
                run(executable, *program.data(), *device, "--no-shuffle", "--steps", 15, "--save",
                    checkpoint)
                executable, device = ways[second]
                run(executable, *program.data(), *device, "--steps", program.steps, "--resume",
                    checkpoint, "--log", log)
                numpy.testing.assert_allclose(logged(log, "loss"), expected[15:], rtol=1e-3)

    def test_a_deep_product_uses_the_workspace_of_the_plan(self):
        """The emulated library splits such a product, and spoils the memory it is given for that:
        the loss tells whether that memory was anything else's."""
        generator = numpy.random.default_rng(0)
        model, x, label = (self.folder / name for name in ("deep.onnx", "x.npy", "label.npy"))
        w = generator.standard_normal((1200, 8), numpy.float32)
        onnx.save(helper.make_model(helper.make_graph(
            [helper.make_node("Relu", ["x"], ["r"], "relu"),
             helper.make_node("MatMul", ["r", "w"], ["y"], "product")], "deep",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 1200])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 8])],
            [numpy_helper.from_array(w, "w")]), opset_imports=[helper.make_opsetid("", 20)],
            ir_version=10), model)
        numpy.save(x, generator.standard_normal((16, 1200), numpy.float32))
        numpy.save(label, generator.standard_normal((16, 8), numpy.float32))
        options = ["--batch", 16, "--loss", "mse", "--optimizer", "sgd:lr=1e-3"]
        plan = json.loads(output("halfstep", "inspect", model, *options, *CUDA, "--phase", "memory",
                                 "--format", "json"))
        parts = 1200 // 256
        self.assertEqual(plan["classes"]["workspace"], parts * 16 * 8 * 4)
        losses = []
        for device in ([], [*CUDA, *emulated()]):
            log = self.folder / "log.jsonl"
            halfstep("train", model, *options, *device, "--data", f"x={x}", "--data",
                     f"label={label}", "--steps", 3, "--log", log, "--quiet")
            losses.append(logged(log, "loss"))
        numpy.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)

    def test_evaluates_and_infers_as_the_cpu_does(self):
        program = Program("digits_mlp", self.folder)
        on_cpu = self.folder / "on_cpu"
        halfstep("compile", program.model, *program.recipe(), "-o", on_cpu)
        on_device = self.compile(program, *CUDA)
        self.assertEqual(output(on_cpu, *program.data(), "--evaluate", "--quiet"),
                         output(on_device, *program.data(), "--evaluate", "--quiet", *emulated()))
        x = ["--data", f"x={program.x}"]
        for executable, device in ((on_cpu, []), (on_device, emulated())):
            run(executable, *x, "--infer", "--out", f"{executable}.outputs", *device)
        outputs = [numpy.load(f"{executable}.outputs/y.npy") for executable in (on_cpu, on_device)]
        numpy.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-5, atol=1e-6)

    def test_an_executable_for_both_takes_the_device_that_is_there(self):
        program = Program("linear8", self.folder)
        both = self.compile(program, "--target", "cpu,cuda", "--with-emulation")
        self.assertIn("CUDA architecture", output(both, "--describe", "--device", "emulate"))
        self.assertNotIn("CUDA architecture", output(both, "--describe"))  # no GPU is there
        on_cpu, on_device = (logged(self.train(both, program, *device)[0], "loss")
                             for device in ([], emulated()))
        numpy.testing.assert_allclose(on_device, on_cpu, rtol=1e-5)

    def test_what_is_missing_is_said_in_a_line(self):
        program = Program("linear8", self.folder)
        with_emulation, without = self.compile(program, *CUDA), self.folder / "without"
        halfstep("compile", program.model, *program.recipe(), "-o", without, "--target", "cuda")
        message = run(without, *program.data(), *emulated(), code=2)
        self.assertIn("carries no kernels for an emulated device", message)
        self.assertIn("--with-emulation", message)
        message = run(with_emulation, *program.data(), "--steps", 1, code=1)
        self.assertIn("no driver of an NVIDIA GPU", message.splitlines()[0])
        self.assertIn("--device emulate", message)
        on_cpu = self.folder / "on_cpu"
        halfstep("compile", program.model, *program.recipe(), "-o", on_cpu)
        message = run(on_cpu, *program.data(), "--device", "0", code=2)
        self.assertIn("was compiled for the CPU", message)
        message = run(with_emulation, *program.data(), "--device", "gpu", code=2)
        self.assertIn("'gpu' is not auto, emulate or a device's number", message)


if __name__ == "__main__":
    unittest.main()
