"""A training executable runs where there is nothing but the C and C++ libraries."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support import EMULATED, ON_CUDA, Program, halfstep, logged, run

LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1")


def chroot_command():
    """How this user can enter another root; None where that is not allowed."""
    chroot, unshare = shutil.which("chroot", path="/usr/sbin:/sbin"), shutil.which("unshare")
    for command in ([chroot], [unshare, "--map-root-user", chroot]):
        if subprocess.run([*command, "/", "true"], capture_output=True).returncode == 0:
            return command
    return None


def needed_libraries(executable):
    """Path of each library that the loader maps for `executable`."""
    text = subprocess.run(["ldd", executable], capture_output=True, text=True, check=True).stdout
    return {pathlib.Path(path).name: path for path in re.findall(r"(/\S+) \(0x", text)}


class BareMachineTest(unittest.TestCase):
    def test_runs_with_c_and_cxx_libraries_alone(self):
        if ON_CUDA and not EMULATED:
            self.skipTest("a GPU needs its driver besides")
        enter = chroot_command()
        if not enter:
            self.skipTest("not allowed to change the root folder")
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            program = Program("mlp10", root)
            halfstep("compile", program.model, *program.recipe(), "-o", root / "train")
            libraries = needed_libraries(root / "train")
            loader, = (name for name in libraries if name.startswith("ld-linux"))
            self.assertLessEqual(set(libraries), {*LIBRARIES, loader})
            for path in libraries.values():
                target = root / path.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            shutil.copy(program.x, root / "x.npy")
            shutil.copy(program.label, root / "label.npy")

            run(*enter, root, "/train", "--steps", program.steps, "--no-shuffle",
                "--data", "x=/x.npy", "--data", "label=/label.npy", "--log", "/log.jsonl", env={})
            self.assertEqual(len(logged(root / "log.jsonl", "loss")), program.steps)


if __name__ == "__main__":
    unittest.main()
