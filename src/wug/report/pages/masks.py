"""Which weights do what: functions under masks, sharing by layer, classes that were removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wug.report.charts import BLUE, SHADES, Chart, diverging, field, heat_map, ordered, switch, tips
from wug.report.markup import Markup, markup, slug, tag
from wug.report.mask_records import Masked, masked_cells
from wug.report.page import Page, PageKind
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import run_pages

KIND = "masks"
MOST_MASKS = 40

LEAD = (
    "The weights of a trained network were frozen, and for each of its functions a mask was found "
    "that keeps few of them and still does the function. If a function has weights of its own, it "
    "is right under its mask, others are wrong there, and they survive without these weights."
)
MATRIX = (
    "Right answers in per cent, mean over networks. Columns are functions, rows the weights that "
    "are left: all, those of a mask, as many at random, or all but those of a mask. Hidden: they "
    "are missing in hidden layers alone, first and last layer have the mask of everything; free "
    "ends: the same, but first and last layer are whole."
)
# Beginnings of names of masks, and how they are written.
PREFIXES = {
    "hidden_not_": "hidden without {}",
    "free_not_": "free ends, without {}",
    "not_": "without {}",
    "random_": "at random, as many as {}",
}
PER_CENT = {**SHADES, "domain": [0, 100]}
SHARING = (
    "Which share of the weights that a function keeps of a layer other functions keep, too, mean "
    "over networks; layers in the order of the network's parameters."
)
ANSWERS = (
    "Answers to pictures of the class of a row, in per cent, under the mask of all classes: the "
    "confusion matrix that the changes below start from."
)
CHANGE = (
    "Change of the answers to pictures of the class of a row, in points of per cent, when the "
    "weights that only this class needs are gone. The diagonal is what the class loses."
)
CHANGES = (
    "Change of the whole confusion matrix, in points of per cent, when the weights that only class "
    "{gone} needs are gone. Other rows should stay as they are."
)
OPEN = "How likely gates are open when a mask is found: 0 is closed, 1 is open. Mean over networks."
FIELDS = ("row", "column", "text", "colour")


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that found masks."""
    runs = [run for run in sources.runs if masked_cells(run)]
    return run_pages(runs, KIND, LEAD, body)


def body(run: RunSource) -> Markup:
    """Return the charts of each cell."""
    panels = [
        tag(
            "div",
            [chart.to_html() for chart in charts(found)],
            switch("Class that is gone ", change_charts(found)),
            data_title=found.name,
        )
        for found in masked_cells(run)
    ]
    return markup(
        [
            tag("p", tag("a", "All results of this run", href=run.page)),
            tag("div", panels, class_="tabs", aria_label="Network"),
        ]
    )


def charts(found: Masked) -> list[Chart]:
    """Return what can be drawn of a cell."""
    makers = (
        (found.matrix, matrix_chart), (found.sharing, sharing_chart),
        (found.answers, answers_chart), (found.change, own_change_chart), (found.bins, bins_chart),
    )  # fmt: skip
    return [draw(found) for there, draw in makers if there]


def mask_title(name: str, known: Mapping[str, str]) -> str:
    """Return what a mask is called: as the run's measures say, or in words for its name.

    Example:
        >>> mask_title("first", {"first": "pair 1's mask"}), mask_title("full", {})
        ("pair 1's mask", 'all weights')
        >>> mask_title("hidden_not_first", {}), mask_title("add", {})
        ('hidden without first', 'mask of add')
    """
    if name in known or name == "full":
        return known.get(name, "all weights")
    for prefix, words in PREFIXES.items():
        if name.startswith(prefix):
            return words.format(name.removeprefix(prefix).replace("_", " "))
    return f"mask of {name.replace('_', ' ')}"


def function_title(name: str, found: Masked) -> str:
    """Return what a function is called."""
    return found.function_titles.get(name, name.replace("_", " "))


def matrix_chart(found: Masked) -> Chart:
    """Return functions x masks."""
    masks = {name: mask_title(name, found.mask_titles) for name in found.masks[:MOST_MASKS]}
    functions = {name: function_title(name, found) for name in found.functions}
    rows = [
        (masks[name], functions[function], f"{100 * value:.1f}", round(100 * value, 1))
        for name in masks
        for function, value in found.matrix[name].items()
    ]
    spec = heat_map(
        list(masks.values()), list(functions.values()), PER_CENT, "datum.colour < 60",
        {"row": "weights", "column": "function", "text": "right in %"},
    )  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-matrix"), title="Functions under masks",
        about=f"{MATRIX} {networks(found)}", spec=spec, fields=FIELDS,
        headings=("weights", "function", "right in %", ""), rows=rows, max_width=620,
    )  # fmt: skip


def sharing_chart(found: Masked) -> Chart:
    """Return shared weights by layer, a bar for each function."""
    numbers = sorted({place for shares in found.sharing.values() for place in shares})
    labels = {n: f"{n + 1} {found.layers.get(n, '')}".strip() for n in numbers}
    rows = [
        (labels[n], function_title(function, found), round(100 * shares[n], 1))
        for function, shares in found.sharing.items()
        for n in numbers
        if n in shares
    ]
    spec = {
        "width": {"step": 28}, "height": 200, "mark": {"type": "bar"},
        "encoding": {
            "x": ordered("layer", list(labels.values()), labelAngle=-38),
            "xOffset": field("function", "nominal", sort=None),
            "y": field("share", "quantitative", title="shared weights in %",
                         scale={"domain": [0, 100]}),
            "color": field("function", "nominal", title=None, sort=None),
            "tooltip": tips({"layer": "layer", "function": "function", "share": "shared in %"}),
        },
    }  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-sharing"), title="Shared weights by layer",
        about=f"{SHARING} {networks(found)}", spec=spec, fields=("layer", "function", "share"),
        headings=("layer", "function", "shared in %"), rows=rows, max_width=860,
    )  # fmt: skip


def answers_chart(found: Masked) -> Chart:
    """Return the confusion matrix under the mask of all classes."""
    return class_chart(
        found, "answers", "Answers under the mask of all classes", ANSWERS, found.answers,
        PER_CENT, "datum.colour < 60", ".0f",
    )  # fmt: skip


def own_change_chart(found: Masked) -> Chart:
    """Return how the answers to a class change, a row for each class that is gone."""
    own = {gone: rows[gone] for gone, rows in found.change.items() if gone in rows}
    return class_chart(
        found, "change", "Answers without a class's own weights", CHANGE, own, diverging(100),
        "abs(datum.colour) < 60", "+.0f",
    )  # fmt: skip


def change_charts(found: Masked) -> list[Chart]:
    """Return the change of the whole confusion matrix, a chart for each class that is gone."""
    return [
        class_chart(
            found, f"change-{gone}", f"Class {gone}", CHANGES.format(gone=gone), rows,
            diverging(100), "abs(datum.colour) < 60", "+.0f",
        )
        for gone, rows in sorted(found.change.items())
    ]  # fmt: skip


def class_chart(
    found: Masked,
    name: str,
    title: str,
    about: str,
    matrix: Mapping[int, Mapping[int, float]],
    scale: Mapping[str, Any],
    light: str,
    form: str,
) -> Chart:
    """Return class x answer, in per cent.

    Args:
        found: The cell.
        name: Of the chart.
        title: Of the chart.
        about: What it shows.
        matrix: Class -> answer -> share.
        scale: From per cent to colours.
        light: Vega's test for squares that need black letters.
        form: How a number is written in its square.
    """
    answers = sorted({answer for row in matrix.values() for answer in row})
    rows = [
        (str(one), str(answer), rounded(100 * value, form), round(100 * value, 1))
        for one, row in sorted(matrix.items())
        for answer, value in sorted(row.items())
    ]
    tip = {"row": "class", "column": "answer", "text": "per cent"}
    spec = heat_map(
        [str(one) for one in sorted(matrix)], list(map(str, answers)), scale, light, tip
    )
    return Chart(
        name=slug(f"{found.name}-{name}"), title=title, about=f"{about} {networks(found)}",
        spec=spec, fields=FIELDS, headings=("class", "answer", "per cent", ""), rows=rows,
        max_width=620,
    )  # fmt: skip


def rounded(value: float, form: str) -> str:
    """Write a number; what rounds to 0 has no sign.

    Example:
        >>> rounded(-0.2, "+.0f"), rounded(3.2, "+.0f")
        ('0', '+3')
    """
    return f"{value:{form}}" if round(value) else "0"


def bins_chart(found: Masked) -> Chart:
    """Return the histogram of gates."""
    size = 1 / len(found.bins)
    rows = [
        (f"{index * size:.2f}", round(100 * value, 3))
        for index, value in sorted(found.bins.items())
    ]
    spec = {
        "width": {"step": 24}, "height": 200, "mark": {"type": "bar", "color": BLUE},
        "encoding": {
            "x": ordered("open", [row[0] for row in rows], labelAngle=-38),
            "y": field("share", "quantitative", title="gates in %"),
            "tooltip": tips({"open": "from", "share": "gates in %"}),
        },
    }  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-histogram"), title="How open gates are",
        about=f"{OPEN} {networks(found)}", spec=spec, fields=("open", "share"),
        headings=("from", "gates in %"), rows=rows, max_width=620,
    )  # fmt: skip


def networks(found: Masked) -> str:
    """Say how many networks a mean is of."""
    number = found.num_networks
    return f"({number} network{'s' if number > 1 else ''}.)"


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield the charts of all cells of the first run."""
    for run in sources.runs[:1]:
        for found in masked_cells(run):
            yield from charts(found)
            yield from change_charts(found)


PAGE = PageKind(
    name="Masks", start="masks.html", place=58, made_from=frozenset({"scalar", "curve"}),
    make=make, figures=figures,
)  # fmt: skip
