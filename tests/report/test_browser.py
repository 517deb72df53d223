"""The site in a real browser: it opens from disk, is silent, asks for nothing, and works."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from chromium import WIDTHS, Browser

from wug.core.folders import results_folder
from wug.report.site import write_site
from wug.report.sources import find_sources

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"
EXPERIMENTS = ("mistry2022.single_module", "trask2018.identity")
MAIN = "run-mistry2022.single_module~paper.html"


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


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_silent_and_fits(browser: Browser, site: Path, width: int) -> None:
    pages = sorted(site.glob("*.html"))
    assert len(pages) > 15
    browser.resize(width)
    for page in pages:
        browser.open(page)
        assert browser.complaints() == [], page.name
        assert browser.fits(width), page.name
        assert browser.run("return document.querySelectorAll('h1').length") == 1


@pytest.mark.parametrize("name", ["index", MAIN.removesuffix(".html"), "leaderboard", "compare",
                                  "unit-nmu", "formula-fits~fall.t"])  # fmt: skip
def test_screenshots(browser: Browser, site: Path, name: str) -> None:
    for width in WIDTHS:
        browser.resize(width)
        browser.open(site / f"{name}.html")
        assert browser.screenshot(name.replace("~", "-"), width).stat().st_size > 5_000


def test_the_committed_example_and_its_picture(browser: Browser) -> None:
    """`make screenshot` puts the picture into the README: title, facts and both heat maps."""
    browser.resize(1440)
    browser.open(EXAMPLE / "index.html")
    assert MAIN in browser.run("return [...document.links].map((a) => a.getAttribute('href'))")
    browser.open(EXAMPLE / MAIN)
    end = "return document.querySelector('[data-name=success]').getBoundingClientRect().bottom"
    picture = browser.screenshot("example", 1440, most=round(browser.run(end)) + 20)
    assert browser.complaints() == []
    assert 50_000 < picture.stat().st_size < 300_000


def test_every_page_of_the_committed_example_is_silent(browser: Browser) -> None:
    pages = sorted(EXAMPLE.glob("*.html"))
    assert len(pages) > 30
    browser.resize(1440)
    for page in pages:
        browser.open(page)
        assert browser.complaints() == [], page.name
        assert browser.fits(1440), page.name


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
    browser.wait("document.querySelector('[data-name=solved-runs] details.behind table')")
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
    browser.wait("document.querySelector('#agreement').textContent !== ''")
    browser.settle()
    assert "paper against paper-shared: 207 of 207 cells agree" in browser.texts("#agreement")[0]
    assert browser.run("return document.querySelectorAll('.plot svg.marks').length") == 1
    browser.choose("[data-choice=second]", "0")
    texts = browser.texts(".plot svg.marks .mark-text:not(.role-axis-label) text")
    assert {t for t in texts if t} and "paper against paper:" in browser.texts("#agreement")[0]
    browser.choose("[data-choice=measure]", "error")
    assert browser.complaints() == []


def test_cells_without_intervals_or_numbers_are_told(
    browser: Browser, run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    other = by_hand.fill(tmp_path / "runs" / "demo" / "smoke", "demo", 2, None)
    write_site(find_sources([run_folder, other]), tmp_path / "site")
    page = tmp_path / "site" / "compare.html"
    before, text, after = re.split('(?<=id="compare">)(.*?)(?=</script>)', page.read_text())
    data = json.loads(text)
    (experiment,) = data.values()
    first, second = (run["cells"] for run in experiment["runs"])
    error = [measure["name"] for measure in experiment["measures"]].index("error")
    for cells in (first, second):
        cells[0][2] = [[value, None, None] for value, _, _ in cells[0][2]]
    first[1][2][error] = [None, None, None, "diverged"]
    del second[2]
    page.write_text(before + json.dumps(data) + after)
    browser.resize(1440)
    browser.open(page)
    browser.wait("document.querySelector('#agreement').textContent !== ''")
    browser.settle()
    browser.choose("[data-choice=measure]", "error")
    assert " of 1 cells agree" in browser.texts("#agreement")[0]
    shown = ".plot svg.marks .mark-text.role-mark text"
    assert sorted(t for t in browser.texts(shown) if t in ("–", "diverged")) == ["diverged", "–"]
    browser.run("document.querySelector('div:not([hidden]) > figure details.behind').open = true")
    browser.wait("document.querySelectorAll('details.behind tbody tr').length === 4")
    assert {"diverged", "–"} <= set(browser.texts("details.behind td"))
    browser.choose("[data-choice=measure]", "success")
    said = browser.texts("#agreement")[0]
    assert " of 2 cells agree" in said and "Cells without an interval: 1. " in said
    assert "Cells without a number in one run or both: 1." in said
    browser.wait("document.querySelectorAll('details.behind tbody tr').length === 4")
    assert "–" in browser.texts(shown) and "diverged" not in browser.texts(shown)
    assert browser.complaints() == []


def test_all_groups_and_evidence_are_on_paper(browser: Browser, site: Path) -> None:
    browser.resize(1440, 900)
    browser.open(site / MAIN)
    look = """
    window.look = () => ["[role=tabpanel]", ".claims .evidence", "#cells", ".nested pre",
      "[role=tabpanel] svg.marks"].map((s) => [...document.querySelectorAll(s)]
        .filter((e) => e.checkVisibility()).length);
    addEventListener("beforeprint", () => { window.printed = look(); });
    return look();"""
    before = browser.run(look)
    browser.run("document.querySelector('.claims details').open = true")
    paper = browser.print()
    panels, evidence, cells, configs, plots = browser.run("return window.printed")
    assert before[:4] == [1, 0, 0, 0]
    assert panels == len(browser.texts("[role=tabpanel]")) > 2
    assert evidence == len(browser.texts(".claims .evidence")) and cells == 1 and configs > 10
    assert plots == len(browser.texts("[role=tabpanel] figure.chart")) > before[4]
    assert paper.startswith(b"%PDF") and paper.count(b"/Type /Page\n") > 5
    assert browser.run("return look()")[:4] == [1, 1, 0, 0]  # what a person had opened stays so
    try:
        browser.run("dispatchEvent(new Event('beforeprint'))")
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        browser.resize(760)
        browser.screenshot("run-print", 760, most=1600)
        wide = "return [...document.querySelectorAll('.plot svg')].map((s) => s.clientWidth)"
        assert max(browser.run(wide)) <= 760
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert browser.complaints() == []


def test_copied_is_said_of_what_was_copied(browser: Browser, site: Path) -> None:
    browser.open(site / MAIN)
    press = "document.querySelector('button.copy').click();"
    browser.run("""
    window.said = [];
    const button = document.querySelector("button.copy");
    new MutationObserver(() => said.push(button.textContent)).observe(button, { childList: true });
    Object.defineProperty(navigator, "clipboard", { get: () => window.clipboard });
    document.execCommand = (name) => { window.asked = name; return window.able; };""")
    browser.run("window.able = false;" + press)
    browser.wait("said.join() === 'Selected,Copy'")
    command = browser.texts(".command pre")[0]
    assert browser.run("return [asked, String(getSelection())]") == ["copy", command]
    browser.run("window.able = true;" + press)
    browser.wait("said.slice(2).join() === 'Copied,Copy'")
    writes = "window.clipboard = { writeText: async (text) => { window.kept = text; } };"
    browser.run(writes + press)
    browser.wait("said.slice(4).join() === 'Copied,Copy'")
    assert browser.run("return window.kept") == command
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


def test_the_skip_link_leads_to_the_content(
    browser: Browser, run_folder: Path, tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    sources = find_sources([run_folder])
    write_site(sources, tmp_path / "site")
    write_site(sources, tmp_path / "all.html", one_file=True)
    page = "run-demo~paper.html"
    for place, after in ((tmp_path / "site" / page, ""), (tmp_path / "all.html", f"#{page}")):
        browser.open(place, after)
        browser.press(Keys.TAB)
        assert browser.run("return document.activeElement.className") == "skip"
        browser.press(Keys.ENTER)
        assert browser.run("return document.activeElement.dataset.page") == page
        assert browser.texts("main:not([hidden]) h1") == ["Demo (A paper, table 1)"]
        browser.press(Keys.TAB)
        inside = "return document.activeElement.closest('main')?.dataset.page"
        assert browser.run(inside) == page


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
    assert browser.texts("main:not([hidden]) h1") == ["Networks that learn the rule"]
    browser.run("document.querySelector('main:not([hidden]) .experiments a').click()")
    browser.wait("document.querySelector('main:not([hidden]) h1').textContent"
                 " === 'Demo (A paper, table 1)'")  # fmt: skip
    browser.settle()
    browser.open(whole, "#compare.html")
    browser.wait("document.querySelector('#agreement').textContent !== ''")
    browser.settle()
    browser.run("document.querySelector('#agreement a').click()")
    browser.wait("document.querySelector('main:not([hidden])').dataset.page.startsWith('run-')")
    assert browser.complaints() == []
