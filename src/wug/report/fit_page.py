"""The page of a fit: one HTML file with its pictures inside, that needs no net and no script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

WIDTH, HEIGHT = 360, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 12, 42
# Beyond these, differences and quotients of floats overflow.
LARGEST, SMALLEST = 1e300, 1e-280
SMALLEST_ERROR = 1e-16

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2126; --soft: #5b656e;
  --line: #d5dade; --band: #e3eef6; --inside: #0b6ba8; --outside: #c2540a; --card: #f7f8f9; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e6eaed; --soft: #a3adb5;
  --line: #363e45; --band: #1d3446; --inside: #62b6ee; --outside: #f2995b; --card: #1b2025; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.75rem 0 0.5rem; }
a { color: var(--inside); }
code, pre { font: 0.875rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; margin: 0; }
.card > :last-child { margin-bottom: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 0.75rem 1rem; margin: 0.75rem 0; }
.wide { overflow-x: auto; }
math { font-size: 1.35rem; }
.status { font-weight: 600; }
.charts { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
figure { margin: 0; }
figcaption { color: var(--soft); font-size: 0.875rem; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.axis { stroke: var(--line); fill: none; }
.band { fill: var(--band); }
.points { stroke: var(--inside); stroke-width: 4; stroke-linecap: round; stroke-opacity: 0.5; }
.guide { stroke: var(--soft); stroke-dasharray: 2 3; fill: none; }
.outside { stroke: var(--outside); stroke-width: 2; stroke-dasharray: 5 3; fill: none; }
.inside { stroke: var(--inside); stroke-width: 2.5; fill: none; }
.chosen { fill: none; stroke: var(--outside); stroke-width: 2; }
table { border-collapse: collapse; width: 100%; font-size: 0.875rem; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.25rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0;
  border-bottom: 1px solid var(--line); }
th[scope=col] { color: var(--soft); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 1%; }
tr.best { background: var(--band); }
"""


@dataclass(frozen=True, kw_only=True)
class FrontRow:
    """One formula of the front.

    Args:
        formula: As text.
        size: Its complexity.
        error: Root mean square error on held-out rows.
        r2: Share of the variance that it explains; None if there is none.
        chosen: Whether it is the answer.
    """

    formula: str
    size: int
    error: float
    r2: float | None
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The formula along one input, the others at their medians.

    Args:
        name: Of the input.
        low: Lowest value of the data.
        high: Highest value of the data.
        x: Values of the input, increasing, from below low to above high.
        y: Values of the formula; not finite where it is not defined.
    """

    name: str
    low: float
    high: float
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class FitPage:
    """What the page shows; all of it is escaped but the MathML.

    Args:
        target: Name of the target.
        formula: As text.
        mathml: The same as the inside of a ``math`` element.
        status: In one word.
        meaning: Of the status, in a sentence.
        certificate: As text; empty if there is none.
        notices: What a person should know of the data.
        measured: The target in some of the rows.
        predicted: The formula in the same rows.
        slices: The most important inputs first.
        front: The simplest formula first.
        facts: Of the fit, by name.
    """

    target: str
    formula: str
    mathml: str
    status: str
    meaning: str
    certificate: str
    notices: Sequence[str]
    measured: Sequence[float]
    predicted: Sequence[float]
    slices: Sequence[Slice]
    front: Sequence[FrontRow]
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Axis:
    """Maps numbers to the picture.

    Args:
        low: Number at the start.
        high: Number at the end, above low.
        start: Place of the start.
        end: Place of the end.
    """

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, margin: float) -> Axis:
        """Return an axis on which finite numbers have room."""
        usable = [v if abs(v) > SMALLEST else 0.0 for v in values if abs(v) < LARGEST] or [0.0]
        low, high = min(usable), max(usable)
        spread = high - low
        room = margin * spread if spread > 1e-12 * abs(high) else 0.05 * abs(high) or 1.0
        return cls(low - room, high + room, start, end)

    def place(self, value: float) -> float:
        """Return where a number is."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round numbers along the axis.

        Example:
            >>> Axis(0.2, 9.1, 0, 100).ticks()
            [2.0, 4.0, 6.0, 8.0]
        """
        step = next(round_steps((self.high - self.low) / most))
        first = math.ceil(self.low / step)
        return [i * step for i in range(first, math.floor(self.high / step) + 1)]


def round_steps(least: float) -> Iterator[float]:
    """Yield 1, 2 and 5 times a power of ten from a number upwards."""
    power = math.floor(math.log10(least))
    for exponent in (power, power + 1):
        yield from (m * 10.0**exponent for m in (1, 2, 5) if m * 10.0**exponent >= least)


def svg(label: str, inside: str, x: Axis, y: Axis, names: tuple[str, str], power: bool) -> str:
    """Return a picture with axes.

    Args:
        label: What it shows, for those who don't see it.
        inside: What is drawn.
        x: From left to right.
        y: From bottom to top.
        names: Of the axes, x first.
        power: Whether the numbers of y are powers of ten.
    """
    parts = [f'<path class="axis" d="M{LEFT} {TOP}V{y.start}H{x.end}"/>']
    for value in x.ticks():
        place = x.place(value)
        parts.append(f'<path class="axis" d="M{place} {y.start}v4"/>')
        parts.append(
            f'<text x="{place}" y="{y.start + 16}" text-anchor="middle">{value:.4g}</text>'
        )
    for value in y.ticks():
        place = y.place(value)
        text = f"{10.0**value:.3g}" if power else f"{value:.4g}"
        parts.append(f'<path class="axis" d="M{LEFT - 4} {place}h4"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{place + 4}" text-anchor="end">{text}</text>')
    middle = (x.start + x.end) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{short(names[0])}</text>'
    )
    height = (y.start + y.end) / 2
    parts.append(
        f'<text x="11" y="{height}" text-anchor="middle" transform="rotate(-90 11 {height})">'
        f"{short(names[1])}</text>"
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{inside}{''.join(parts)}</svg>"
    )


def short(name: str, most: int = 36) -> str:
    """Return a name that fits along an axis, escaped."""
    return escape(name if len(name) <= most else f"{name[: most - 1]}…")


def axes(
    x: Sequence[float], y: Sequence[float], x_margin: float = 0.05, y_margin: float = 0.05
) -> tuple[Axis, Axis]:
    """Return the axes of a picture."""
    return (
        Axis.around(x, LEFT, WIDTH - RIGHT, x_margin),
        Axis.around(y, HEIGHT - BOTTOM, TOP, y_margin),
    )


def draw_rows(page: FitPage) -> str:
    """Draw the predicted against the measured values."""
    rows = [
        (m, p)
        for m, p in zip(page.measured, page.predicted, strict=True)
        if abs(m) < LARGEST and abs(p) < LARGEST
    ]
    x, y = axes([m for m, _ in rows], [v for row in rows for v in row])
    low, high = x.place(x.low), x.place(x.high)
    line = f'<path class="guide" d="M{low} {y.place(x.low)}L{high} {y.place(x.high)}"/>'
    dots = "".join(f"M{x.place(m)} {y.place(p)}h0" for m, p in rows)
    label = f"Predicted against measured {page.target}, {len(rows)} rows; the line is equality."
    drawn = f'{line}<path class="points" d="{dots}"/>'
    return svg(label, drawn, x, y, ("measured", "predicted"), power=False)


def draw_slice(line: Slice, target: str, number: int) -> str:
    """Draw the formula along one input; the range of the data is shaded."""
    inside = [y for x, y in zip(line.x, line.y, strict=True) if line.low <= x <= line.high]
    finite = [v for v in inside if abs(v) < LARGEST] or [v for v in line.y if abs(v) < LARGEST]
    # A pole would squeeze everything else to a line, so the picture ends somewhere.
    reach = 3 * (max(finite) - min(finite)) or abs(finite[0]) or 1.0 if finite else 1.0
    seen = [v for v in line.y if finite and min(finite) - reach <= v <= max(finite) + reach]
    x, y = axes(line.x, seen or finite, x_margin=0.0)
    band = (x.place(line.low), x.place(line.high))
    path = "".join(curve(line, x, y))
    area = f'y="{TOP}" height="{HEIGHT - TOP - BOTTOM}"'
    clips = (
        f'<clipPath id="all{number}"><rect x="{LEFT}" width="{WIDTH - LEFT - RIGHT}" {area}/>'
        f'</clipPath><clipPath id="in{number}"><rect x="{band[0]}" '
        f'width="{max(band[1] - band[0], 1):.1f}" {area}/></clipPath>'
    )
    shade = (
        f'<rect class="band" x="{band[0]}" width="{max(band[1] - band[0], 1):.1f}" {area}/>'
        f'<text x="{sum(band) / 2:.1f}" y="{TOP + 12}" text-anchor="middle">data</text>'
    )
    drawn = (
        f'<g clip-path="url(#all{number})"><path class="outside" d="{path}"/></g>'
        f'<g clip-path="url(#in{number})"><path class="inside" d="{path}"/></g>'
    )
    label = (
        f"The formula for {target} along {line.name}, from {line.x[0]:.4g} to {line.x[-1]:.4g}; "
        f"the data range from {line.low:.4g} to {line.high:.4g}."
    )
    return svg(label, clips + shade + drawn, x, y, (line.name, target), power=False)


def curve(line: Slice, x: Axis, y: Axis) -> Iterator[str]:
    """Yield the pieces of a curve; it is broken at poles and where there are no values."""
    height = y.high - y.low
    points = list(zip(line.x, line.y, strict=True))
    for (_, before), (at, value) in pairwise([(0.0, math.nan), *points]):
        pole = before < y.low and value > y.high or before > y.high and value < y.low
        joined = abs(before) < LARGEST and not pole
        if abs(value) < LARGEST:
            # Far outside the picture any place will do, and long numbers are no use.
            clamped = min(max(value, y.low - height), y.high + height)
            yield f"{'L' if joined else 'M'}{x.place(at)} {y.place(clamped)}"


def draw_front(page: FitPage) -> str:
    """Draw the error of each formula of the front over its size."""
    logs = [math.log10(max(row.error, SMALLEST_ERROR)) for row in page.front]
    sizes = [float(row.size) for row in page.front]
    x, y = axes(sizes, logs, y_margin=0.1)
    places = [(x.place(s), y.place(e)) for s, e in zip(sizes, logs, strict=True)]
    steps = "".join(f"H{a}V{b}" for a, b in places[1:])
    drawn = f'<path class="guide" d="M{places[0][0]} {places[0][1]}{steps}"/>'
    dots = "".join(f"M{a} {b}h0" for a, b in places)
    drawn += f'<path class="points" style="stroke-opacity:1;stroke-width:6" d="{dots}"/>'
    for row, (a, b) in zip(page.front, places, strict=True):
        if row.chosen:
            drawn += f'<circle class="chosen" cx="{a}" cy="{b}" r="7"/>'
    label = "Error over size of the formulas of the front; the answer is ringed."
    return svg(label, drawn, x, y, ("size of the formula", "error"), power=True)


def figure(picture: str, caption: str) -> str:
    """Return a picture with its caption."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def front_table(page: FitPage) -> str:
    """Return the front as a table."""
    rows = "".join(
        f'<tr{" class=best" if row.chosen else ""}><td class="number">{row.size}</td>'
        f'<td class="number">{row.error:.3g}</td>'
        f'<td class="number">{"" if row.r2 is None else f"{row.r2:.5g}"}</td>'
        f"<td><code>{escape(row.formula)}</code></td></tr>"
        for row in page.front
    )
    heads = "".join(f'<th scope="col" class="number">{h}</th>' for h in ("size", "error", "R²"))
    return (
        "<table><caption>The front: no simpler formula has a smaller error. The answer is marked."
        f'</caption><thead><tr>{heads}<th scope="col">formula</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def to_html(page: FitPage) -> str:
    """Return the whole page."""
    charts = [figure(draw_rows(page), "Predicted against measured. On the line they are equal.")]
    for number, line in enumerate(page.slices):
        others = ", the other inputs at their medians" if len(page.slices) > 1 else ""
        caption = f"Along {line.name}{others}: solid inside the data's range, dashed outside."
        charts.append(figure(draw_slice(line, page.target, number), caption))
    if page.front:
        charts.append(figure(draw_front(page), "Error over size: each formula of the front."))
    facts = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in page.facts.items()
    )
    notices = "".join(f"<li>{escape(notice)}</li>" for notice in page.notices)
    certificate = (
        f'<h2>Certificate</h2><pre class="card">{escape(page.certificate)}</pre>'
        if page.certificate
        else ""
    )
    title = f"{page.target} as a formula"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<div class="card">
<div class="wide"><math display="block">{page.mathml}</math></div>
<pre>{escape(page.formula)}</pre>
<p><span class="status">{escape(page.status)}</span>: {escape(page.meaning)}.</p>
{f"<ul>{notices}</ul>" if notices else ""}
</div>
<h2>Inside and outside the data</h2>
<div class="charts">{"".join(charts)}</div>
{certificate}
<h2>The front</h2>
<div class="wide">{front_table(page)}</div>
<h2>The fit</h2>
<table><tbody>{facts}</tbody></table>
</main>
</body>
</html>
"""
