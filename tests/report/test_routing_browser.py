"""The routing player and the maps of symbols in a real browser."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from chromium import WIDTHS, Browser

from wug.core.folders import results_folder
from wug.report.site import write_site
from wug.report.sources import find_sources

ROUTING = "routing-demo~paper.html"


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory, traces_by_hand: SimpleNamespace) -> Path:
    """A site of a run with traces."""
    root = tmp_path_factory.mktemp("traced")
    traces_by_hand.fill(root / "runs" / "demo" / "paper")
    write_site(find_sources([root / "runs"]), root / "site")
    return root / "site"


def open_player(browser: Browser, traced: Path, name: str = "ndr-0.routing-1") -> str:
    browser.open(traced / ROUTING)
    browser.choose(".switch select", name)
    place = f"[data-name='{name}']"
    browser.wait(f'document.querySelector("{place} svg.columns") !== null')
    return place


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_of_traces_are_silent_and_fit(browser: Browser, traced: Path, width: int) -> None:
    browser.resize(width)
    for page in sorted(traced.glob("*.html")):
        browser.open(page)
        assert browser.complaints() == [], page.name
        assert browser.fits(width), page.name
    open_player(browser, traced, "ndr-0.routing-2")
    assert browser.fits(width)
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
        "step 1 of 9": "d reads 101 and opens its gate.",
        "step 2 of 9": "a reads d and opens its gate.",
        "step 3 of 9": "b reads a and opens its gate.",
        "step 9 of 9": "No further gate opens.",
    }
    assert [len(told[1]) for told in seen.values()] == [1, 2, 3, 3]
    assert len({told[2] for told in seen.values()}) == 4
    assert [told[3] for told in seen.values()] == [1, 1, 1, 0]
    assert browser.texts(f"{place} .facts dd") == ["110", "110 ✓", "1.00"]
    assert browser.complaints() == []


def test_a_network_that_does_not_wait_is_seen(browser: Browser, traced: Path) -> None:
    place = open_player(browser, traced, "hasty-0.routing-1")
    assert browser.texts(f"{place} .said")[0] == (
        "b opens its gate too early; a opens its gate too early; d reads 101 and opens its gate."
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
    browser.wait(f"document.querySelector(\"{place} .count\").textContent === 'step 6 of 9'")
    browser.run(f'document.querySelector("{place} .play").click()')
    assert "Play" in browser.texts(f"{place} .play")[0]
    browser.run(f'document.querySelector("{place} details").open = true')
    browser.wait(f'document.querySelectorAll("{place} tbody tr").length === 9')
    assert browser.complaints() == []


def test_the_player_works_in_one_file(browser: Browser, traced: Path, tmp_path: Path) -> None:
    write_site(find_sources([traced.parent / "runs"]), tmp_path / "all.html", one_file=True)
    browser.open(tmp_path / "all.html", f"#{ROUTING}")
    browser.wait("document.querySelector('main:not([hidden]) svg.columns') !== null")
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


@pytest.mark.parametrize("one_file", [False, True])
def test_the_address_keeps_the_choice(
    browser: Browser, traced: Path, tmp_path: Path, one_file: bool
) -> None:
    """A link to a problem opens it, in a site of files and in one file."""
    whole = tmp_path / "all.html"
    if one_file:
        write_site(find_sources([traced.parent / "runs"]), whole, one_file=True)
    place, page = (whole, f"#{ROUTING}") if one_file else (traced / ROUTING, "")
    main = "main:not([hidden])"
    browser.resize(1440)
    browser.open(place, page)
    first = browser.run(f"return document.querySelector('{main} .switch select').value")
    assert first == "ndr-0.routing-1"  # the network that routes best
    browser.choose(f"{main} .switch select", "hasty-0.routing-1")
    after = str(browser.run("return location.hash"))
    assert after.endswith("hasty-0.routing-1")
    browser.open(place, after)
    chosen = f"return document.querySelector('{main} figure:not([hidden])').dataset.name"
    assert browser.run(chosen) == "hasty-0.routing-1"
    browser.open(place, f"{page}?nothing-like-it" if one_file else "#nothing-like-it")
    assert browser.run(chosen) == first
    assert browser.complaints() == []


def test_nothing_is_clipped_on_a_wide_screen(browser: Browser, tmp_path: Path) -> None:
    names = ("csordas2023.simple_arithmetic", "csordas2023.listops")
    write_site(find_sources([results_folder() / name for name in names]), tmp_path)
    browser.resize(1440, 900)
    for page in sorted(tmp_path.glob("routing-*.html")):
        browser.open(page)
        for name in browser.run(
            "return [...document.querySelectorAll('.switch option')].map((one) => one.value)"
        ):
            browser.choose(".switch select", name)
            browser.wait("document.querySelector('figure:not([hidden]) svg.columns') !== null")
            beyond = browser.run(
                "return [...document.querySelectorAll('figure:not([hidden]) .stage .wide')]"
                ".map((box) => box.scrollWidth - box.clientWidth)"
            )
            assert max(beyond) <= 1, (page.name, name)
