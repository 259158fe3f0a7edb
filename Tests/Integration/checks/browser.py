"""A headless Chromium, controlled over a pipe with the standard library only.

The protocol: https://chromedevtools.github.io/devtools-protocol/, messages end with NUL.
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zlib

NAMES = ("chromium", "google-chrome", "chromium-browser")


def executable():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def blocks(page):
    """Returns the data blocks of a report's page, by identifier."""
    found = re.findall(r'<script type="text/plain" id="([^"]+)">([^<]*)</script>', page)
    return {name: zlib.decompress(base64.b64decode(block)).decode() for name, block in found}


def page_text(path):
    """Returns a report's page with the content of its data blocks."""
    page = pathlib.Path(path).read_text()
    return page + "".join(blocks(page).values())


def page_data(page):
    """Returns the outline of the first failure's stores."""
    return json.loads(blocks(page)[re.search(r'data-outline="([^"]+)"', page)[1]])


class Page:
    """The one page of a browser."""

    def __init__(self, process, requests, replies):
        self.process, self.requests, self.replies = process, requests, replies
        self.number = 0
        self.rest = b""
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        while True:
            reply = self.receive()
            if reply.get("id") == self.number:
                assert "error" not in reply, f"{method}: {reply['error']}"
                return reply["result"]

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.replies, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, url):
        seen = len(self.events)
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events[seen:]):
            self.receive()

    def run(self, expression):
        """Returns the value of a JavaScript expression, which may be a promise."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def next_frame(self):
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def grid_rows(self):
        """Returns the texts of all rows of the grid `g`, which is made as high as they are."""
        self.run("g.style.maxHeight = 'none'; g.style.height = '300000px'; g.dispatchEvent(new Event('scroll')); 0")
        self.next_frame()
        rows = self.run(
            "[...g.querySelectorAll('tbody tr[data-index]')].map(r => [...r.querySelectorAll('td[data-column]')].map(c => c.textContent))")
        self.run("g.style.maxHeight = ''; g.style.height = ''; g.dispatchEvent(new Event('scroll')); 0")
        return rows

    def wait(self, expression):
        """Waits until an expression is true. The page looks once a frame, and has the processor in between."""
        found = self.run(f"""new Promise((done, fail) => {{
            const end = performance.now() + 20000;
            const look = () => {{
                try {{
                    if ({expression}) done(true);
                    else if (performance.now() > end) done(false);
                    else requestAnimationFrame(look);
                }} catch (error) {{ fail(error); }}
            }};
            look();
        }})""")
        assert found, f"{expression} did not become true"

    def press(self, key, code, text=None):
        keys = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **keys, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def show(self, width, height, scheme):
        """Sets the size of the window and the color scheme, `light` or `dark`."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600)
        self.call(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))

    @property
    def complaints(self):
        """The page's messages on the console, including exceptions and violations of its policy."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event["method"] in kinds]

    @property
    def requested(self):
        """The addresses of all loaded resources."""
        return [
            event["params"]["request"]["url"] for event in self.events
            if event["method"] == "Network.requestWillBeSent"]


@contextlib.contextmanager
def page():
    """Starts a browser, and ends it afterwards."""
    with tempfile.TemporaryDirectory(prefix="browser-") as profile:
        to_browser, requests = os.pipe()
        replies, from_browser = os.pipe()

        def connect():
            # The pipe's ends must become descriptors 3 and 4. They may already have these numbers, swapped.
            first, second = os.dup(to_browser), os.dup(from_browser)
            while first in (3, 4):
                first = os.dup(first)
            while second in (3, 4):
                second = os.dup(second)
            os.dup2(first, 3)
            os.dup2(second, 4)

        process = subprocess.Popen(
            [
                executable(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
                f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=connect, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Page(process, requests, replies)
        finally:
            os.close(requests)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()
            os.close(replies)
