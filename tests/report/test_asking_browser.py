"""Networks that answer in the page: what torch says, what a person types, and a rival beside it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from chromium import WIDTHS, Browser

import wug
from wug.core.folders import results_folder
from wug.core.papers import report_entries
from wug.records.networks import rounded
from wug.report.site import write_site
from wug.report.sources import find_sources
from wug.training.kept_networks import load

RUNS = ("csordas2023.ctl", "csordas2023.simple_arithmetic")
NETWORKS = {
    "csordas2023.ctl-laptop-ndr-backward-0": "csordas2023.ctl@shipped/ndr:backward",
    "csordas2023.ctl-laptop-lstm-backward-0": "csordas2023.ctl@shipped/lstm:backward",
    "csordas2023.simple_arithmetic-laptop-ndr-end-0":
        "csordas2023.simple_arithmetic@shipped/ndr:end",
    "csordas2023.simple_arithmetic-laptop-lstm-early-0":
        "csordas2023.simple_arithmetic@shipped/lstm:early",
}  # fmt: skip
NUM_PROBLEMS = 100
ANSWERED = "document.querySelector('.asking').dataset.state === 'answered'"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the two experiments whose networks ship."""
    out = tmp_path_factory.mktemp("asking")
    write_site(find_sources([results_folder() / name for name in RUNS], report_entries()), out)
    return out


def type_problem(browser: Browser, text: str) -> None:
    browser.run(
        "document.querySelector('.asking').dataset.state = 'typed';"
        "document.querySelector('#problem').value = arguments[0];"
        "document.querySelector('.asking form').requestSubmit();", text,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site_of_a_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of networks as a wheel has them, with the folder of their run."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(results_folder() / "csordas2023.ctl", folder / "csordas2023.ctl")
    for path in folder.rglob("models/*.safetensors"):
        path.write_bytes(rounded(path))
    write_site(find_sources([folder], report_entries()), folder / "site")
    return folder


@pytest.mark.parametrize("name", NETWORKS)
def test_the_page_says_what_torch_says(browser: Browser, site: Path, name: str) -> None:
    """On a hundred problems of each network, of all lengths and depths: logits within 1e-3."""
    network = wug.load(NETWORKS[name])
    compare(browser, site, name, network, network.task, NUM_PROBLEMS)


@pytest.mark.parametrize("kind", ["ndr", "lstm"])
def test_networks_of_a_wheel_answer_too(browser: Browser, site_of_a_wheel: Path, kind: str) -> None:
    stem = f"{kind}-backward-0"
    path = site_of_a_wheel / f"csordas2023.ctl/laptop/models/{stem}.safetensors"
    assert path.stat().st_size < 0.3 * (results_folder() / path.relative_to(site_of_a_wheel)
                                        ).stat().st_size  # fmt: skip
    network, task = load(path)
    name = f"csordas2023.ctl-laptop-{stem}"
    compare(browser, site_of_a_wheel / "site", name, network, task, 20)


def compare(
    browser: Browser, site: Path, name: str, network: torch.nn.Module, task: Any, count: int
) -> None:
    """Compare what the page says with what torch says, on problems of training and longer ones."""
    problems = [task.examples(split)[torch.arange(count // 2)] for split in ("validation", "test")]
    torch_says, tokens = [], []
    for some in problems:
        batch = some.to_batch()
        with torch.no_grad():
            torch_says += network(batch["tokens"], batch["lengths"]).tolist()
        tokens += [
            row[:length].tolist() for row, length in zip(some.tokens, some.lengths, strict=True)
        ]
    browser.open(site / "index.html")
    browser.run(
        "const [name, problems, classes] = arguments;"
        "window.wugNetworks.load(name).then(async (network) => {"
        "  const said = [];"
        "  for (const tokens of problems) {"
        "    said.push(network.answer(tokens, classes).logits);"
        "    await new Promise((resolve) => { setTimeout(resolve); });"
        "  }"
        "  window.said = said; });",
        name, tokens, task.num_classes,
    )  # fmt: skip
    browser.wait("window.said !== undefined", 300)
    page_says = torch.tensor(browser.run("return window.said"), dtype=torch.float64)
    torch.testing.assert_close(
        page_says, torch.tensor(torch_says, dtype=torch.float64), rtol=0, atol=1e-3
    )
    assert browser.complaints() == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_front_opens_with_networks_at_work(
    browser: Browser, site: Path, width: int, scheme: str
) -> None:
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    try:
        browser.resize(width, 844)
        browser.open(site / "index.html")
        browser.wait(ANSWERED)
        right, router, rival = browser.texts(".said-by .answer b")
        assert right == router != rival
        assert [text.split()[1] for text in browser.texts(".said-by .pill")] == ["right", "wrong"]
        assert len(browser.texts(".lookup tbody tr")) == 9
        assert browser.texts(".lookup .used")
        assert browser.run("return document.querySelector('.asking svg.columns') !== null")
        assert browser.fits(width) and browser.complaints() == []
        browser.screenshot(f"front-{scheme}", width)
        if width == 390:
            assert browser.run("return document.documentElement.scrollHeight") < 5 * 844
            links = "[...document.querySelectorAll('header nav a')]"
            ends = f"{links}.map((a) => a.getBoundingClientRect().right)"
            assert max(browser.run(f"return {ends}")) <= width
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_person_types_a_problem(browser: Browser, site: Path) -> None:
    task = wug.load(NETWORKS["csordas2023.ctl-laptop-ndr-backward-0"]).task
    browser.resize(1440, 900)
    browser.open(site / "index.html")
    browser.wait(ANSWERED)
    for text in ("a b c 010", "hi 111", "i h g f e d c b a a 101"):
        type_problem(browser, text)
        browser.wait(ANSWERED)
        spaced = " ".join(text.replace("hi", "h i").split())
        answer = task.classes[task.answer(task.encode(spaced))]
        assert browser.texts(".said-by .answer b")[:2] == [answer, answer]
        steps = browser.texts(".chain span")
        assert steps[-1].endswith(answer) and len(steps) == len(spaced.split())
    for text, said in (("a b", "letters and then one symbol"), ("a z 010", "There is no z")):
        before = browser.texts(".said-by .answer b")
        browser.run("document.querySelector('#problem').value = arguments[0];"
                    "document.querySelector('.asking form').requestSubmit();", text)  # fmt: skip
        assert said in browser.texts(".asking .status")[0]
        assert browser.texts(".said-by .answer b") == before
    assert browser.complaints() == []


def test_arithmetic_is_modulo_ten(browser: Browser, site: Path) -> None:
    browser.resize(1440, 900)
    browser.open(site / "index.html")
    browser.wait(ANSWERED)
    browser.run("document.querySelector('.asking').dataset.state = '';"
                "document.querySelectorAll('.asking .chips button')[1].click()")  # fmt: skip
    browser.wait(ANSWERED)
    assert "modulo 10" in browser.texts(".asking .about")[0]
    right, router, rival = browser.texts(".said-by .answer b")
    assert right == router != rival
    assert "after 5,000 steps" in browser.texts(".said-by small")[2]
    for text, answer in (("((4*7)+2)", "0"), ("(7+5)*9", "8"), ("3", "3")):
        type_problem(browser, text)
        browser.wait(ANSWERED)
        assert browser.texts(".said-by .answer b")[:2] == [answer, answer]
    assert browser.texts(".chain span") == []
    type_problem(browser, "4+")
    assert "brackets" in browser.texts(".asking .status")[0]
    browser.run("document.querySelector('.asking').dataset.state = '';"
                "[...document.querySelectorAll('.asking form button')].at(-1).click()")  # fmt: skip
    browser.wait(ANSWERED)
    assert len(browser.texts(".chain span")) >= 7
    assert browser.complaints() == []


def test_arrow_keys_move_the_player_anywhere(browser: Browser, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.resize(1440, 900)
    browser.open(site / "index.html")
    browser.wait(ANSWERED)
    browser.run("document.activeElement.blur()")
    browser.press(Keys.ARROW_LEFT)
    before = browser.texts(".asking .count")[0]
    browser.press(Keys.ARROW_RIGHT)
    assert before != browser.texts(".asking .count")[0]
    browser.run("document.querySelector('#problem').focus()")
    held = browser.texts(".asking .count")[0]
    browser.press(Keys.ARROW_RIGHT)
    assert browser.texts(".asking .count")[0] == held


def test_one_file_asks_for_nothing(browser: Browser, tmp_path: Path) -> None:
    sources = find_sources([results_folder() / RUNS[0]], report_entries())
    write_site(sources, tmp_path / "all.html", one_file=True)
    browser.open(tmp_path / "all.html")
    browser.wait(ANSWERED)
    assert len(browser.texts(".said-by")) == 3
    assert browser.complaints() == []


def test_the_networks_are_beside_the_page(site: Path) -> None:
    names = {path.stem for path in (site / "assets" / "networks").glob("*.js")}
    assert names == set(NETWORKS)
    page = (site / "index.html").read_text()
    data = json.loads(page.split('<script type="application/json">')[1].split("</script>")[0])
    assert [len(kind["networks"]) for kind in data["kinds"]] == [2, 2]
    assert (site / "index.html").stat().st_size < 60_000
