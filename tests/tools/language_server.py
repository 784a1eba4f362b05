"""An editor's session with halfstep-lsp-server, over the language server protocol.

Dumps of the project are opened, broken, mended and asked about; the answers are those of an editor
that knows nothing of our dialects.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

from support import DATA, halfstep


class Client:
    """The editor's end of the protocol: JSON-RPC over the server's standard input and output."""

    def __init__(self):
        self.server = subprocess.Popen(["halfstep-lsp-server"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.notifications = []

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.server.stdout.readline()) != b"\r\n":
            assert line, "the server has ended"
            if line.startswith(b"Content-Length: "):
                length = int(line.split()[1])
        return json.loads(self.server.stdout.read(length))

    def request(self, method, **parameters):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": parameters})
        while (message := self.receive()).get("id") != self.last:
            self.notifications.append(message)
        return message["result"]

    def notify(self, method, **parameters):
        self.send({"method": method, "params": parameters})

    def diagnostics(self):
        """Of the document that was opened or changed last."""
        while True:
            message = self.notifications.pop(0) if self.notifications else self.receive()
            if message["method"] == "textDocument/publishDiagnostics":
                return message["params"]["diagnostics"]

    def close(self):
        self.request("shutdown")
        self.notify("exit")
        self.server.stdin.close()
        code = self.server.wait(timeout=30)
        self.server.stdout.close()
        return code


def place(text, part, of=0):
    """The position of `part` in `text`, from its occurrence number `of` on."""
    at = -1
    for _ in range(of + 1):
        at = text.index(part, at + 1)
    return {"line": text.count("\n", 0, at), "character": at - (text.rfind("\n", 0, at) + 1)}


class LanguageServerTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        halfstep("inspect", DATA / "mlp10.onnx", "--batch", 16, "--loss", "mse", "--optimizer",
                 "sgd", "--phase", "memory", "--dump-phases", self.folder)
        self.client = Client()
        answer = self.client.request("initialize", processId=None, rootUri=None, capabilities={})
        for ability in ("definitionProvider", "hoverProvider", "referencesProvider"):
            self.assertTrue(answer["capabilities"][ability], ability)
        self.client.notify("initialized")

    def tearDown(self):
        self.assertEqual(self.client.close(), 0)

    def open(self, name, text):
        """What the editor knows a document by, and the server's diagnostics of it."""
        document = {"uri": (self.folder / name).as_uri()}
        self.client.notify("textDocument/didOpen", textDocument={
            **document, "languageId": "mlir", "version": 1, "text": text})
        return document, self.client.diagnostics()

    def test_dumps_of_every_phase_are_without_fault(self):
        dumps = sorted(self.folder.glob("*.mlir"))
        self.assertEqual(len(dumps), 6)
        for path in dumps:
            with self.subTest(path.name):
                self.assertEqual(self.open(path.name, path.read_text())[1], [])

    def test_a_fault_is_shown_where_it_is_and_goes_when_mended(self):
        text = (self.folder / "02-grad.mlir").read_text()
        broken = text.replace("train.relu", "train.rely", 1)
        document, diagnostics = self.open("broken.mlir", broken)
        self.assertEqual(len(diagnostics), 1)
        self.assertIn("train.rely", diagnostics[0]["message"])
        self.assertEqual(diagnostics[0]["range"]["start"]["line"],
                         place(broken, "train.rely")["line"])
        self.client.notify("textDocument/didChange", textDocument={**document, "version": 2},
                           contentChanges=[{"text": text}])
        self.assertEqual(self.client.diagnostics(), [])

    def test_what_an_op_refuses_is_shown_too(self):
        text = ("func.func @f(%x: tensor<4xf32>, %w: tensor<3xf32>) -> tensor<4xf32> {\n"
                "  %y = train.add %x, %w : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>\n"
                "  return %y : tensor<4xf32>\n}\n")
        _, diagnostics = self.open("shapes.mlir", text)
        self.assertIn("cannot broadcast [4] and [3]", diagnostics[0]["message"])
        self.assertEqual(diagnostics[0]["range"]["start"]["line"], 1)

    def test_an_op_says_what_it_is(self):
        text = (self.folder / "02-grad.mlir").read_text()
        document, _ = self.open("grad.mlir", text)
        hover = self.client.request("textDocument/hover", textDocument=document,
                                    position=place(text, "train.relu"))
        self.assertIn('"train.relu"', hover["contents"]["value"])

    def test_a_value_leads_to_the_op_that_makes_it(self):
        text = (self.folder / "05-kernels.mlir").read_text()
        document, _ = self.open("kernels.mlir", text)
        use = place(text, "table.launch @")
        use["character"] += len("table.launch @")
        kernel = text.split("table.launch @", 1)[1].split("(")[0]
        definition = next(d for d in (f"kernel.group @{kernel}", f"kernel.contract @{kernel}")
                          if d in text)
        [found] = self.client.request("textDocument/definition", textDocument=document,
                                      position=use)
        self.assertEqual(found["uri"], document["uri"])
        self.assertEqual(found["range"]["start"]["line"], place(text, definition)["line"])


if __name__ == "__main__":
    unittest.main()
