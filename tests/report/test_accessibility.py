"""Contrast, names and the keyboard in a real browser: light and dark, wide and narrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from accessibility import complaints, faint_texts
from chromium import Browser

from wug.core.folders import results_folder
from wug.core.papers import report_entries
from wug.report.site import write_site
from wug.report.sources import find_sources

EXPERIMENTS = (
    "csordas2023.ctl", "csordas2023.dnc_copy", "csordas2023.scan_length", "csordas2023.sigma_moe",
    "csordas2023.ctlpp_ar", "madsen2020.four_inputs", "mistry2022.single_module",
)  # fmt: skip
PAGES = (
    "index", "leaderboard", "claims", "paper-csordas2023", "units", "unit-nmu", "compare",
    "routing", "run-madsen2020.four_inputs~paper", "memory-csordas2023.dnc_copy~laptop",
    "writing-csordas2023.scan_length~laptop", "experts-csordas2023.sigma_moe~laptop",
)  # fmt: skip


@contextmanager
def looked_at(browser: Browser, width: int, scheme: str) -> Iterator[None]:
    """A window of a width, in the light or in the dark."""
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.resize(width, 900)
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of some results that ship, with every kind of page."""
    out = tmp_path_factory.mktemp("axe")
    folders = [results_folder() / name for name in EXPERIMENTS]
    write_site(find_sources(folders, report_entries()), out)
    return out


@pytest.mark.parametrize(
    ("width", "scheme", "pages"),
    [
        (1440, "light", PAGES),
        (390, "dark", PAGES),
        (1440, "dark", PAGES[:2]),
        (390, "light", PAGES[:2]),
    ],
)
def test_everybody_can_read_every_kind_of_page(
    browser: Browser, site: Path, width: int, scheme: str, pages: tuple[str, ...]
) -> None:
    """With what is inside of pictures: axe finds nothing, and no letter is faint."""
    found = {}
    with looked_at(browser, width, scheme):
        for name in pages:
            browser.open(site / f"{name}.html")
            if name == "index":
                browser.wait("document.querySelector('.asking').dataset.state === 'answered'")
            if said := complaints(browser):
                found[name] = said
    assert found == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_on_coloured_squares_can_be_read(browser: Browser, site: Path, scheme: str) -> None:
    """On squares of every colour; of so many axe takes half a minute, and knows no colours."""
    with looked_at(browser, 1440, scheme):
        for name in ("run-mistry2022.single_module~paper", "symbols-csordas2023.ctlpp_ar~laptop"):
            browser.open(site / f"{name}.html")
            assert browser.run("return document.querySelectorAll('svg text').length") > 200
            assert faint_texts(browser) == []


def test_the_keyboard_reaches_everything_in_order(browser: Browser, site: Path) -> None:
    """Tab goes through the front page from the top, and what has the focus is seen."""
    from selenium.webdriver.common.keys import Keys

    browser.resize(1440, 900)
    browser.open(site / "index.html")
    browser.wait("document.querySelector('.asking').dataset.state === 'answered'")
    seen = []
    where = """const e = document.activeElement;
        return [e.tagName, e.textContent.trim() || e.ariaLabel || e.id,
                getComputedStyle(e).outlineStyle];"""
    for _ in range(30):
        browser.press(Keys.TAB)
        seen.append(browser.run(where))
    names = [name for _, name, _ in seen]
    assert names[0] == "Skip to content" and "Leaderboard" in names
    assert names.index("Claims") < names.index("problem") < names.index("Ask")
    assert {style for tag, _, style in seen if tag != "BODY"} <= {"solid", "auto"}
