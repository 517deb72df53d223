"""The page of masks: one HTML file that says which weights do what, with the controls beside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from wug.report.fit_page import STYLE

WIDTH, HEIGHT, MARGIN = 360, 220, 36
# What should be worse than a mask, and what varies it.
CONTRASTS = {
    "shuffled": "mask of shuffled labels",
    "random_weights": "mask of weights in random order",
    "random_mask": "random mask of this size",
}
VARIANTS = {
    "others_zero": "other weights 0",
    "others_mean": "other weights at their mean",
    "others_resampled": "other weights resampled",
    "seed_iou": "overlap of seeds",
}
CONTROLS = CONTRASTS | VARIANTS
MORE = """
.bar { fill: var(--inside); }
.c0 { stroke: var(--inside); } .c1 { stroke: var(--outside); } .c2 { stroke: #3a8f4d; }
.c3 { stroke: #8a5fc0; } .random { stroke: var(--soft); stroke-dasharray: 4 3; }
.curve { fill: none; stroke-width: 2; }
td.cell { text-align: right; font-variant-numeric: tabular-nums; }
thead th { text-align: right; }
ul.card { padding-left: 1.8em; }
.charts + .wide { margin-top: 1em; }
svg.key { display: inline; width: 1.6em; height: 0.7em; margin-right: 0.5em; }
"""


def masks_html(found: Mapping[str, Any]) -> str:
    """Return the page of what `FoundMasks.to_json` says; everything is escaped.

    Args:
        found: Plain data.
    """
    names = [str(name) for name in found["functions"]]
    parts = [
        "<h1>Which weights do what</h1>",
        f"<p>{len(names)} functions, {found['num_seeds']} masks each, of "
        f"{found['num_weights']:,} weights.</p>",
        _properties(found),
        "<h2>Functions under masks</h2>",
        _matrix(found, names),
        "<h2>Controls</h2>",
        "<p>A mask can be found for almost anything. It says something if these are worse.</p>",
        _controls(found, names, CONTRASTS, "Right answers of each function in %"),
        "<p>How far it depends on what stands for the other weights, and on the seed:</p>",
        _controls(found, names, VARIANTS, "Right answers, and overlap of the masks, in %"),
    ]
    if found.get("truth"):
        parts += ["<h2>Beside the truth</h2>", _truth(found, names)]
    if found.get("sharing"):
        parts += ["<h2>Weights that other functions need, too</h2>", _sharing(found, names)]
        parts.append(_overlaps(found))
    if found.get("curves"):
        parts += ["<h2>How much is left with how many weights</h2>", _curves(found)]
    title = "Masks of " + ", ".join(names)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{MORE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def percent(value: Any) -> str:
    """Write a share in per cent; a dash if there is none.

    Example:
        >>> percent(0.5), percent(None)
        ('50.0', '–')
    """
    number = isinstance(value, (int, float)) and math.isfinite(value)
    return f"{100 * value:.1f}" if number else "–"


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f'<td class="cell">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    return _whole_table(caption, columns, body)


def _whole_table(caption: str, columns: Sequence[str], body: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("", *columns))
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _properties(found: Mapping[str, Any]) -> str:
    if not found.get("specialise"):
        return ""
    lines = []
    for key, text in (
        ("specialise", "P_specialize: how much better a function does under its own mask than the "
         "others do"),
        ("reuse", "P_reuse: how much of a function is lost without the weights of another one"),
    ):  # fmt: skip
        value = found[key]
        low, high = value["low"], value["high"]
        interval = "" if low is None else f" (95 %: {percent(low)} to {percent(high)})"
        lines.append(f"<li>{escape(text)}: {percent(value['value'])} %{interval}</li>")
    return f'<ul class="card">{"".join(lines)}</ul>'


def _matrix(found: Mapping[str, Any], names: Sequence[str]) -> str:
    rows = [["all weights", *(percent(found["full"][name]) for name in names), ""]]
    total = found["num_weights"]
    for title, key in (("mask of", "matrix"), ("without the weights of", "inverse")):
        for mask in names:
            kept = found["counts"][mask] / total
            size = kept if key == "matrix" else 1 - kept
            cells = [percent(found[key][mask][name]) for name in names]
            rows.append([f"{title} {mask}", *cells, percent(size)])
    return _table("Right answers in %, mean over seeds", [*names, "weights in %"], rows)


def _controls(
    found: Mapping[str, Any], names: Sequence[str], kinds: Mapping[str, str], caption: str
) -> str:
    known = [key for key in kinds if any(key in found["controls"][name] for name in names)]
    if not known:
        return "<p>None of these controls were asked for.</p>"
    rows = [["own mask", *(percent(found["matrix"][name][name]) for name in names)]]
    for key in known:
        rows.append([kinds[key], *(percent(found["controls"][n].get(key)) for n in names)])
    return _table(caption, names, rows)


def _overlaps(found: Mapping[str, Any]) -> str:
    rows = [
        [pair, percent(values["iou"]), percent(values["io_min"])]
        for pair, values in found["overlaps"].items()
    ]
    columns = ["of all weights of both", "of the smaller mask"]
    return _table("Overlap of two masks in % (IoU, IoMin)", columns, rows)


def _truth(found: Mapping[str, Any], names: Sequence[str]) -> str:
    kinds = {"precision": "of the weights that were found, needed",
             "recall": "of the weights that are needed, found"}  # fmt: skip
    rows = [
        [f"{kind}: {text}", *(percent(found["truth"].get(name, {}).get(kind)) for name in names)]
        for kind, text in kinds.items()
    ]
    return _table("It is known which weights a function needs; in %", names, rows)


def _sharing(found: Mapping[str, Any], names: Sequence[str]) -> str:
    rows = [
        [layer, *(percent(found["sharing"][name].get(layer)) for name in names), f"{size:,}"]
        for layer, size in found["layers"].items()
    ]
    table = _table("Shared weights in % of a function's own", [*names, "weights"], rows)
    return f"{table}<div class='charts'>{''.join(_bars(found, name) for name in names)}</div>"


def _bars(found: Mapping[str, Any], name: str) -> str:
    shares = list(found["sharing"][name].items())
    step = (WIDTH - 2 * MARGIN) / max(len(shares), 1)
    bars = []
    for index, (layer, value) in enumerate(shares):
        height = (HEIGHT - 2 * MARGIN) * (value if math.isfinite(value) else 0)
        x, y = MARGIN + index * step, HEIGHT - MARGIN - height
        bars.append(
            f'<rect class="bar" x="{x + 2:.1f}" y="{y:.1f}" width="{max(step - 4, 1):.1f}" '
            f'height="{height:.1f}"><title>{escape(layer)}: {percent(value)} %</title></rect>'
        )
    return _figure("".join(bars), f"{name}: shared weights by layer, first to last")


def _curves(found: Mapping[str, Any]) -> str:
    shares, lines, rows = found["shares"], [], []
    for index, (name, values) in enumerate(found["curves"].items()):
        points = " ".join(
            f"{MARGIN + share * (WIDTH - 2 * MARGIN):.1f},"
            f"{HEIGHT - MARGIN - value * (HEIGHT - 2 * MARGIN):.1f}"
            for share, value in zip(shares, values, strict=True)
        )
        kind = "random" if name == "random" else f"c{index % 4}"
        title = f"{name}: area {percent(found['areas'][name])} %"
        lines.append(
            f'<polyline class="curve {kind}" points="{points}"><title>{escape(title)}</title>'
            "</polyline>"
        )
        key = f'<svg class="key" viewBox="0 0 24 10"><path class="curve {kind}" d="M0,5H24"/></svg>'
        rows.append(
            f'<tr><th scope="row">{key}{escape(name)}</th>'
            f'<td class="cell">{percent(found["areas"][name])}</td></tr>'
        )
    caption = "Right answers over the share of weights, the most likely ones first; dashed: random"
    right, below = WIDTH - MARGIN, HEIGHT - MARGIN + 14
    ends = (
        f'<text x="{MARGIN}" y="{below}">no weights</text>'
        f'<text x="{right}" y="{below}" text-anchor="end">all weights</text>'
    )
    figure = _figure("".join(lines), caption, ends)
    table = _whole_table("Area below each curve", ["in %"], "".join(rows))
    return f"<div class='charts'>{figure}{table}</div>"


def _figure(content: str, caption: str, further: str = "") -> str:
    left, right, bottom, top = MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN, MARGIN
    axes = f'<path class="axis" d="M{left},{top}V{bottom}H{right}"/>'
    texts = (
        f'<text x="{left - 6}" y="{top + 4}" text-anchor="end">100</text>'
        f'<text x="{left - 6}" y="{bottom}" text-anchor="end">0 %</text>{further}'
    )
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(caption)}">'
        f"{axes}{texts}{content}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )
