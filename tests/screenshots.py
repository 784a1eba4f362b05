"""Takes the pictures of docs/inspecting.md: screenshots.py [FOLDER], into docs/images without one.

halfstep is found through PATH, as in the tests.
"""

import json
import pathlib
import sys
import tempfile

import onnx

from browser import Browser
from support import DATA, TESTS, output
from transformer import transformer

RECIPE = "--batch 16 --optimizer adamw --precision half-grad".split()


def main():
    images = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TESTS.parent / "docs" / "images")
    images.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, Browser(1280, 800) as browser:
        folder = pathlib.Path(temporary)
        onnx.save(transformer(12), folder / "transformer.onnx")

        def load(model, loss):
            page = folder / "page.html"
            page.write_text(output("halfstep", "inspect", model, *RECIPE, "--loss", loss,
                                   "--format", "html"))
            browser.load(page)

        def click(selector):
            x, y = browser.run(f"(box => [box.x + box.width / 2, box.y + box.height / 2])"
                               f"(document.querySelector({json.dumps(selector)})"
                               f".getBoundingClientRect())")
            browser.click(x, y)

        load(DATA / "digits_cnn_plain.onnx", "cross-entropy")
        click("[data-id='Forward/conv2/Conv'] .face")
        browser.screenshot(images / "digits_cnn_plain.graph.png")
        click("[data-view=memory]")
        browser.screenshot(images / "digits_cnn_plain.memory.png")
        load(folder / "transformer.onnx", "mse")
        browser.screenshot(images / "transformer.graph.png")


if __name__ == "__main__":
    main()
