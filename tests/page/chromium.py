"""A headless Chromium, driven over its debugging pipe: JSON messages that end in a zero byte. Needs nothing but Debian's chromium."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import urllib.parse

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """One page. `problems`: what it logged, threw, opened or refused; `requests`: every address it asked for."""

    def __init__(self, width=1280, height=900, dark=False):
        self.profile = tempfile.mkdtemp(prefix="skewscope-chromium-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        command = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                   "--disable-background-networking", f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", *command], pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.next_id, self.session = b"", 0, None
        self.problems, self.requests, self.events = [], [], set()
        target = self.ask("Target.getTargets")["targetInfos"]
        page = next(info["targetId"] for info in target if info["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.look(width, height, dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.write_end)  # the browser ends with its pipe
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def ask(self, method, timeout=60, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        until = time.monotonic() + timeout
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        self.events.add(method)
        if method == "Runtime.consoleAPICalled":
            self.problems.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.problems.append("log: " + parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append("dialog: " + parameters["message"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def look(self, width, height, dark):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, timeout=60):
        """Opens a file, or an address of http, and waits for its load event, and for a report's page until its sections are made."""
        self.events.discard("Page.loadEventFired")
        self.ask("Page.navigate", url=path if str(path).startswith("http") else "file://" + urllib.parse.quote(str(path)))
        until = time.monotonic() + timeout
        while "Page.loadEventFired" not in self.events:
            self.receive(until)
        while self.value("document.querySelector('#sections:not([data-state=made])') !== null") and time.monotonic() < until:
            time.sleep(0.02)

    def value(self, expression, timeout=60):
        """What a script expression gives, awaited."""
        result = self.ask("Runtime.evaluate", timeout, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def print_view(self):
        """The page as it goes to paper."""
        self.value("dispatchEvent(new Event('beforeprint'))")
        self.ask("Emulation.setEmulatedMedia", media="print")

    def draw_all(self):
        """Unfolds what is folded, brings every chart into view and waits until each is drawn: a heat map is painted in slices, a few milliseconds
        a frame, also after its chart said that it had finished."""
        return self.value("""(async () => {
          for (const one of document.querySelectorAll("details")) one.open = true;
          const charts = [...document.querySelectorAll(".chart")];
          for (const chart of charts) {
            chart.scrollIntoView({block: "center"});
            for (let n = 0; n < 200 && chart.dataset.state !== "drawn"; ++n) await new Promise((done) => setTimeout(done, 25));
          }
          scrollTo(0, 0);
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          const pictures = () => [...document.querySelectorAll(".chart canvas")].map((canvas) => canvas.toDataURL()).join();
          for (let before = "", now = pictures(), n = 0; n < 400 && before !== now; ++n) {
            for (let k = 0; k < 3; ++k) await frame();
            [before, now] = [now, pictures()];
          }
          return charts.length;
        })()""")

    def hints(self):
        """The texts of the hints that the mouse finds on the page's charts."""
        return self.hints_of(".chart")

    def hints_of(self, selector):
        """The same of some of them."""
        found = set()
        for at in range(self.value(f"document.querySelectorAll('{selector}').length")):
            x, y, width, height = self.value(f"""(() => {{
              const chart = document.querySelectorAll("{selector}")[{at}];
              chart.scrollIntoView({{block: "center"}});
              const box = chart.getBoundingClientRect();
              return [box.x, box.y, box.width, box.height];
            }})()""")
            for across in (0.15, 0.3, 0.5, 0.7, 0.9):
                for down in (0.15, 0.3, 0.45, 0.6, 0.75):
                    self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + width * across, y=y + height * down)
                    found.add(self.value("""new Promise((done) => setTimeout(() =>
                      done([...document.querySelectorAll(".hint")].map((hint) => hint.innerText).join("\\n")), 10))"""))
        return found - {""}

    def screenshot(self, path, selector=None):
        """The whole page, or one element of it, as a PNG file."""
        box = self.value(f"""(() => {{
          const box = {f'document.querySelector({json.dumps(selector)})' if selector else 'document.documentElement'}.getBoundingClientRect();
          return {{x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1}};
        }})()""")
        shot = self.ask("Page.captureScreenshot", format="png", clip=box, captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
