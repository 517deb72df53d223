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

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
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

    def screenshot(self, name: str, width: int, most: int = 5000) -> None:
        height = min(self.run("return document.querySelector('main').offsetHeight + 60"), most)
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


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory, traces_by_hand: SimpleNamespace) -> Path:
    """A site of a run with traces."""
    root = tmp_path_factory.mktemp("traced")
    traces_by_hand.fill(root / "runs" / "demo" / "paper")
    write_site(find_sources([root / "runs"]), root / "site")
    return root / "site"


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


def test_the_committed_example_and_its_picture(browser: Browser) -> None:
    """`make screenshot` puts the picture into the README: title, facts and both heat maps."""
    example = ROOT / "docs" / "example"
    browser.resize(1440)
    browser.open(example / "index.html")
    assert MAIN in browser.run("return [...document.links].map((a) => a.getAttribute('href'))")
    browser.open(example / MAIN)
    end = "return document.querySelector('[data-name=success]').getBoundingClientRect().bottom"
    browser.screenshot("example", 1440, most=round(browser.run(end)) + 20)
    assert browser.complaints() == []
    assert 50_000 < (SCREENSHOTS / "example-1440.png").stat().st_size < 300_000


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


ROUTING = "routing-demo~paper.html"


def open_player(browser: Browser, traced: Path, name: str = "ndr-0.routing-1") -> str:
    browser.open(traced / ROUTING)
    browser.choose(".switch select", name)
    place = f"[data-name='{name}']"
    browser.wait(f'return document.querySelector("{place} svg.columns") !== null')
    return place


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_of_traces_are_silent_and_fit(browser: Browser, traced: Path, width: int) -> None:
    browser.resize(width)
    for page in sorted(traced.glob("*.html")):
        browser.open(page)
        assert browser.complaints() == [], page.name
        assert browser.run("return document.documentElement.scrollWidth") <= width, page.name
    open_player(browser, traced, "ndr-0.routing-2")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.screenshot("routing", width)
    browser.open(traced / "symbols-demo~paper.html")
    browser.screenshot("symbols", width)
    assert browser.complaints() == []


def test_the_slider_changes_the_picture(browser: Browser, traced: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.resize(1440)
    place = open_player(browser, traced)
    seen = {}
    slider = browser.driver.find_element(By.CSS_SELECTOR, f"{place} input[type=range]")
    for key in ("", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END, Keys.HOME):
        slider.send_keys(key)
        step = browser.texts(f"{place} .count")[0]
        seen[step] = (
            browser.texts(f"{place} .said")[0],
            sorted(browser.texts(f"{place} .tree .node.ready text")),
            browser.run(f"return document.querySelector(\"{place} .columns .gate\""
                        ").closest('svg').querySelector('.now').getAttribute('y')"),
            len(browser.texts(f"{place} .column.open")),
        )  # fmt: skip
    said = {step: told[0] for step, told in seen.items()}
    assert said == {
        "step 1 of 9": "d is written from 101.", "step 2 of 9": "a is written from d.",
        "step 3 of 9": "b is written from a.", "step 9 of 9": "Nothing new is written.",
    }  # fmt: skip
    assert [len(told[1]) for told in seen.values()] == [1, 2, 3, 3]
    assert len({told[2] for told in seen.values()}) == 4
    assert [told[3] for told in seen.values()] == [1, 1, 1, 0]
    assert browser.texts(f"{place} .facts dd") == ["110", "110 ✓", "1.00"]
    assert browser.complaints() == []


def test_a_network_that_does_not_wait_is_seen(browser: Browser, traced: Path) -> None:
    place = open_player(browser, traced, "hasty-0.routing-1")
    assert browser.texts(f"{place} .said")[0] == (
        "b is written too early; a is written too early; d is written from 101."
    )
    assert len(browser.texts(f"{place} .cell.early")) == 2
    assert len(browser.texts(f"{place} .tree .node.ready")) == 1
    assert len(browser.texts(f"{place} .tree .node.early")) == 2


def test_heads_rows_play_and_the_table(browser: Browser, traced: Path) -> None:
    browser.resize(1440)
    place = open_player(browser, traced, "ndr-0.routing-2")
    arcs = f'return document.querySelectorAll("{place} .arc").length'
    every = browser.run(arcs)
    each = []
    for head in (1, 2, 3):
        browser.run(f"document.querySelector(\"{place} [aria-label='Head {head}']\").click()")
        each.append(browser.run(arcs))
    assert sum(each) == every and min(each) > 0
    row = f'document.querySelectorAll("{place} .row")[4]'
    browser.run(f"{row}.dispatchEvent(new Event('click'))")
    assert browser.texts(f"{place} .count") == ["step 5 of 9"]
    browser.run(f'document.querySelector("{place} .play").click()')
    browser.wait(f"return document.querySelector(\"{place} .count\").textContent === 'step 6 of 9'")
    browser.run(f'document.querySelector("{place} .play").click()')
    assert "Play" in browser.texts(f"{place} .play")[0]
    browser.run(f'document.querySelector("{place} details").open = true')
    browser.wait(f'return document.querySelectorAll("{place} tbody tr").length === 9')
    assert browser.complaints() == []


def test_the_player_works_in_one_file(browser: Browser, traced: Path, tmp_path: Path) -> None:
    write_site(find_sources([traced.parent / "runs"]), tmp_path / "all.html", one_file=True)
    browser.open(tmp_path / "all.html", f"#{ROUTING}")
    browser.wait("return document.querySelector('main:not([hidden]) svg.columns') !== null")
    assert browser.complaints() == []


def test_the_player_on_paper(browser: Browser, traced: Path) -> None:
    browser.resize(1440)
    place = open_player(browser, traced)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.screenshot("routing-print", 1440)
        seen = f'return document.querySelector("{place} " + arguments[0]).checkVisibility()'
        assert not browser.run(seen, ".controls")
        assert all(browser.run(seen, part) for part in (".columns .row", ".tree", ".facts"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_other_code_can_draw_attention_alone(browser: Browser, traced: Path) -> None:
    open_player(browser, traced)
    script = """
    const place = document.createElement("div");
    document.querySelector("main").append(place);
    const player = window.wugRouting(place, {columns: ["<b>", "x"],
      attention: [[[[0.5, 0.5], [0.01, 0.99]]], [[[1, 0], [0, 1]]]]});
    const before = place.querySelectorAll(".arc").length;
    player.show(2);
    return [before, place.querySelectorAll(".arc").length, player.numSteps,
      place.querySelectorAll("b").length];"""
    assert browser.run(script) == [3, 2, 2, 0]
    assert browser.complaints() == []


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
