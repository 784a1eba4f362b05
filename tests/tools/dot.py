"""`halfstep inspect --format dot`, read by Graphviz."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import onnx

from inspect_page import EVIL, chain
from support import DATA, output
from transformer import transformer

RECIPE = "--batch 16 --optimizer adam --precision half-grad --format dot --phase".split()


def graph_of(*command):
    """The graph as Graphviz has read and laid it out."""
    text = output("halfstep", "inspect", *command)
    done = subprocess.run(["dot", "-Tjson"], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


class DotTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_nodes_edges_and_colours(self):
        graph = graph_of(DATA / "digits_cnn_plain.onnx", *RECIPE, "precision", "--loss",
                         "cross-entropy")
        objects = graph["objects"]
        labels = [each["label"] for each in objects if each["name"].startswith("cluster")]
        self.assertIn("@micro", labels)
        self.assertIn("conv2", labels)
        conv = [each for each in objects if each.get("label") == "conv\\n16x32x4x4xf16"]
        self.assertEqual({each["fillcolor"] for each in conv}, {"#cfe2ff"})
        self.assertIn("/conv2/Conv\ncopy conv2.weight\nforward, 16.0 KiB\ncategory",
                      conv[0]["tooltip"].replace("\\n", "\n"))
        loss = next(each for each in objects if each.get("label") == "cross_entropy\\nf32")
        self.assertEqual(loss["fillcolor"], "#ffe6bd")
        into = [objects[edge["tail"]]["label"] for edge in graph["edges"]
                if objects[edge["head"]] in conv]
        self.assertIn("max_pool\\n16x16x4x4xf16", into)
        self.assertIn("conv2.weight\\n32x16x3x3xf16", into)

    def test_every_phase(self):
        for phase in ("import", "grad", "precision", "update", "kernels", "memory", "emit"):
            with self.subTest(phase):
                graph = graph_of(DATA / "mlp10.onnx", *RECIPE, phase, "--loss", "mse")
                self.assertTrue(graph["edges"])

    def test_scopes_are_nested(self):
        onnx.save(transformer(2), self.folder / "transformer.onnx")
        graph = graph_of(self.folder / "transformer.onnx", *RECIPE, "import", "--loss", "mse")
        inside = {graph["objects"][inner]["label"]
                  for each in graph["objects"] if each.get("label") == "blocks.1"
                  for inner in each["subgraphs"]}
        self.assertLessEqual({"attn", "mlp", "ln1"}, inside)

    def test_names_stay_names(self):
        names = [*EVIL, '/a"];b[label="c', "/d\\", "/e\\N"]
        model = self.folder / "evil.onnx"
        onnx.save(chain(names), model)
        graph = graph_of(model, *RECIPE, "import", "--loss", "mse")
        # What is in a name makes no node: an input, a weight, the chain and its end.
        nodes = [each for each in graph["objects"] if not each["name"].startswith("cluster")]
        self.assertEqual(len(nodes), len(names) + 3)


if __name__ == "__main__":
    unittest.main()
