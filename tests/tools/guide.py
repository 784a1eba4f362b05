"""The commands of docs/guide.md run as they stand, in their order."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from support import TESTS

ROOT = TESTS.parent


class GuideTest(unittest.TestCase):
    def test_every_command(self):
        blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "guide.md").read_text(),
                            re.M | re.S)
        self.assertGreater(len(blocks), 8)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "examples").symlink_to(ROOT / "examples")
            for block in blocks:
                with self.subTest(block):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder,
                                          capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stderr)
            made = {path.name for path in folder.iterdir()}
            for name in ("digits", "digits.html", "digits.jsonl", "digits.safetensors",
                         "trained.onnx", "outputs", "digits-cuda", "digits.so"):
                self.assertIn(name, made)


if __name__ == "__main__":
    unittest.main()
