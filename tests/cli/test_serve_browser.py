"""wug serve in a real browser: runs that start meanwhile, curves that grow, a lab that answers."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from chromium import WIDTHS, Browser, chromium
from small_lots import sequence_lot, train_and_keep

from wug.cli.serve import listen
from wug.lab import Lab
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.encoder_decoder import EncoderDecoder
from wug.models.image_fold import ImageFold
from wug.records import RunStore
from wug.tasks.perception.digit_sequences import DigitSequences
from wug.tasks.productivity.ctl import CTL
from wug.tasks.productivity.scan_length import ScanLength
from wug.training.kept_networks import keep_network

uvicorn = pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "wug[serve]"')

from wug.report.server import make_app  # noqa: E402

HARM = '<img src=x onerror="window.harmed=1">'
SMOKE = ("mistry2022.single_module", "--scale", "smoke", "--only", "nau:add", "--seeds", "2")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with an NDR that has hardly learnt, and a stack of units that adds."""
    root = tmp_path_factory.mktemp("serve") / "runs"
    task = CTL(order="forward", num_train=400, num_evaluation=60)
    options = {"features": 16, "hidden_features": 32, "num_steps": 4, "num_heads": 2}
    lot = sequence_lot("ndr", task, "ndr", options, labels={"order": HARM})
    path = root / "ctl" / "smoke" / "models" / "ndr.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WUG_CACHE", str(root.parent / "cache"))
        train_and_keep(lot, root / "ctl" / "smoke")
    stack = ArithmeticStack(2, 1, units=("nau",))
    stack.load_state_dict({"layers.0.weight": torch.ones(1, 2)})
    keep_network(path.with_name("sum.safetensors"), stack.state_dict(), model="arithmetic_stack",
         options={"in_features": 2, "out_features": 1, "units": ["nau"]})  # fmt: skip
    sizes = {"features": 16, "hidden_features": 16, "num_heads": 2, "num_layers": 2}
    writer = EncoderDecoder(13, 6, **sizes, generator=torch.Generator().manual_seed(0))
    keep_network(path.with_name("writer.safetensors"), writer.state_dict(), task=ScanLength(),
         model="encoder_decoder", options=sizes)  # fmt: skip
    adder = ImageFold(64, 1, cell="sum", generator=torch.Generator().manual_seed(0))
    keep_network(path.with_name("digits.safetensors"), adder.state_dict(), task=DigitSequences(),
         model="image_fold", options={"cell": "sum"})  # fmt: skip
    return root


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    """One server for all tests."""
    listener = listen("127.0.0.1", 0)
    app = make_app([root], lab=Lab([root]))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Browser]:
    """One browser for all tests."""
    with chromium(address) as browser:
        yield browser


def open_page(browser: Browser, page: str, width: int = 1440) -> None:
    browser.resize(width, 1400)
    browser.visit(browser.home + page)


def choose(browser: Browser, network: str) -> None:
    """Choose a network by a part of its name."""
    browser.run(
        """const select = document.querySelector("#network");
        select.value = [...select.options].find((o) => o.text.includes(arguments[0])).value;
        select.dispatchEvent(new Event("change"));""", network,
    )  # fmt: skip


def ask(browser: Browser, network: str, text: str) -> None:
    """Choose a network by a part of its name, type, and run it."""
    choose(browser, network)
    browser.run(
        """document.querySelector("#input").value = arguments[0];
        document.querySelector(".ask button").click();""", text,
    )  # fmt: skip
    browser.wait('!document.querySelector(".ask button").disabled')


def test_a_run_that_is_started_now_appears_and_finishes(browser: Browser, root: Path) -> None:
    open_page(browser, "live.html")
    browser.wait('document.querySelector("#said").textContent.startsWith("Nothing is at work")')
    browser.run("window.sameVisit = true")
    out = root / "mistry2022.single_module" / "smoke"
    command = [sys.executable, "-m", "wug", "run", *SMOKE, "--out", str(out), "--workers", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            # It waits for the browser, however slow that is.
            while not list(out.glob("progress/*")):
                assert process.poll() is None
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGSTOP)
            section = '[data-run="runs/mistry2022.single_module/smoke"]'
            browser.wait(f"document.querySelector('{section} progress')")
            assert "1 run at work" in browser.texts("#said")[0]
            os.killpg(process.pid, signal.SIGCONT)
            browser.wait('document.querySelector(".finished a")', 300)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert browser.texts(".finished a")[0] == "mistry2022.single_module"
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
    open_page(browser, "live.html")
    points = "document.querySelector('.curve.c0').getAttribute('points').split(' ').length"
    browser.wait("document.querySelector('.curve.c0') && " + points)
    assert browser.run(f"return {points}") == 1
    details = "document.querySelector('.growing details')"
    browser.run(f"{details}.open = true; {details}.querySelector('summary').focus()")
    browser.wait("document.querySelectorAll('.growing tbody tr').length === 1")
    for step in (50, 100, 200):
        tell(step)
    browser.wait(f"{points} === 4")
    assert browser.texts(".growing thead th") == ["step", "train", "validation"]
    assert browser.texts(".growing tbody tr:first-child > *") == ["200", "0.0099502", "0.5"]
    assert browser.texts(".growing tbody th") == ["200", "100", "50", "0"]
    assert browser.run(f"return {details}.open && {details}.contains(document.activeElement)")
    assert browser.texts(".picture h3") == ["loss", "error"]  # apart, each on its own axis
    assert browser.texts(".picture:first-child .axes > span") == ["2", "0.00995", "0", "step 300"]
    assert browser.run("return document.querySelector('.lot progress').value") == 200
    assert browser.texts(".lot .line")[0].endswith("66 % · 20 steps/s · 5 s left")
    assert browser.texts("section h2 a")[0] == HARM and not browser.run("return window.harmed")
    for width in WIDTHS:
        open_page(browser, "live.html", width)
        browser.wait("document.querySelector('.curve.c0')")
        browser.run(f"{details}.open = true")
        browser.wait("document.querySelectorAll('.growing tbody tr').length === 4")
        browser.screenshot("live", width)
        assert browser.fits(width)
        assert browser.complaints() == []
    look_closely(browser)
    shutil.rmtree(store.folder)
    browser.wait("!document.querySelector('.lot')")


def look_closely(browser: Browser) -> None:
    """Point at a curve, walk along it with the keyboard, smooth it, and change its axis."""
    from selenium.webdriver.common.keys import Keys

    told = ".picture[data-kind=loss] .told"
    browser.run("document.querySelector('.picture[data-kind=loss] svg').focus()")
    for key, step in ((Keys.ARROW_LEFT, 200), (Keys.ARROW_LEFT, 100), (Keys.ARROW_RIGHT, 200)):
        browser.press(key)
        assert browser.texts(told) == [f"at step {step}"]
    browser.run("""const box = document.querySelector('.picture[data-kind=loss] svg');
        const { left, top, width } = box.getBoundingClientRect();
        box.dispatchEvent(new PointerEvent('pointermove', { clientX: left + width / 6 + 1,
          clientY: top + 5 }));""")
    assert browser.texts(told) == ["at step 50"]
    assert browser.texts(".picture[data-kind=loss] .key") == ["train 0.0392"]
    browser.run("document.activeElement.blur()")
    points = "document.querySelector('.curve.c0').getAttribute('points')"
    drawn = [browser.run(f"return {points}")]
    for place in (0, 1):  # logarithmic, smooth
        browser.run(f"document.querySelectorAll('.chips button')[{place}].click()")
        drawn.append(browser.run(f"return {points}"))
    assert len(set(drawn)) == 3
    assert len(browser.texts(".picture[data-kind=loss] .curve.faint")) == 1
    for place in (0, 1):
        browser.run(f"document.querySelectorAll('.chips button')[{place}].click()")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lab_answers_and_shows_the_routing(browser: Browser, width: int) -> None:
    open_page(browser, "lab.html", width)
    browser.wait("document.documentElement.dataset.lab !== undefined")
    assert browser.run("return document.querySelectorAll('#network option').length") == 4
    ask(browser, "NDR", "101 d a b")
    task = CTL(order="forward")
    answer = task.classes[task.answer(task.encode("101 d a b"))]
    assert browser.texts(".result")[0].startswith("101 d a b → ")
    assert "right" in browser.texts(".pill")[0] or browser.texts(".pill")[0].endswith(
        f"it is {answer}"
    )
    browser.wait("document.querySelectorAll('#routing svg').length === 2")
    browser.run("""const slider = document.querySelector("#routing input[type=range]");
                slider.value = 3; slider.dispatchEvent(new Event("input"));""")
    assert "step 3 of 4" in browser.texts("#routing .count")[0]
    assert browser.run("return document.querySelectorAll('.shares progress').length") == 8
    browser.run("document.querySelector('#answer details.behind').open = true")
    browser.wait("document.querySelectorAll('#answer details.behind tbody tr').length === 4")
    heads = browser.texts("#answer details.behind thead th")
    assert heads[0] == "step" and heads[2:6] == ["101", "d", "a", "b"]
    assert "reads " in browser.texts("#answer details.behind td small")[0]
    browser.screenshot("lab", width)
    assert browser.fits(width)
    assert not browser.run("return window.harmed") and browser.complaints() == []


def test_the_lab_explains_and_computes(browser: Browser) -> None:
    open_page(browser, "lab.html")
    browser.wait("document.documentElement.dataset.lab !== undefined")
    ask(browser, "NDR", HARM)
    assert browser.texts("#said")[0].startswith("unknown token '<img'")
    assert browser.run("return document.querySelector('#answer').children.length") == 0
    ask(browser, "Arithmetic stack", "2 40")
    assert browser.texts(".result")[0] == "→ 42" and "x1 + x2" in browser.texts("#answer pre")[0]
    assert not browser.run("return window.harmed")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lab_shows_how_a_command_is_written(browser: Browser, width: int) -> None:
    open_page(browser, "lab.html", width)
    browser.wait("document.documentElement.dataset.lab !== undefined")
    ask(browser, "Encoder-decoder", "jump around left twice")
    assert browser.texts(".result")[0].startswith("jump around left twice → ")
    assert browser.texts(".result .pill") == ["✕ wrong"]  # it has learnt nothing
    read = browser.texts("#writing [aria-label=reads] .token")
    assert read == ["begin", "jump", "around", "left", "twice", "end"]
    assert "It looks most at" in browser.texts("#writing .said")[0]
    assert browser.texts("#writing .chips button") == ["All layers", "Layer 1", "Layer 2"]
    browser.screenshot("lab-writing", width)
    assert browser.fits(width) and browser.complaints() == []
    ask(browser, "Encoder-decoder", "jump over left")
    assert browser.texts("#said")[0].startswith("unknown token 'over'")


def test_an_answer_is_never_shown_under_another_network(browser: Browser) -> None:
    open_page(browser, "lab.html")
    browser.wait("document.documentElement.dataset.lab !== undefined")
    browser.run(
        """window.slow = [];
        const fetched = window.fetch;
        window.fetch = (...given) => new Promise((done) => {
          window.slow.push(() => done(fetched(...given)));
        });
        const select = document.querySelector("#network");
        const choose = (part) => {
          select.value = [...select.options].find((o) => o.text.includes(part)).value;
          select.dispatchEvent(new Event("change"));
        };
        choose("NDR");
        document.querySelector("#lab button").click();
        choose("Arithmetic stack");
        window.slow[0]();"""
    )
    browser.run("await new Promise((done) => setTimeout(done, 1500))")
    assert browser.run("return document.querySelector('#answer').children.length") == 0
    browser.run("document.querySelector('#input').value = '2 40';"
                "document.querySelector('#lab button').click(); window.slow[1]();")  # fmt: skip
    browser.wait("document.querySelector('.result') !== null")
    assert browser.texts(".result") == ["→ 42"]
    assert browser.texts("#answer .by")[0].startswith("Arithmetic stack")


DRAW = """
const pad = document.querySelector(".pad");
const pen = pad.getContext("2d");
pen.strokeStyle = "white"; pen.lineWidth = 12;
pen.beginPath(); pen.moveTo(32, 8); pen.lineTo(32, 56); pen.stroke();
document.querySelector(".drawing button").click();
"""


# The places of the pad that are bright: column, row.
LIGHT = """
const pad = document.querySelector(".pad");
const { data, width, height } = pad.getContext("2d").getImageData(0, 0, pad.width, pad.height);
return [...Array(width * height).keys()].filter((i) => data[4 * i] > 99)
  .map((i) => [i % width, Math.floor(i / width)]);
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lab_reads_digits_that_are_drawn(browser: Browser, width: int) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    open_page(browser, "lab.html", width)
    browser.wait("document.documentElement.dataset.lab !== undefined")
    choose(browser, "Image fold")
    assert browser.run("return document.querySelector('#input').hidden")
    browser.run("document.querySelector('.drawing button').click()")
    assert browser.texts(".drawing [role=status]") == ["There is nothing to see yet."]
    for _ in range(2):
        browser.run(DRAW)
    assert browser.run("return document.querySelectorAll('.drawn canvas').length") == 2
    text = browser.run("return document.querySelector('#input').value")
    words = text.split()
    assert len(words) == 2 and words[0] == words[1] and len(words[0]) == 64
    # A stroke is brought to the middle.
    rows = [[int(letter, 16) for letter in words[0][i : i + 8]] for i in range(0, 64, 8)]
    columns = [sum(column) for column in zip(*rows, strict=True)]
    assert max(columns) == max(columns[3:5]) > 0 and columns[0] == columns[7] == 0
    browser.run("document.querySelector('.ask button').click()")
    browser.wait("document.querySelectorAll('.pictures img').length === 2")
    numbers = [float(row) for row in browser.texts(".pictures tbody td:last-child")]
    assert numbers[1] == pytest.approx(2 * numbers[0], rel=1e-3)  # the same picture twice
    for said in browser.texts(".pictures tbody td:nth-child(2)"):
        value = float(said.removeprefix("? "))
        assert said.startswith("? ") == (not -0.5 <= value <= 9.5)  # how far the digits reach
    style = "return getComputedStyle(document.querySelector('.shares.pictures')).display"
    assert browser.run(style) == "table"
    browser.screenshot("lab-digits", width)
    assert browser.fits(width) and browser.complaints() == []
    # A mouse draws where it is, although the page shows the pad larger than it is.
    pad = browser.driver.find_element("css selector", ".pad")
    drag = ActionChains(browser.driver).move_to_element_with_offset(pad, 0, -60)
    drag.click_and_hold().move_by_offset(0, 120).release().perform()
    light = browser.run(LIGHT)
    assert min(column for column, _ in light) > 20 and max(column for column, _ in light) < 44
    assert min(row for _, row in light) < 20 and max(row for _, row in light) > 44
    # Who goes on while the network thinks can ask the next one.
    browser.run("document.querySelector('.ask button').disabled = true")
    choose(browser, "Image fold")
    assert not browser.run("return document.querySelector('.ask button').disabled")
