"""A headless Chromium for tests of pages, driven over its DevTools protocol.

The protocol goes through two pipes (--remote-debugging-pipe): no port, no driver, no package. What
a page does wrong is collected: errors, refusals of its content security policy, requests.
"""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")


class Browser:
    def __init__(self, width=1440, height=900):
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        assert program, f"none of {', '.join(PROGRAMS)} is installed"
        self.folder = tempfile.TemporaryDirectory()
        # Chromium reads commands from descriptor 3 and answers through 4.
        pipes = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (*os.pipe(), *os.pipe())]
        theirs, self.commands, self.answers, theirs_too = pipes

        def give_pipes():
            os.dup2(theirs, 3)
            os.dup2(theirs_too, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={width},{height}",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=give_pipes, pass_fds=(3, 4), env={**os.environ, "HOME": self.folder.name},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(theirs_too)
        self.received = b""
        self.count = 0
        self.session = None
        self.events = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        os.close(self.commands)
        os.close(self.answers)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def receive(self):
        """The next message: an answer, or an event, which is kept too."""
        while b"\0" not in self.received:
            data = os.read(self.answers, 1 << 16)
            assert data, "the browser has ended"
            self.received += data
        text, self.received = self.received.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def send(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.count:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def load(self, path, scheme="light"):
        """Opens a file and waits until it is loaded."""
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.send("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def run(self, expression):
        """The value of a JavaScript expression; an exception is an error."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def settle(self):
        """Waits until what has been asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def problems(self):
        """Errors and warnings of the page, and every request but the one for its file."""
        found = []
        for event in self.events:
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"])
            elif method == "Runtime.consoleAPICalled":
                found.append(parameters["args"])
            elif method == "Log.entryAdded":
                found.append(parameters["entry"])
            elif method == "Network.requestWillBeSent" and parameters.get("type") != "Document":
                found.append(parameters["request"]["url"])
        return found

    # A person's hands.

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for click in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=click)
            self.mouse("mouseReleased", x, y, button="left", clickCount=click)
        self.settle()

    def type(self, text):
        self.send("Input.insertText", text=text)
        self.settle()

    def press(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent",
                      type=kind,
                      key=key,
                      windowsVirtualKeyCode=code,
                      **text)
        self.settle()

    def screenshot(self, path):
        self.settle()
        image = self.send("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(image))
