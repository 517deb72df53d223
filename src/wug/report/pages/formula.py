"""Formulas that `wug fit` found: the formula, its front, and how it goes on outside the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from wug.report.charts import (
    BLUE,
    INK,
    VERMILION,
    Chart,
    field,
    panel_header,
    three_digits,
    tips,
)
from wug.report.fit_page import LARGEST, SMALLEST_ERROR
from wug.report.formula_text import (
    certificate,
    constants,
    number,
    readable_latex,
    shortened_numbers,
)
from wug.report.markup import Markup, command_block, data_table, markup, tag
from wug.report.oddities import is_number
from wug.report.page import Page, PageKind, attempted, facts
from wug.report.run_source import FitSource
from wug.report.sources import Sources

MOST_INPUTS = 6
NUM_POINTS = 161
MOST_ROWS = 1_000
DIGITS = 6


def make(sources: Sources) -> Iterator[Page]:
    """Yield the list and a page for each fit."""
    if not sources.fits:
        return
    rows = [
        (tag("a", fit.data["target"], href=fit.page),
         tag("code", shortened_numbers(fit.data["expression"])),
         fit.data["status"], fit.name)
        for fit in sources.fits
    ]  # fmt: skip
    table = data_table(("target", "formula", "status", "folder"), rows, caption="Formulas",
                       name="formulas")  # fmt: skip
    yield Page(path="formulas.html", title="Formulas", body=markup([tag("h1", "Formulas"), table]))
    for fit in sources.fits:
        title = f"{fit.data['target']} as a formula"
        yield attempted(fit.page, title, partial(page, fit))


def page(fit: FitSource) -> Markup:
    """Return the page of one fit: the formula, how it goes on outside, what is known of it."""
    data = fit.data
    latex, text = data.get("latex"), shortened_numbers(data["expression"])
    names = [str(name) for name in data["columns"]]
    formula = (
        tag("span", readable_latex(latex, [*names, str(data["target"])]), class_="tex")
        if isinstance(latex, str)
        else text
    )
    charts = list(charts_of(data))
    ranges = [
        (name, " to ".join(number(limit) for limit in (limits[0], limits[-1])))
        for name, limits in data["ranges"].items()
        if isinstance(limits, list) and limits and all(map(is_number, limits))
    ]
    given = data.get("notices")
    notices = [tag("li", notice) for notice in given] if isinstance(given, list) else []
    proof = data.get("certificate")
    proven = [tag("li", line) for line in certificate(proof)] if isinstance(proof, Mapping) else []
    meaning = data.get("meaning")
    return markup(
        [
            tag("h1", data["target"], " as a formula"),
            tag("div", tag("span", data["target"], " ="), formula, class_="equation",
                tabindex="0", role="group", aria_label="Formula"),
            facts([("status", f"{data['status']}: {meaning}" if meaning else data["status"]),
                   ("constants", constants(data.get("constants"))),
                   ("inputs", ", ".join(names)), ("rows", data.get("rows"))]),
            tag("ul", notices) if notices else None,
            tag("div", [chart.to_html() for chart in charts], class_="beside") if charts else None,
            tag("section", tag("h2", "Simpler ones, and what they cost"), front_table(data)),
            tag("section", tag("h2", "What is certain"), tag("ul", proven)) if proven else None,
            tag("section", tag("h2", "How to repeat it"),
                command_block(str(data["command"])) if data.get("command") else None,
                facts(ranges), facts([("folder", fit.name)]),
                tag("details", tag("summary", "The formula as code, with all digits"),
                    command_block(data["expression"]))),
        ]
    )  # fmt: skip


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield the charts of the first fit."""
    for fit in sources.fits[:1]:
        yield from charts_of(fit.data)


def charts_of(data: Mapping[str, Any]) -> Iterator[Chart]:
    """Yield the charts that can be drawn of a fit."""
    rows = sampled(data)
    yield from (c for c in (slices(data, rows), agreement(data, rows), front(data)) if c)


def sampled(data: Mapping[str, Any]) -> list[tuple[float, ...]]:
    """Return the rows that the fit kept: measured, predicted, and each input.

    Older fits have none, and what is damaged is left out.
    """
    kept = data.get("sample")
    inputs = kept.get("inputs") if isinstance(kept, Mapping) else None
    if not isinstance(kept, Mapping) or not isinstance(inputs, Mapping):
        return []
    columns = [kept.get("measured"), kept.get("predicted")]
    columns += [inputs.get(str(name)) for name in data["columns"]]
    lists = [column for column in columns if isinstance(column, list)]
    if len(lists) < len(columns) or len(set(map(len, lists))) > 1 or len(lists[0]) > MOST_ROWS:
        return []
    return [
        tuple(float(f"{value:.{DIGITS}g}") for value in row)
        for row in zip(*lists, strict=True)
        if all(is_number(value) and abs(value) < LARGEST for value in row)
    ]


def rows_of(data: Mapping[str, Any]) -> list[list[Any]]:
    """Return the front as rows: size, error, R squared, formula, whether it is the answer."""
    return [
        [item["complexity"], float(item["error"]), item.get("r2"), str(item.get("expression", "")),
         item.get("expression") == data["expression"]]
        for item in data["front"]
        if isinstance(item, Mapping) and is_number(item.get("complexity"))
        and is_number(item.get("error"))
    ]  # fmt: skip


def front_table(data: Mapping[str, Any]) -> Markup:
    """Return the front: no simpler formula has a smaller error."""
    rows = [
        (tag("code", shortened_numbers(formula)), size, f"{error:.3g}",
         f"{r2:.5g}" if is_number(r2) else "", "the answer" if chosen else "")
        for size, error, r2, formula, chosen in rows_of(data)
    ]  # fmt: skip
    return data_table(("formula", "size", "error", "R²", "note"), rows, caption="The front",
                      numeric=(1, 2, 3), name="front-table")  # fmt: skip


def front(data: Mapping[str, Any]) -> Chart | None:
    """Return the error of each formula over its size."""
    rows = [
        [size, max(error, SMALLEST_ERROR), three_digits(r2) if is_number(r2) else None,
         shortened_numbers(formula), chosen]
        for size, error, r2, formula, chosen in rows_of(data)
    ]  # fmt: skip
    if not rows:
        return None
    x = field(
        "size",
        "quantitative",
        title="size of the formula",
        scale={"zero": False},
        axis={"tickMinStep": 1},
    )
    y = field("error", "quantitative", title="error on held-out rows", scale={"type": "log"},
              axis={"format": ".0e", "tickCount": 6})  # fmt: skip
    colour = {"condition": {"test": "datum.chosen", "value": VERMILION}, "value": BLUE}
    shape = {"condition": {"test": "datum.chosen", "value": "diamond"}, "value": "circle"}
    size = {"condition": {"test": "datum.chosen", "value": 170}, "value": 80}
    spec = {
        "width": "container",
        "height": 230,
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after", "color": INK, "opacity": 0.35}},
            {
                "mark": {"type": "point", "filled": True, "opacity": 1},
                "encoding": {"color": colour, "shape": shape, "size": size,
                             "tooltip": tips({"formula": "formula", "size": "size",
                                              "error": "error"})},
            },
        ],
    }  # fmt: skip
    return Chart(
        name="front", title="The front", about="No simpler formula has a smaller error. The answer "
        "is the vermilion diamond.", spec=spec,
        fields=("size", "error", "r2", "formula", "chosen"),
        headings=("size", "error", "R²", "formula", "the answer"), rows=rows, max_width=760,
    )  # fmt: skip


def evaluate(weights: Mapping[str, Any], inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Evaluate a formula from its weights; NaN where it is not defined.

    Equation: y = prod_j (sum_k C_jk prod_i x_i^E_ki)^Q_j.

    Args:
        weights: ``exponents`` E, ``coefficients`` C and ``powers`` Q.
        inputs: (row, in).
    """
    exponents, coefficients, powers = (
        np.array(weights[name], np.float64) for name in ("exponents", "coefficients", "powers")
    )

    def power(base: np.ndarray[Any, Any], exponent: float) -> np.ndarray[Any, Any]:
        whole = float(exponent).is_integer()
        return base ** int(exponent) if whole else np.where(base < 0, np.nan, abs(base) ** exponent)

    with np.errstate(all="ignore"):
        terms = np.ones((len(inputs), len(exponents)))
        for term, place in zip(*np.nonzero(exponents), strict=True):
            terms[:, term] *= power(inputs[:, place], exponents[term, place])
        result = np.ones(len(inputs))
        for row, exponent in zip(coefficients, powers, strict=True):
            used = row != 0
            result = result * power(terms[:, used] @ row[used], exponent)
        return np.where(np.isfinite(result), result, np.nan)


def in_sight(values: np.ndarray[Any, Any], known: Sequence[float]) -> np.ndarray[Any, Any]:
    """Return values without those far from known ones: a pole squeezes all else to a line."""
    if not known:
        return values
    low, high = min(known), max(known)
    room = 3 * (high - low) or abs(high) or 1.0
    return np.where((values >= low - room) & (values <= high + room), values, np.nan)


def slices(data: Mapping[str, Any], sample: Sequence[Sequence[float]]) -> Chart | None:
    """Return the formula along its inputs, the others at their medians, and measured rows."""
    names, target = [str(name) for name in data["columns"]], str(data["target"])
    cut = False
    try:
        used = np.any(np.array(data["weights"]["exponents"], np.float64), axis=0).tolist()
        limits = np.array([data["ranges"][name] for name in names], np.float64)
        rows = []
        shown = [i for i in range(len(names)) if used[i]][:MOST_INPUTS]
        for place in shown:
            low, middle, high = limits[place].tolist()
            reach = 0.5 * (high - low) or 0.5 * abs(middle) or 1.0
            x = np.linspace(low - reach, high + reach, NUM_POINTS)
            inputs = np.tile(limits[:, 1], (NUM_POINTS, 1))
            inputs[:, place] = x
            within, values = (low <= x) & (x <= high), evaluate(data["weights"], inputs)
            defined = values[within & np.isfinite(values)].tolist()
            near = in_sight(values, [*defined, *(row[0] for row in sample)])
            cut |= bool((np.isnan(near) & np.isfinite(values)).any())
            for at, value, inside in zip(x.tolist(), near.tolist(), within, strict=True):
                number = three_digits(value)
                rows.append([names[place], place, float(f"{at:.{DIGITS}g}"),
                             number if inside else None, None if inside else number,
                             None])  # fmt: skip
            rows += [[names[place], place, row[2 + place], None, None, row[0]] for row in sample]
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    if not any(value is not None for row in rows for value in row[3:5]):
        return None
    about = "Solid inside the range of the data, dashed outside."
    about += " The other inputs are at their medians." if len(names) > 1 else ""
    about += " Lines end where they run far away." if cut else ""
    about += " Dots are measured rows" if sample else ""
    about += (", with their own other inputs." if len(names) > 1 else ".") if sample else ""
    return Chart(
        name="along", title="Along each input", about=about,
        spec=slice_spec(target, len(shown), dots=bool(sample)),
        fields=("input", "order", "x", "inside", "outside", "measured"),
        headings=("input", "", "value", f"{target} inside", f"{target} outside",
                  f"{target} measured"),
        rows=rows,
    )  # fmt: skip


def slice_spec(target: str, num_panels: int, *, dots: bool) -> dict[str, Any]:
    """Return a panel for each input: a line in two parts, and dots perhaps."""
    x_channel = field("x", "quantitative", title=None, axis={"tickCount": 5})

    def layer(name: str, test: str, **mark: Any) -> dict[str, Any]:
        y = field(name, "quantitative", title=target, scale={"zero": False})
        return {"transform": [{"filter": test}], "mark": mark,
                "encoding": {"x": x_channel, "y": y}}  # fmt: skip

    def line(name: str, **mark: Any) -> dict[str, Any]:
        # Measured rows have no place on a line and would break it.
        return layer(name, "!isValid(datum.measured)", type="line",
                     invalid="break-paths-filter-domains", **mark)  # fmt: skip

    measured = layer("measured", "isValid(datum.measured)", type="point", filled=True, size=18,
                     color=INK, opacity=0.3)  # fmt: skip
    return {
        "facet": panel_header("input"),
        "columns": min(3, num_panels),
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
        "spec": {
            "width": 240,
            "height": 180,
            "layer": [
                *([measured] if dots else ()),
                line("outside", strokeDash=[5, 3], color=VERMILION, strokeWidth=1.8),
                line("inside", color=BLUE, strokeWidth=2.5),
            ],
        },
    }


def agreement(data: Mapping[str, Any], sample: Sequence[Sequence[float]]) -> Chart | None:
    """Return the predicted against the measured values."""
    if not sample:
        return None
    target = str(data["target"])
    x, y = (
        field(name, "quantitative", title=f"{target}, {name}", scale={"zero": False})
        for name in ("measured", "predicted")
    )
    spec = {
        "width": "container",
        "height": 300,
        "layer": [
            {
                "mark": {"type": "line", "color": INK, "opacity": 0.5, "strokeDash": [4, 3]},
                "encoding": {"x": x, "y": {**y, "field": "measured"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 30, "color": BLUE,
                         "opacity": 0.6},
                "encoding": {"x": x, "y": y,
                             "tooltip": tips({"measured": "measured", "predicted": "predicted"})},
            },
        ],
    }  # fmt: skip
    return Chart(
        name="predicted", title="Predicted against measured",
        about=f"{len(sample)} of the rows. On the dashed line they are equal.", spec=spec,
        fields=("measured", "predicted"), headings=("measured", "predicted"),
        rows=[list(row[:2]) for row in sample], max_width=520,
    )  # fmt: skip


PAGE = PageKind(
    name="Formulas",
    start="formulas.html",
    place=40,
    made_from=frozenset({"formula"}),
    make=make,
    figures=figures,
)
