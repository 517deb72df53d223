"""Chromium without a window, for tests of pages.

`.ci/run` installs it and requires these tests (WUG_BROWSER=required); elsewhere they are skipped
where it is missing. Pictures for a person to look at go to build/screenshots.
"""

import base64
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
WIDTHS = (1440, 390)
TALL = 12_000
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage",
    "--disable-gpu", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
DRAWN = """
document.documentElement.dataset.ready !== undefined
&& [...document.querySelectorAll("figure.chart")].every((f) => !f.offsetParent
                                                            || "drawn" in f.dataset)
"""


class Browser:
    """A window on pages of one place.

    Args:
        driver: Selenium's.
        home: How their addresses begin.
    """

    def __init__(self, driver: Any, home: str) -> None:
        self.driver, self.home = driver, home

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def resize(self, width: int, height: int = TALL) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def visit(self, address: str) -> None:
        """Open a page, and forget what others said."""
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(address)

    def open(self, path: Path, after: str = "") -> None:
        """Visit a page on the disk, until it is drawn."""
        self.visit(path.as_uri() + after)
        self.settle()

    def settle(self) -> None:
        """Wait until everything in sight is drawn."""
        self.wait(DRAWN)

    def wait(self, expression: str, seconds: float = 120.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return ({expression})"):
            assert time.monotonic() < end, f"still waiting for: {expression}"
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """Return what the console has, and every address that is elsewhere."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith((self.home, "data:", "blob:", "about:")):
                    said.append(f"asked for {url}")
        return said

    def press(self, *keys: str) -> None:
        """Press keys, where the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def print(self) -> bytes:
        """Return the page on paper, as PDF."""
        answer = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        return base64.b64decode(answer["data"])

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return list(self.run(script, selector))

    def choose(self, selector: str, value: str) -> None:
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}));", selector, value,
        )  # fmt: skip
        self.settle()

    def fits(self, width: int) -> bool:
        """Tell whether nobody has to scroll sideways."""
        return bool(self.run("return document.documentElement.scrollWidth") <= width)

    def screenshot(self, name: str, width: int, most: int = 5000) -> Path:
        height = min(self.run("return document.querySelector('main').offsetHeight + 60"), most)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}-{width}.png"
        path.write_bytes(base64.b64decode(shot["data"]))
        return path


def missing(reason: str) -> NoReturn:
    """Skip, or fail where a browser is required."""
    if os.environ.get("WUG_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def chromium(home: str = "file:", *flags: str) -> Iterator[Browser]:
    """Start a browser, perhaps with further flags, and end it."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if binary is None or driver_path is None:
        missing("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    try:
        from selenium import webdriver
    except ImportError:
        missing("needs selenium: pip install -r requirements/dev.txt")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield Browser(driver, home)
    finally:
        driver.quit()
