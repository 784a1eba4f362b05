"""The page of `halfstep inspect --format html`, in a browser."""

import json
import pathlib
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

from browser import Browser
from support import DATA, Program, halfstep, output
from transformer import transformer

RECIPE = "--batch 16 --optimizer adam --precision half-grad".split()
# What a browser takes for markup, for the end of a script, or for the end of a line.
EVIL = [
    "/<img id=evil src=x onerror=evil()>", "/</script><script id=evil>evil()</script>",
    "/\"'><b id=evil>", "/a\u2028b\u2029c", "/<!--<script>", "/&lt;i id=evil&gt;", "/{{script}}"
]


def chain(names):
    """A model of one Relu behind the other, with a product in the end."""
    nodes = [helper.make_node("Relu", [f"{i}"], [f"{i + 1}"], name) for i, name in enumerate(names)]
    nodes.append(helper.make_node("MatMul", [str(len(names)), "w"], ["y"], "last"))
    graph = helper.make_graph(
        nodes, "chain", [helper.make_tensor_value_info("0", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor("w", TensorProto.FLOAT, [4, 2], [1.0] * 8)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.browser = cls.enterClassContext(Browser())
        cls.digits = cls.page("digits.html", DATA / "digits_cnn_plain.onnx", "--loss",
                              "cross-entropy")

    @classmethod
    def page(cls, name, model, *options):
        path = cls.folder / name
        path.write_text(output("halfstep", "inspect", model, *RECIPE, *options, "--format", "html"))
        return path

    def open(self, path, scheme="light"):
        self.browser.load(path, scheme)
        self.addCleanup(lambda: self.assertEqual(self.browser.problems(), []))

    def run_js(self, expression):
        return self.browser.run(expression)

    def place(self, selector):
        """The middle of an element on the screen."""
        return self.run_js(
            f"(box => [box.x + box.width / 2, box.y + box.height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")

    def click(self, selector, count=1):
        self.browser.click(*self.place(selector), count)

    def box(self, item):
        return f"[data-id='{item}'] .face"

    def texts(self, selector):
        return self.run_js(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(x => x.textContent)")

    def choose_phase(self, name):
        number = self.texts("#phases button").index(name) + 1
        self.click(f"#phases button:nth-child({number})")

    def find(self, text):
        self.browser.press("/", 191)
        self.run_js("byId('search').value = ''")
        self.browser.type(text)
        return self.texts("#found li b")

    def test_click_shows_types_reason_and_bytes(self):
        self.open(self.digits)
        self.click(self.box("Forward/conv2/Conv"))
        self.assertEqual(self.texts("#details h2"), ["/conv2/Conv"])
        self.assertEqual(self.texts("#details h3"), ["Forward", "Gradient", "Update"])
        first = self.texts("#details li")[0]
        for part in ("conv 16x16x4x4xf16, 32x16x3x3xf16 → 16x32x4x4xf16, 16.0 KiB", "category: ",
                     "copy conv2.weight"):
            self.assertIn(part, first)

    def test_gradient_and_update_of_a_node_light_up(self):
        self.open(self.digits)
        linked = "[...document.querySelectorAll('.linked')].map(x => x.dataset.id).sort()"
        self.click(self.box("Forward/conv2/Conv"))
        self.assertEqual(self.run_js(linked), ["Gradient/conv2/Conv", "Update/update"])
        # What has no parameter is not updated.
        self.click(self.box("Forward/Relu_1"))
        self.assertEqual(self.run_js(linked), ["Gradient/Relu_1"])
        # It is the same the other way round.
        self.click(self.box("Gradient/Relu_1"))
        self.assertEqual(self.run_js(linked), ["Forward/Relu_1"])
        self.click(self.box("Update/update"))
        parameters = ["conv1/Conv", "conv2/Conv", "fc/Gemm"]
        self.assertEqual(self.run_js(linked), [*(f"Forward/{name}" for name in parameters),
                                               *(f"Gradient/{name}" for name in parameters)])

    def test_tooltip(self):
        self.open(self.digits)
        self.browser.mouse("mouseMoved", *self.place(self.box("Gradient/Relu")))
        self.browser.settle()
        tip = self.run_js("tip.hidden ? '' : tip.textContent")
        for part in ("/Relu", "map, gradient", "gives 16x16x8x8xf16, 32.0 KiB", "policy: "):
            self.assertIn(part, tip)

    def test_scopes_open_and_close(self):
        self.open(self.digits)
        drawn = "[...document.querySelectorAll('.box')].filter(x => x.dataset.id.startsWith('Forward/conv2')).length"
        self.assertEqual(self.run_js(drawn), 1)
        self.click(self.box("Forward/conv2/Conv"), count=2)
        self.assertEqual(self.run_js(drawn), 3)
        self.click("[data-id='Forward/conv2/Conv'] .head")
        self.assertEqual(self.run_js(drawn), 1)
        self.click("#expand")
        self.assertEqual(self.run_js("graph.items.get('Gradient/loss').open"), True)
        self.click("#collapse")
        self.assertEqual(self.run_js("[...graph.items.values()].some(x => x.open && x.parent)"),
                         False)

    def test_phases(self):
        self.open(self.digits)
        self.assertEqual(self.texts("#phases button"),
                         ["import", "grad", "precision", "update", "kernels", "memory", "emit"])
        self.click(self.box("Forward/conv2/Conv"))
        self.choose_phase("import")
        self.assertEqual(self.texts(".lane > .head"), ["forward ↓"])
        self.assertEqual(self.run_js("document.querySelector(\".chosen .sub\").textContent"),
                         "16x32x4x4xf32")
        self.choose_phase("grad")
        self.assertEqual(self.texts(".lane > .head"), ["Forward ↓", "Gradient ↑"])
        # Entries have no reasons of their own: those of the operations that they were made from.
        self.choose_phase("emit")
        self.assertEqual(self.texts("#details h2"), ["/conv2/Conv"])
        self.assertIn("conv 16x32x4x4xf16: category", self.texts("#details li"))
        self.assertIn(" flops", self.texts("#details li")[0])

    def test_programs(self):
        self.open(self.digits)
        self.assertEqual(self.texts("#program option"),
                         ["training step", "evaluate", "infer", "init"])
        self.run_js(
            "byId('program').value = 'infer'; byId('program').dispatchEvent(new Event('change'))")
        self.assertEqual(self.texts(".lane > .head"), ["infer ↓"])

    def test_memory(self):
        plan = json.loads(
            output("halfstep", "inspect", DATA / "digits_cnn_plain.onnx", *RECIPE, "--loss",
                   "cross-entropy", "--phase", "memory", "--format", "json"))
        self.open(self.digits)
        self.click("[data-view=memory]")
        self.assertEqual(self.run_js("Number(byId('peak').dataset.bytes)"), plan["peak_bytes"])
        self.assertEqual(self.run_js("timeline.slices"), plan["slices"])
        live = sum(s["bytes"] for s in plan["slices"] if s["name"] in plan["live_at_peak"])
        self.assertEqual(self.run_js("timeline.liveBytes"), live)
        # Where it says that most is live, that is live.
        entry = self.run_js("timeline.busiest")
        arena = [s for s in plan["slices"] if s["class"] in ("activations", "workspace")]
        self.assertEqual(sum(s["bytes"] for s in arena if s["first"] <= entry <= s["last"]), live)
        # Over every slice of the arena its name appears.
        left, top = self.run_js("(box => [box.x, box.y])(byId('timeline').getBoundingClientRect())")
        for number, slice in enumerate(arena):
            x, y = self.run_js(
                f"(frame => (slice => [frame.x((slice.first + slice.last + 1) / 2),"
                f" frame.y(slice.offset + slice.bytes / 2)])(frame.slices[{number}]))"
                f"(frameOf(byId('timeline')))")
            self.browser.mouse("mouseMoved", left + x, top + y)
            if slice["bytes"] * 50 > live:  # others are thinner than the pointer
                self.assertEqual(self.run_js("tip.firstChild.textContent"), slice["name"])
        self.click("[data-range=all]")
        masters = f"masters {plan['classes']['masters'] / 1024:.1f} KiB"
        self.assertIn(masters, self.texts("#classes .key"))
        # A click on a slice goes to the entry that makes it.
        self.click("[data-range=arena]")
        slice = max(arena, key=lambda each: each["bytes"])
        x, y = self.run_js(
            f"(frame => [frame.x({slice['first']}) + 2, frame.y({slice['offset']}) - 2])"
            f"(frameOf(byId('timeline')))")
        self.browser.mouse("mouseMoved", left + x, top + y)
        self.browser.click(left + x, top + y)
        self.assertEqual(self.run_js("graph.chosen.node.op"), slice["name"].split("/")[2])
        self.assertEqual(self.run_js("graph.chosen.node.entry"), slice["first"])

    def test_entries(self):
        report = json.loads(
            output("halfstep", "inspect", DATA / "digits_cnn_plain.onnx", *RECIPE, "--loss",
                   "cross-entropy", "--phase", "emit", "--format", "json"))
        entries = [entry for program in report["programs"] for entry in program["entries"]]
        self.open(self.digits)
        self.click("[data-view=entries]")
        self.assertEqual(self.run_js("table.rows.length"), len(entries))
        names = self.texts("#rows td:nth-child(3)")
        self.assertEqual(names, [entry["name"] for entry in entries][:len(names)])
        self.click("#rows th:nth-child(6)")  # flops
        most = max(entry["flops"] for entry in entries)
        self.assertEqual(self.run_js("table.rows[0].flops"), most)
        self.assertEqual(self.texts("#rows td:nth-child(6)")[0], self.run_js(f"countText({most})"))
        self.click("#rows tbody tr:nth-child(2)")  # behind what stands for rows out of sight
        self.assertEqual(self.run_js("graph.chosen.node.entry - timeline.programs.find("
                                     "x => x.name === table.rows[0].program).first"),
                         self.run_js("table.rows[0].number"))

    def test_entries_of_a_cuda_step(self):
        self.open(self.page("cuda.html", DATA / "mlp10.onnx", "--loss", "mse", "--target", "cuda"))
        self.click("[data-view=entries]")
        titles = self.texts("#rows th")
        for title in ("registers", "shared", "A100", "H200"):
            self.assertIn(title, titles)
        self.assertRegex(
            self.texts(f"#rows td:nth-child({titles.index('registers') + 1})")[0], r"^\d+$")
        self.assertRegex(
            self.texts(f"#rows td:nth-child({titles.index('A100') + 1})")[0], r"^[\d.]+ [nµ]s$")

    def give_log(self, path):
        document = self.browser.send("DOM.getDocument")["root"]["nodeId"]
        field = self.browser.send("DOM.querySelector", nodeId=document, selector="#log")["nodeId"]
        self.browser.send("DOM.setFileInputFiles", nodeId=field, files=[str(path)])
        self.browser.settle()
        self.run_js("new Promise(done => setTimeout(done, 100))")  # the file is read
        self.browser.settle()

    def test_numbers_of_a_probed_run(self):
        program = Program("digits_cnn_plain", self.folder)
        log = self.folder / "probe.jsonl"
        halfstep("train", program.model, *RECIPE, "--loss", "cross-entropy", *program.data(),
                 "--steps", 2, "--probe", "--log", log)
        events = [json.loads(line) for line in log.read_text().splitlines()]
        self.open(self.digits)
        self.click("[data-view=numbers]")
        self.give_log(log)
        self.assertEqual(self.texts("#probed"), ["the largest share in any of 2 steps"])
        relu = next(event["tensor"] for event in events if "/Relu" in event.get("nodes", ""))
        row = self.run_js(f"numbers.rows.find(x => x.tensor === {json.dumps(relu)})")
        self.assertEqual(row["zeros"], max(event["zeros"] for event in events
                                           if event.get("tensor") == relu))
        self.assertTrue(self.run_js("numbers.rows.some(x => x.parameter === 'fc.weight')"))
        self.click("#tensors th:nth-child(5)")  # zeros
        most = self.run_js("numbers.rows[0]")
        self.click("#tensors tbody tr:nth-child(2)")
        self.assertIn(most["nodes"].split(", ")[0], self.run_js("graph.chosen.nodes[0].onnx"))
        # What is no log is said to be none.
        self.click("[data-view=numbers]")
        for name, text, said in (("broken", "{\n", "line 1 is no JSON"),
                                 ("other", '{"event":"step"}\n', "it has no events of --probe")):
            path = self.folder / name
            path.write_text(text)
            self.give_log(path)
            self.assertEqual(self.texts("#probed"), [f"{name}: {said}"])
            self.assertEqual(self.run_js("numbers.rows.length"), 0)

        infinite = self.folder / "infinite"
        infinite.write_text('{"event":"probe","step":1,"parameter":"w","update_ratio":"Infinity"}')
        self.give_log(infinite)
        self.assertIn("Infinity", self.texts("#tensors td"))

    def test_search_finds_a_node_and_opens_its_scopes(self):
        model = self.folder / "transformer.onnx"
        onnx.save(transformer(12), model)
        self.open(self.page("transformer.html", model, "--loss", "mse", "--phase", "update"))
        gelu = "Forward/blocks.7/mlp/act/Gelu"
        self.assertIsNone(self.run_js(f"document.querySelector(\"[data-id='{gelu}']\")"))
        self.assertEqual(self.find("blocks.7/mlp/act")[0], "/blocks.7/mlp/act/Gelu")
        self.browser.press("Enter", 13)
        self.assertEqual(self.run_js("document.querySelector('.box.chosen').dataset.id"), gelu)
        x, y = self.place(self.box(gelu))
        self.assertTrue(0 < x < 1090 and 100 < y < 860, (x, y))
        self.assertEqual(self.texts("#details h2"), ["/blocks.7/mlp/act/Gelu"])
        # A parameter's name finds what reads it; arrows choose among what was found.
        self.assertTrue(self.find("blocks.3.attn.q.bias"))
        self.browser.press("ArrowDown", 40)
        self.assertEqual(
            self.run_js("[...byId('found').children].findIndex(x => x.ariaSelected === 'true')"), 1)
        self.assertEqual(self.find("no such node"), [])

    def test_keyboard(self):
        self.open(self.digits)
        self.click(self.box("Forward/conv2/Conv"))
        self.browser.press("Enter", 13)
        self.assertTrue(self.run_js("graph.items.get('Forward/conv2/Conv').open"))
        scale = self.run_js("graph.scale")
        self.browser.press("-", 189)
        self.assertLess(self.run_js("graph.scale"), scale)
        self.browser.press("Escape", 27)
        self.assertEqual(self.texts(".chosen"), [])
        # A button that was clicked has the focus, and takes no keys but its own.
        self.click("#fit")
        scale = self.run_js("graph.scale")
        self.browser.press("+", 187)
        self.assertGreater(self.run_js("graph.scale"), scale)
        self.click(self.box("Forward/conv1/Conv"))
        self.run_js("byId('fit').focus()")
        is_open = "graph.items.get('Forward/conv1/Conv').open"
        before = self.run_js(is_open)
        self.browser.press("Enter", 13)
        self.assertEqual(self.run_js(is_open), before)

    def check_thousands(self, path):
        """However much is open and in sight, the page holds a bounded number of elements."""
        self.open(path)
        self.assertGreaterEqual(self.run_js("graph.lanes[0].leaves.length"), 2000)
        count = "document.querySelectorAll('*').length"
        self.assertLess(self.run_js(count), 1000)
        self.click("#expand")
        self.assertLess(self.run_js(count), 2500)
        self.click("#fit")
        self.assertLess(self.run_js(count), 8000)
        scale = self.run_js("graph.scale")
        for _ in range(12):
            self.browser.press("+", 187)
        self.assertGreater(self.run_js("graph.scale"), 5 * scale)
        self.assertLess(self.run_js(count), 1000)
        scale = self.run_js("graph.scale")
        self.browser.mouse("mouseWheel", 400, 500, deltaX=0, deltaY=400)
        self.browser.settle()
        self.assertLess(self.run_js("graph.scale"), scale)
        self.assertLess(self.run_js(count), 2500)
        for phase in self.texts("#phases button"):
            with self.subTest(phase):
                self.choose_phase(phase)
                self.assertEqual(self.run_js("page.phase.name"), phase)
                self.click("#expand")
                self.assertLess(self.run_js(count), 1000)

    def test_thousands_of_nodes_in_scopes(self):
        model = self.folder / "large.onnx"
        onnx.save(transformer(75), model)
        self.check_thousands(self.page("large.html", model, "--loss", "mse", "--phase", "update"))
        self.assertEqual(self.find("blocks.74/mlp/act")[0], "/blocks.74/mlp/act/Gelu")
        self.browser.press("Enter", 13)
        self.assertEqual(self.texts("#details h2"), ["/blocks.74/mlp/act/Gelu"])

    def test_thousands_of_nodes_without_scopes(self):
        model = self.folder / "flat.onnx"
        onnx.save(chain([f"relu{i}" for i in range(2000)]), model)
        path = self.page("flat.html", model, "--loss", "mse")
        self.check_thousands(path)
        self.click("[data-view=entries]")
        self.assertLess(self.run_js("document.querySelectorAll('#rows *').length"), 1500)
        self.click("[data-view=memory]")

    def test_names_stay_text(self):
        model = self.folder / "<b id=evil>.onnx"
        onnx.save(chain(EVIL), model)
        path = self.page("evil.html", model, "--loss", "mse")
        for line in path.read_text().splitlines():
            self.assertNotIn("id=evil>", line)
            self.assertNotRegex(line, "[\u2028\u2029]")
        self.open(path)
        self.assertEqual(self.texts("h1"), ["<b id=evil>.onnx"])
        self.click("#expand")
        names = self.run_js(
            "[...new Set(graph.lanes.flatMap(x => x.leaves).flatMap(x => x.node.onnx))]")
        for name in EVIL:
            self.assertIn(name, names)
            self.assertTrue(self.find(name[1:]))
            self.browser.press("Enter", 13)
            self.assertEqual(self.texts("#details h2"), [name])
            self.browser.mouse("mouseMoved", *self.place(".chosen .face"))
            self.browser.settle()
        for view in ("memory", "entries"):
            self.click(f"[data-view={view}]")
        self.assertEqual(self.texts("#evil"), [])
        self.assertEqual(self.run_js("typeof evil"), "undefined")
        self.assertEqual(self.run_js("document.scripts.length"), 2)

    def test_what_a_phase_lacks(self):
        self.open(self.page("grad.html", DATA / "mlp10.onnx", "--loss", "mse", "--phase", "grad"))
        self.assertEqual(self.texts("#phases button"), ["import", "grad"])
        self.assertEqual(self.texts("#views button:disabled"), ["Memory", "Entries"])

    def test_page_of_a_dump(self):
        output("halfstep", "inspect", DATA / "mlp10.onnx", *RECIPE, "--loss", "mse", "--phase",
               "memory", "--dump-phases", self.folder / "dumps")
        path = self.folder / "dump.html"
        path.write_text(output("halfstep", "inspect", self.folder / "dumps" / "05-kernels.mlir",
                               "--format", "html"))
        self.open(path)
        self.assertEqual(self.texts("#phases button"), ["kernels", "memory", "emit"])
        self.assertEqual(self.texts("#views button:disabled"), [])

    def test_dark(self):
        background = "getComputedStyle(document.body).backgroundColor"
        self.open(self.digits, "dark")
        self.assertEqual(self.run_js(background), "rgb(20, 24, 30)")
        self.open(self.digits, "light")
        self.assertEqual(self.run_js(background), "rgb(255, 255, 255)")


if __name__ == "__main__":
    unittest.main()
