"""The memory player: what a network wrote where, and read when, on a problem, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, checked_numbers, usable
from wug.report.charts import Chart, field, ordered, tips
from wug.report.markup import Markup, data_table, json_block, slug, tag
from wug.report.page import Page, PageKind
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import chooser, trace_pages

KIND = "memory"
MOST_STEPS, MOST_CELLS, MOST_HEADS, MOST_WORD, MOST_BITS = 600, 128, 16, 256, 64
# Of all numbers of a player; with more, links are left out, and with still more all of it.
MOST_NUMBERS = 400_000
LARGEST = 1e4
MOST_LETTERS = 40
SQUARE, LABELS = 14, 110
FIELDS, HEADINGS = ("step", "cell", "value", "read"), ("step", "cell", "written", "read")
# What the trace says of a network, and what it is called.
FACTS = {
    "forward_peak": "peak of forward links",
    "reads_forward": "read by forward links",
    "reads_content": "read by content",
    "reads_backward": "read by backward links",
}
SPLITS = {"validation": "a problem as in training", "test": "a problem larger than in training"}

LEAD = (
    "Time goes to the right, and every row is a cell of the memory: it is filled where something "
    "is written, and has a dot where it is read. A network that copies writes one cell after the "
    "other and then reads them in the same order. Below are, for one step, the content of all "
    "cells, how far they are in use, and the links, which say what was written after what."
)


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that have traces of this kind."""
    return trace_pages(sources, KIND, LEAD, body)


def body(run: RunSource) -> Markup:
    """Return the player with a choice of problems."""
    groups: dict[str, list[Markup]] = {}
    figures: list[Markup] = []
    left_out = []
    for trace in run.traces_of(KIND):
        try:
            data, notes = memory_data(trace)
        except UnfitError as error:
            left_out.append(f"{trace.name}: {error}")
            continue
        name = run.name_of(trace)
        figures.append(figure(trace, name, data, notes, hidden=bool(figures)))
        option = tag("option", problem_text(trace), value=trace.name)
        groups.setdefault(name, []).append(option)
    return chooser(run, "Problem", groups, figures, left_out)


def figure(
    trace: Trace, name: str, data: Mapping[str, Any], notes: list[str], *, hidden: bool
) -> Markup:
    """Return the place of one player, its data, and the table behind it."""
    headings = ("step", "written most", "read most", "an answer is due")
    rows = [
        (step + 1, strongest(written), strongest(np.max(read, 0)), "yes" if asked > 0.5 else "")
        for step, (written, read, asked) in enumerate(
            zip(data["writes"], data["reads"], data["asked"], strict=True)
        )
    ]
    table = data_table(headings, rows, caption="Cells by step", numeric=(0,))
    return tag(
        "figure",
        tag("figcaption", tag("strong", name), " ", problem_text(trace)),
        tag("div", class_="player"),
        json_block(data),
        [tag("p", note, class_="soft") for note in notes],
        tag("details", tag("summary", "Table"), table, class_="behind"),
        class_=KIND,
        data_name=trace.name,
        hidden=hidden,
    )


def strongest(weights: Any) -> str:
    """Return the cell with the highest weight, and the weight.

    Example:
        >>> strongest([0.1, 0.75])
        'cell 2: 0.75'
    """
    cell = int(np.argmax(weights))
    return f"cell {cell + 1}: {weights[cell]:.2f}"


def problem_text(trace: Trace) -> str:
    """Return what the problem is, and how much of it was answered rightly."""
    about = trace.about
    kind = SPLITS.get(str(about.get("split")), "a problem")
    if isinstance(about.get("group"), str):
        kind = f"a story of {about['group']}"
    size = f", size {about['level']}" if usable(about.get("level")) else ""
    right, asked = about.get("num_right"), about.get("num_asked")
    counts = f": {right} of {asked} answers right" if usable(right) and usable(asked) else ""
    return f"{kind}{size}{counts}".capitalize()


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield where the networks of the first run wrote and read; the rest is for the player."""
    for run in sources.runs[:1]:
        for trace in run.traces_of(KIND):
            with suppress(UnfitError):  # the page names those
                yield cell_map(trace, run.name_of(trace), memory_data(trace)[0])


def cell_map(trace: Trace, name: str, data: Mapping[str, Any]) -> Chart:
    """Return how much was written to and read from each cell in each step."""
    cells = [str(cell) for cell in range(1, len(data["writes"][0]) + 1)]
    steps = [str(step) for step in range(1, len(data["writes"]) + 1)]
    rows = [
        [step, cell, written[int(cell) - 1], max(head[int(cell) - 1] for head in read)]
        for step, written, read in zip(steps, data["writes"], data["reads"], strict=True)
        for cell in cells
    ]
    places = {
        "x": ordered("step", steps, grid=False, labelAngle=-90, labelOverlap=True),
        "y": {**ordered("cell", cells, grid=False), "title": "cell"},
        "tooltip": tips(dict(zip(FIELDS, HEADINGS, strict=True))),
    }
    shares = {"domain": [0, 1]}
    legend = {"values": [0, 0.5, 1], "gradientLength": 100}
    filled = field(
        "value", "quantitative", scale={"scheme": "blues", **shares},
        legend={"title": "written", **legend},
    )  # fmt: skip
    size = field(
        "read", "quantitative", scale={"range": [0, SQUARE**2 // 2], **shares},
        legend={"title": "read", **legend},
    )  # fmt: skip
    spec = {
        "width": {"step": SQUARE},
        "height": {"step": SQUARE},
        "layer": [
            {"mark": {"type": "rect", "width": {"band": 0.95}, "height": {"band": 0.95}},
             "encoding": {**places, "color": filled}},
            {"mark": {"type": "circle", "color": "#d55e00", "opacity": 1},
             "encoding": {**places, "size": size}},
        ],
    }  # fmt: skip
    return Chart(
        name=slug(f"cells-{trace.name}"), title=problem_text(trace),
        about=f"{name}: which cells were written (blue) and read (dots) in each "
        "step.",
        spec=spec, fields=FIELDS, headings=HEADINGS, rows=rows,
        max_width=LABELS + SQUARE * len(steps),
    )  # fmt: skip


def memory_data(trace: Trace) -> tuple[dict[str, Any], list[str]]:
    """Return what memory.js draws, as its head describes it, and remarks for people.

    Raises:
        UnfitError: The trace is not of the form that can be drawn.
    """
    arrays = trace.arrays
    notes: list[str] = []
    for name in ("writes", "reads", "usage", "memory", "modes", "asked"):
        if name not in arrays:
            raise UnfitError(f"it must have {name}")
    writes = checked_numbers(arrays["writes"], ("step", "cell"), notes)
    steps, cells = writes.shape
    if steps > MOST_STEPS or cells > MOST_CELLS:
        raise UnfitError(
            f"it may have {MOST_STEPS} steps and {MOST_CELLS} cells; it has {steps} and {cells}"
        )
    reads = checked_numbers(arrays["reads"], (steps, "head", cells), notes)
    heads = reads.shape[1]
    free = (-LARGEST, LARGEST)
    memory = checked_numbers(arrays["memory"], (steps, cells, "word"), notes, free)
    word = memory.shape[2]
    if heads > MOST_HEADS or word > MOST_WORD:
        raise UnfitError(f"it may have {MOST_HEADS} heads and words of {MOST_WORD} numbers")
    found: dict[str, NDArray[np.float64]] = {
        "writes": writes,
        "reads": reads,
        "memory": memory,
        "usage": checked_numbers(arrays["usage"], (steps, cells), notes),
        "modes": checked_numbers(arrays["modes"], (steps, heads, 3), notes),
        "asked": checked_numbers(arrays["asked"], (steps,), notes),
    }
    if "masks" in arrays:
        found["masks"] = checked_numbers(arrays["masks"], (steps, heads, word), notes)
    for name in ("inputs", "targets", "outputs"):
        if name in arrays:
            found[name] = checked_numbers(arrays[name], (steps, "channel"), notes)
            if found[name].shape[1] > MOST_BITS:
                raise UnfitError(f"{name} may have {MOST_BITS} channels")
    if ("targets" in found) != ("outputs" in found):
        raise UnfitError("it must have both targets and outputs, or neither")
    if "links" in arrays:
        links = checked_numbers(arrays["links"], (steps, cells, cells), notes)
        if sum(one.size for one in found.values()) + links.size <= MOST_NUMBERS:
            found["links"] = links
        else:
            notes.append("There are too many links to be drawn.")
    if sum(one.size for one in found.values()) > MOST_NUMBERS:
        raise UnfitError(f"it may have {MOST_NUMBERS:,} numbers")
    data: dict[str, Any] = {name: values.round(3).tolist() for name, values in found.items()}
    for name, words in (("labels", "words"), ("said", "said"), ("due", "due")):
        if (told := trace.about.get(words)) is not None:
            if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
                raise UnfitError(f"{words} must be a list of texts")
            if len(told) != steps:
                raise UnfitError(f"{words} must have a text for each of {steps} steps")
            data[name] = [one[:MOST_LETTERS] for one in told]
    facts = {name: trace.about.get(name) for name in FACTS}
    data["facts"] = [
        [FACTS[name], f"{value:.2f}"] for name, value in facts.items() if usable(value)
    ]
    return data, notes


PAGE = PageKind(
    name="Memory", start="memory.html", place=55, made_from=frozenset({"trace"}), make=make,
    figures=figures,
)  # fmt: skip
