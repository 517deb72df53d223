"""wug serve in a real browser: a run that starts meanwhile, curves that grow, a lab that answers.

`.ci/run` installs Chromium and requires these tests (WUG_BROWSER=required); elsewhere they are
skipped where it is missing. Pictures for a person to look at go to build/screenshots.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from wug.cli.serve import listen
from wug.fleet.sequence_plan import SequenceLot, SequencePlan
from wug.fleet.sequence_trainer import SequenceFleet
from wug.lab import Lab, keep
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import RunStore
from wug.tasks.productivity.ctl import CTL

uvicorn = pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "wug[serve]"')

from wug.report.server import make_app  # noqa: E402

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
WIDTHS = (1440, 390)
HARM = '<img src=x onerror="window.harmed=1">'
SMOKE = ("mistry2022.single_module", "--scale", "smoke", "--only", "nau:add", "--seeds", "2")


class Browser:
    """Chromium without a window.

    Args:
        driver: Selenium's.
        address: Of the server.
    """

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def open(self, page: str, width: int = 1440, height: int = 1400) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(self.address + page)

    def wait(self, script: str, seconds: float = 120.0) -> Any:
        end = time.monotonic() + seconds
        while not (found := self.run(f"return {script}")):
            assert time.monotonic() < end, f"still waiting for: {script}"
            time.sleep(0.05)
        return found

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def ask(self, network: str, text: str) -> None:
        """Choose a network by a part of its name, type, and run it."""
        self.run(
            """const select = document.querySelector("#network");
            select.value = [...select.options].find((o) => o.text.includes(arguments[0])).value;
            select.dispatchEvent(new Event("change"));
            document.querySelector("#input").value = arguments[1];
            document.querySelector("#lab button").click();""", network, text,
        )  # fmt: skip
        self.wait('!document.querySelector("#lab button").disabled')

    def complaints(self) -> list[str]:
        """Return what the console has, and every address that is not of the server."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith((self.address, "data:", "about:")):
                    said.append(f"asked for {url}")
        return said

    def screenshot(self, name: str, width: int) -> None:
        height = self.run("return document.querySelector('main').offsetHeight + 60")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / f"{name}-{width}.png").write_bytes(base64.b64decode(shot["data"]))
        assert self.run("return document.documentElement.scrollWidth") <= width


def missing(reason: str) -> None:
    """Skip, or fail where a browser is required."""
    if os.environ.get("WUG_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with an NDR that has hardly learnt, and a stack of units that adds."""
    root = tmp_path_factory.mktemp("serve") / "runs"
    lot = SequenceLot(
        name="ndr", labels={"order": HARM}, seed=0, model="ndr",
        model_options={"features": 16, "hidden_features": 32, "num_steps": 4, "num_heads": 2},
        task=CTL(order="forward", num_train=400, num_evaluation=60),
        plan=SequencePlan(steps=2, batch_size=8, evaluate_every=2),
    )  # fmt: skip
    path = root / "ctl" / "smoke" / "models" / "ndr.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WUG_CACHE", str(root.parent / "cache"))
        SequenceFleet(lot, device=torch.device("cpu"), compiled=False, keep=path).train()
    stack = ArithmeticStack(2, 1, units=("nau",))
    stack.load_state_dict({"layers.0.weight": torch.ones(1, 2)})
    keep(path.with_name("sum.safetensors"), stack, model="arithmetic_stack",
         options={"in_features": 2, "out_features": 1, "units": ["nau"]})  # fmt: skip
    return root


@pytest.fixture(scope="module")
def browser(root: Path) -> Iterator[Browser]:
    """One browser and one server for all tests."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        missing("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    try:
        from selenium import webdriver
    except ImportError:
        missing("needs selenium: pip install -r requirements/dev.txt")
    listener = listen("127.0.0.1", 0)
    app = make_app([root], lab=Lab([root]))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-background-networking",
                 "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield Browser(driver, f"http://127.0.0.1:{listener.getsockname()[1]}/")
    finally:
        driver.quit()
        server.should_exit = True
        thread.join(20)
        listener.close()


def test_a_run_that_is_started_now_appears_and_finishes(browser: Browser, root: Path) -> None:
    browser.open("live.html")
    browser.wait('document.querySelector("#said").textContent.startsWith("Nothing is at work")')
    browser.run("window.sameVisit = true")
    out = root / "mistry2022.single_module" / "smoke"
    command = [sys.executable, "-m", "wug", "run", *SMOKE, "--out", str(out), "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            section = '[data-run="runs/mistry2022.single_module/smoke"]'
            browser.wait(f"document.querySelector('{section} progress')")
            assert "1 run at work" in browser.text("#said")
            browser.wait('document.querySelector(".finished a")', 300)
        finally:
            process.terminate()
    assert browser.text(".finished a") == "mistry2022.single_module"
    assert browser.run("return window.sameVisit") is True and browser.complaints() == []
    browser.run('document.querySelector(".finished a").click()')
    browser.wait('document.title.startsWith("Single")')
    browser.wait('document.querySelectorAll("figure.chart[data-drawn] svg").length')
    assert browser.complaints() == []


def test_curves_grow_without_reloading(browser: Browser, root: Path) -> None:
    store = RunStore.open(root / "grown" / "paper", HARM, {})

    def tell(step: int) -> None:
        values = {"train": 2.0 / (step + 1), "validation": 0.5, "seconds": step / 20}
        store.report_progress("ndr.0", step=step, steps=300, rate=20.0, replicas=1, **values)

    tell(0)
    browser.open("live.html")
    points = "document.querySelector('.curve.c0').getAttribute('points').split(' ').length"
    browser.wait("document.querySelector('.curve.c0') && " + points)
    assert browser.run(f"return {points}") == 1
    for step in (50, 100, 200):
        tell(step)
    browser.wait(f"{points} === 4")
    assert browser.run("return document.querySelector('.lot progress').value") == 200
    assert browser.text(".lot .line").endswith("66 % · 20 steps/s · 5 s left")
    assert browser.text("section h2 a") == HARM and not browser.run("return window.harmed")
    for width in WIDTHS:
        browser.open("live.html", width)
        browser.wait("document.querySelector('.curve.c0')")
        browser.screenshot("live", width)
        assert browser.complaints() == []
    shutil.rmtree(store.folder)
    browser.wait("!document.querySelector('.lot')")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lab_answers_and_shows_the_routing(browser: Browser, width: int) -> None:
    browser.open("lab.html", width)
    browser.wait("document.documentElement.dataset.lab !== undefined")
    assert browser.run("return document.querySelectorAll('#network option').length") == 2
    browser.ask("NDR", "101 d a b")
    task = CTL(order="forward")
    answer = task.classes[task.answer(task.encode("101 d a b"))]
    assert browser.text(".result").startswith("101 d a b → ")
    assert "right" in browser.text(".pill") or browser.text(".pill").endswith(f"it is {answer}")
    browser.wait("document.querySelectorAll('#routing svg').length === 2")
    browser.run("""const slider = document.querySelector("#routing input[type=range]");
                slider.value = 3; slider.dispatchEvent(new Event("input"));""")
    assert "step 3 of 4" in browser.text("#routing .count")
    assert browser.run("return document.querySelectorAll('.shares progress').length") == 8
    browser.screenshot("lab", width)
    assert not browser.run("return window.harmed") and browser.complaints() == []


def test_the_lab_explains_and_computes(browser: Browser) -> None:
    browser.open("lab.html")
    browser.wait("document.documentElement.dataset.lab !== undefined")
    browser.ask("NDR", HARM)
    assert browser.text("#said").startswith("unknown token '<img'")
    assert browser.run("return document.querySelector('#answer').children.length") == 0
    browser.ask("Arithmetic stack", "2 40")
    assert browser.text(".result") == "→ 42" and "x1 + x2" in browser.text("#answer pre")
    assert not browser.run("return window.harmed")
