"""The site in a real browser: it opens from disk, is silent, asks for nothing, and works.

`.ci/run` installs Chromium and requires these tests (WUG_BROWSER=required); elsewhere they are
skipped where it is missing. Pictures for a person to look at go to build/screenshots.
"""

import base64
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.core.folders import results_folder
from wug.report.site import write_site
from wug.report.sources import find_sources

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
EXPERIMENTS = ("mistry2022.single_module", "trask2018.identity")
WIDTHS = (1440, 390)
TALL = 12_000
DRAWN = """
const charts = [...document.querySelectorAll("figure.chart")].filter((f) => f.offsetParent);
return document.documentElement.dataset.ready !== undefined
  && charts.every((f) => "drawn" in f.dataset);
"""


class Browser:
    """Chromium without a window.

    Args:
        driver: Selenium's.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def resize(self, width: int, height: int = TALL) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def open(self, path: Path, after: str = "") -> None:
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + after)
        self.settle()

    def settle(self) -> None:
        """Wait until everything in sight is drawn."""
        self.wait(DRAWN)

    def wait(self, script: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"still waiting for: {script}"
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """Return what the console has, and every address that is not of this disk."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("file:", "data:", "blob:", "about:")):
                    said.append(f"asked for {url}")
        return said

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return list(self.run(script, selector))

    def choose(self, selector: str, value: str) -> None:
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}));", selector, value,
        )  # fmt: skip
        self.settle()

    def screenshot(self, name: str, width: int) -> None:
        height = min(self.run("return document.querySelector('main').offsetHeight + 60"), 5000)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / f"{name}-{width}.png").write_bytes(base64.b64decode(shot["data"]))


def missing(reason: str) -> None:
    """Skip, or fail where a browser is required."""
    if os.environ.get("WUG_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        missing("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    try:
        from selenium import webdriver
    except ImportError:
        missing("needs selenium: pip install -r requirements/dev.txt")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-background-networking",
                 "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                 "--host-resolver-rules=MAP * ~NOTFOUND"):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    yield Browser(driver)
    driver.quit()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of some of the results that ship, and of a fit."""
    out = tmp_path_factory.mktemp("site")
    fit = out / "fits" / "fall.t"
    fit.mkdir(parents=True)
    weights = {"exponents": [[0.5, -0.5]], "coefficients": [[1.5]], "powers": [1.0]}
    front = [
        {"expression": "2.6", "complexity": 3, "error": 1.6, "r2": -0.7},
        {"expression": "1.5*sqrt(h)/sqrt(g)", "complexity": 7, "error": 0.0, "r2": 1.0},
    ]
    data = {
        "format": 1, "target": "t", "columns": ["h", "g"], "expression": "1.5*sqrt(h)/sqrt(g)",
        "latex": r"\frac{1.5 \sqrt{h}}{\sqrt{g}}", "status": "exact", "weights": weights,
        "front": front, "ranges": {"t": [1, 2, 9], "h": [1, 25, 50], "g": [1, 10, 20]},
    }  # fmt: skip
    (fit / "formula.json").write_text(json.dumps(data))
    folders = [results_folder() / name for name in EXPERIMENTS]
    write_site(find_sources([*folders, out / "fits"]), out / "site")
    return out / "site"


MAIN = "run-mistry2022.single_module~paper.html"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_silent_and_fits(browser: Browser, site: Path, width: int) -> None:
    pages = sorted(site.glob("*.html"))
    assert len(pages) > 20
    browser.resize(width)
    for page in pages:
        browser.open(page)
        assert browser.complaints() == [], page.name
        assert browser.run("return document.documentElement.scrollWidth") <= width, page.name
        assert browser.run("return document.querySelectorAll('h1').length") == 1


@pytest.mark.parametrize("name", ["index", MAIN.removesuffix(".html"), "leaderboard", "compare",
                                  "unit-nmu", "formula-fits~fall.t"])  # fmt: skip
def test_screenshots(browser: Browser, site: Path, name: str) -> None:
    for width in WIDTHS:
        browser.resize(width)
        browser.open(site / f"{name}.html")
        browser.screenshot(name.replace("~", "-"), width)
        assert (SCREENSHOTS / f"{name.replace('~', '-')}-{width}.png").stat().st_size > 5_000


def test_the_overview_is_quick_and_small(browser: Browser, site: Path) -> None:
    browser.resize(1440, 900)
    browser.open(site / "index.html")
    script = """
    const [page] = performance.getEntriesByType("navigation");
    return page.loadEventEnd - page.startTime;"""
    assert browser.run(script) < 1000
    loaded = ["index.html", "assets/site.css", "assets/site.js"]
    assert sum((site / name).stat().st_size for name in loaded) < 3e6


def test_tables_are_sorted_and_filtered(browser: Browser, site: Path) -> None:
    browser.resize(1440)
    browser.open(site / MAIN)
    browser.run("for (const d of document.querySelectorAll('details')) d.open = true;")
    place = browser.texts("#cells thead th").index("success") + 1

    def column() -> list[float]:
        cells = f"#cells tbody tr:not([hidden]) > :nth-child({place})"
        return [float(text) for text in browser.texts(cells)]

    before = column()
    click = f"document.querySelector('#cells thead th:nth-child({place}) button').click()"
    browser.run(click)
    assert column() == sorted(before)
    browser.run(click)
    assert column() == sorted(before, reverse=True)
    assert browser.run(
        f"return document.querySelector('#cells th:nth-child({place})').ariaSort"
    ) == "descending"  # fmt: skip
    browser.run("const i = document.querySelector('[data-filter=cells]'); i.value = 'nmu mul';"
                "i.dispatchEvent(new Event('input'))")  # fmt: skip
    names = browser.texts("#cells tbody tr:not([hidden]) th")
    assert names == ["nmu · mul"] * 9
    assert browser.texts("[data-count=cells]") == ["9 of 207"]


def test_claims_are_filtered_by_verdict(browser: Browser, site: Path) -> None:
    browser.open(site / MAIN)
    browser.run("[...document.querySelectorAll('.chips button')]"
                ".find((b) => b.textContent.startsWith('broken')).click()")  # fmt: skip
    shown = browser.texts(".claims > details:not([hidden]) > summary .pill")
    assert shown and all("broken" in text for text in shown)


def test_tabs_switches_and_the_table_behind_a_chart(browser: Browser, site: Path) -> None:
    browser.resize(1440)
    browser.open(site / MAIN)
    assert browser.run("return document.querySelector('[data-name=success] svg') !== null")
    tabs = browser.texts("[role=tab]")
    assert tabs[0] == "Success" and len(tabs) > 2
    for place in range(len(tabs)):
        browser.run("document.querySelectorAll('[role=tab]')[arguments[0]].click()", place)
        browser.settle()
    browser.choose(".switch select", "curves-validation-nmu-mul")
    script = "return document.querySelector('[data-name=curves-validation-nmu-mul] svg') !== null"
    assert browser.run(script)
    browser.run("document.querySelector('[data-name=solved-runs] details.behind').open = true")
    browser.wait("return document.querySelector('[data-name=solved-runs] details.behind table')")
    assert browser.texts("[data-name=solved-runs] thead th") == ["row", "column", "seed", "step"]
    assert browser.complaints() == []


def test_a_heat_map_tells_its_intervals(browser: Browser, site: Path) -> None:
    browser.resize(1440)
    browser.open(site / MAIN)
    labels = browser.texts("[data-name=success] [aria-label*='nmu · mul']")
    assert labels
    spoken = browser.run(
        "return document.querySelector(\"[data-name=success] [aria-label*='nmu · mul']\")"
        ".getAttribute('aria-label')"
    )
    assert "of 25" in spoken and "(" in spoken


def test_two_runs_are_compared(browser: Browser, site: Path) -> None:
    browser.resize(1440)
    browser.open(site / "compare.html")
    browser.wait("return document.querySelector('#agreement').textContent !== ''")
    browser.settle()
    assert "paper against paper-shared: 207 of 207 cells agree" in browser.texts("#agreement")[0]
    assert browser.run("return document.querySelectorAll('.plot svg.marks').length") == 1
    browser.choose("[data-choice=second]", "0")
    texts = browser.texts(".plot svg.marks .mark-text:not(.role-axis-label) text")
    assert {t for t in texts if t} and "paper against paper:" in browser.texts("#agreement")[0]
    browser.choose("[data-choice=measure]", "error")
    assert browser.complaints() == []


def test_dark_and_light(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html")
    paper = "return getComputedStyle(document.body).backgroundColor"
    before = browser.run(paper)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(paper) != before
    browser.open(site / "units.html")
    assert browser.run(paper) != before  # other pages remember it
    browser.run("document.getElementById('theme').click()")


def test_equations_are_set(browser: Browser, site: Path) -> None:
    browser.open(site / "unit-nmu.html")
    assert browser.run("return document.querySelectorAll('.equation .katex').length") == 1
    assert browser.run("return document.querySelectorAll('.katex-error').length") == 0


def test_keyboard_reaches_what_a_mouse_does(browser: Browser, site: Path) -> None:
    browser.open(site / MAIN)
    script = """
    const targets = document.querySelectorAll("thead th, .tabs [role=tab], .chips, .switch");
    return [...targets].every((t) => t.matches("[role=tab]") || t.querySelector("button, select"));
    """
    assert browser.run(script)
    unnamed = """
    return [...document.querySelectorAll("button, select, input, a")].filter((e) =>
      !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"""
    assert browser.run(unnamed) == 0


def test_harm_does_nothing(browser: Browser, make_harm: Callable[[], Path], tmp_path: Path) -> None:
    write_site(find_sources([make_harm()]), tmp_path / "site")
    for page in sorted((tmp_path / "site").glob("*.html")):
        browser.resize(1440)
        browser.open(page)
        browser.run("for (const d of document.querySelectorAll('details')) d.open = true;")
        browser.settle()
        assert browser.run("return window.harmed === undefined"), page.name
        assert browser.complaints() == [], page.name


def test_one_file_works(
    browser: Browser, run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    other = by_hand.fill(tmp_path / "runs" / "demo" / "smoke", "demo", 2, None)
    whole = tmp_path / "all.html"
    write_site(find_sources([run_folder, other]), whole, one_file=True)
    browser.resize(1440)
    browser.open(whole)
    assert browser.texts("main:not([hidden]) h1") == ["Results"]
    browser.run(
        "document.querySelector('main:not([hidden]) td a, main:not([hidden]) th a').click()"
    )
    browser.wait("return document.querySelector('main:not([hidden]) h1').textContent"
                 " === 'Demo (A paper, table 1)'")  # fmt: skip
    browser.settle()
    browser.open(whole, "#compare.html")
    browser.wait("return document.querySelector('#agreement').textContent !== ''")
    browser.settle()
    assert browser.complaints() == []
