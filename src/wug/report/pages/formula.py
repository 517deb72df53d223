"""Formulas that `wug fit` found: the formula, its front, and how it goes on outside the data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from wug.report.markup import Markup, command_block, data_table, finite, markup, tag
from wug.report.page import Page, PageKind, attempted, facts
from wug.report.sources import FitSource, Sources, is_number

MOST_INPUTS = 6
NUM_POINTS = 161
SMALLEST_ERROR = 1e-16


def make(sources: Sources) -> Iterator[Page]:
    """Yield the list and a page for each fit."""
    if not sources.fits:
        return
    rows = [
        (tag("a", fit.data["target"], href=fit.page), tag("code", fit.data["expression"]),
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
    """Return the page of one fit."""
    data = fit.data
    latex = data.get("latex")
    formula = tag("span", latex, class_="tex") if isinstance(latex, str) else data["expression"]
    charts = [chart for chart in (slices(data), front(data)) if chart is not None]
    inputs = ", ".join(map(str, data["columns"]))
    ranges = [
        (name, " to ".join(f"{float(limit):.6g}" for limit in (limits[0], limits[-1])))
        for name, limits in data["ranges"].items()
        if isinstance(limits, list) and limits and all(map(is_number, limits))
    ]
    notices = [tag("li", notice) for notice in data.get("notices") or ()]
    certificate = data.get("certificate")
    return markup(
        [
            tag("h1", data["target"], " as a formula"),
            tag("div", tag("span", data["target"], " ="), formula, class_="equation"),
            tag("pre", data["expression"]),
            facts([("status", data["status"]), ("inputs", inputs), ("rows", data.get("rows"))]),
            tag("ul", notices) if notices else None,
            tag("section", tag("h2", "Inside and outside the data"),
                [chart.to_html() for chart in charts]) if charts else None,
            tag("section", tag("h2", "The front"), front_table(data)),
            tag("section", tag("h2", "Certificate"),
                tag("pre", json.dumps(finite(certificate), indent=1, ensure_ascii=False)))
            if certificate else None,
            tag("section", tag("h2", "How to repeat it"),
                command_block(str(data["command"])) if data.get("command") else None,
                facts(ranges), facts([("folder", fit.name)])),
        ]
    )  # fmt: skip


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
        (tag("code", formula), size, f"{error:.3g}", f"{r2:.5g}" if is_number(r2) else "",
         "the answer" if chosen else "")
        for size, error, r2, formula, chosen in rows_of(data)
    ]  # fmt: skip
    return data_table(("formula", "size", "error", "R²", "note"), rows, caption="The front",
                      numeric=(1, 2, 3), name="front-table")  # fmt: skip


def front(data: Mapping[str, Any]) -> Chart | None:
    """Return the error of each formula over its size."""
    rows = [
        [size, max(error, SMALLEST_ERROR), three_digits(r2) if is_number(r2) else None, formula,
         chosen]
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
    spec = {
        "width": "container",
        "height": 230,
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after", "color": INK, "opacity": 0.35}},
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {"color": colour,
                             "tooltip": tips({"formula": "formula", "size": "size",
                                              "error": "error"})},
            },
        ],
    }  # fmt: skip
    return Chart(
        name="front", title="The front", about="No simpler formula has a smaller error. The answer "
        "is the vermilion point.", spec=spec,
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


def slices(data: Mapping[str, Any]) -> Chart | None:
    """Return the formula along its inputs, the others at their medians."""
    names = [str(name) for name in data["columns"]]
    try:
        used = np.any(np.array(data["weights"]["exponents"], np.float64), axis=0).tolist()
        limits = np.array([data["ranges"][name] for name in names], np.float64)
        rows = []
        shown = [i for i in range(len(names)) if used[i]][:MOST_INPUTS]
        for place in shown:
            low, middle, high = limits[place]
            reach = 0.5 * (high - low) or 0.5 * abs(middle) or 1.0
            x = np.linspace(low - reach, high + reach, NUM_POINTS)
            inputs = np.tile(limits[:, 1], (NUM_POINTS, 1))
            inputs[:, place] = x
            for at, value in zip(x, evaluate(data["weights"], inputs), strict=True):
                inside = bool(low <= at <= high)
                number = three_digits(float(value))
                rows.append([names[place], place, float(f"{at:.6g}"), number if inside else None,
                             None if inside else number])  # fmt: skip
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    if not any(value is not None for row in rows for value in row[3:]):
        return None
    x_channel = field("x", "quantitative", title=None, axis={"tickCount": 5})

    def line(name: str, **mark: Any) -> dict[str, Any]:
        y = field(name, "quantitative", title=str(data["target"]), scale={"zero": False})
        return {"mark": {"type": "line", "invalid": "break-paths-filter-domains", **mark},
                "encoding": {"x": x_channel, "y": y}}  # fmt: skip

    spec = {
        "facet": panel_header("input"),
        "columns": min(3, len(shown)),
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
        "spec": {
            "width": 240,
            "height": 180,
            "layer": [
                line("outside", strokeDash=[5, 3], color=VERMILION, strokeWidth=1.8),
                line("inside", color=BLUE, strokeWidth=2.5),
            ],
        },
    }
    return Chart(
        name="along", title="Along each input",
        about="The other inputs are at their medians. Solid inside the range of the data, dashed "
        "outside.", spec=spec, fields=("input", "order", "x", "inside", "outside"),
        headings=("input", "", "value", f"{data['target']} inside", f"{data['target']} outside"),
        rows=rows,
    )  # fmt: skip


PAGE = PageKind(
    name="Formulas",
    start="formulas.html",
    place=40,
    made_from=frozenset({"formula"}),
    make=make,
)
