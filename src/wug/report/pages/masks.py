"""Which weights do what: functions under masks, sharing by layer, classes that were removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wug.report.charts import BLUE, SHADES, Chart, diverging, field, heat_map, ordered, tips
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
    "are left: all, those of a mask, or all but those of a mask (not, or inverted)."
)
SHARING = (
    "Which share of the weights that a function keeps of a layer other functions keep, too, mean "
    "over networks; layers in the order of the network's parameters."
)
CHANGE = (
    "Change of the answers to pictures of the class of a row, in points of per cent, when the "
    "weights that only this class needs are gone. The diagonal is what the class loses."
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
        tag("div", [chart.to_html() for chart in charts(found)], data_title=found.name)
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
        (found.matrix, matrix_chart), (found.sharing, sharing_chart), (found.change, change_chart),
        (found.bins, bins_chart),
    )  # fmt: skip
    return [draw(found) for there, draw in makers if there]


def title(name: str, known: Mapping[str, str]) -> str:
    """Return what a mask or function is called.

    Example:
        >>> title("first", {"first": "Pair 1"}), title("full", {}), title("not_first", {})
        ('Pair 1', 'all weights', 'not first')
    """
    plain = "all weights" if name == "full" else name.replace("_", " ")
    return known.get(name, plain)


def matrix_chart(found: Masked) -> Chart:
    """Return functions x masks."""
    masks = {name: title(name, found.mask_titles) for name in found.masks[:MOST_MASKS]}
    functions = {name: title(name, found.function_titles) for name in found.functions}
    rows = [
        (masks[name], functions[function], f"{100 * value:.1f}", round(100 * value, 1))
        for name in masks
        for function, value in found.matrix[name].items()
    ]
    spec = heat_map(
        list(masks.values()), list(functions.values()),
        {**SHADES, "domain": [0, 100]}, "datum.colour < 60",
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
        (labels[n], title(function, found.function_titles), round(100 * shares[n], 1))
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


def change_chart(found: Masked) -> Chart:
    """Return the change of the confusion matrix, a row for each class that is gone."""
    classes = sorted({answer for row in found.change.values() for answer in row})
    rows = [
        (str(gone), str(answer), f"{100 * value:+.0f}", round(100 * value, 1))
        for gone, answers in sorted(found.change.items())
        for answer, value in sorted(answers.items())
    ]
    spec = heat_map(
        [str(gone) for gone in sorted(found.change)], list(map(str, classes)), diverging(100),
        "abs(datum.colour) < 60", {"row": "class", "column": "answer", "text": "change"},
    )  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-change"), title="Answers without a class's own weights",
        about=f"{CHANGE} {networks(found)}", spec=spec, fields=FIELDS,
        headings=("class", "answer", "change in points", ""), rows=rows, max_width=620,
    )  # fmt: skip


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


PAGE = PageKind(
    name="Masks", start="masks.html", place=58, made_from=frozenset({"scalar", "curve"}),
    make=make, figures=figures,
)  # fmt: skip
