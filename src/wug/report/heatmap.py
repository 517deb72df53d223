"""The table of a run as a picture: one coloured square per cell, as a stand-alone SVG."""

from __future__ import annotations

from html import escape

from wug.stats.runs import RunSummary

CELL_WIDTH, CELL_HEIGHT, LABEL, HEAD, GAP = 74, 26, 118, 64, 10
# Viridis at equal steps: ordered in lightness, safe for colour-blind readers.
COLOURS = ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58",
           "#b5de2b", "#fde725")  # fmt: skip
DARK_BELOW = 0.5


def colour(rate: float) -> str:
    """Return the colour of a success rate between 0 and 1."""
    return COLOURS[min(int(rate * len(COLOURS)), len(COLOURS) - 1)]


def square(x: float, y: float, ours: RunSummary | None, theirs: float | None, label: str) -> str:
    """Draw one cell: our rate in the middle, the published one small beside it."""
    if ours is None:
        return ""
    estimate = ours.rate
    ink = "#ffffff" if estimate.value < DARK_BELOW else "#000000"
    published = "" if theirs is None else f"{100 * theirs:.0f}"
    tip = (
        f"{label}: ours {ours.successes} of {ours.trials} ({100 * estimate.low:.0f}-"
        f"{100 * estimate.high:.0f} %), published {published or 'none'}"
    )
    middle = y + CELL_HEIGHT / 2 + 4
    return (
        f'<g><title>{escape(tip)}</title><rect x="{x}" y="{y}" width="{CELL_WIDTH - 2}" '
        f'height="{CELL_HEIGHT - 2}" rx="3" fill="{colour(estimate.value)}"/>'
        f'<text x="{x + 30}" y="{middle}" fill="{ink}" text-anchor="end" font-weight="600">'
        f"{100 * estimate.value:.0f}</text>"
        f'<text x="{x + 38}" y="{middle}" fill="{ink}" font-size="10">'
        f"{published}</text></g>"
    )


def to_svg(
    title: str,
    rows: list[tuple[str, ...]],
    columns: tuple[str, ...],
    cells: dict[tuple[tuple[str, ...], str], tuple[RunSummary | None, float | None]],
) -> str:
    """Draw all cells, grouped by all but the first field of the row.

    Args:
        title: Above the picture.
        rows: Values of the rows' fields, in order.
        columns: In order.
        cells: Our runs and the published success rate.
    """
    parts: list[str] = []
    y = float(HEAD)
    group: tuple[str, ...] | None = None
    for row in rows:
        if row[1:] != group:
            y += GAP if group is not None else 0
            group = row[1:]
            name = escape(" ".join(group))
            parts.append(f'<text x="4" y="{y + 17}" font-style="italic">{name}</text>')
        label = escape(row[0])
        parts.append(f'<text x="{LABEL - 8}" y="{y + 17}" text-anchor="end">{label}</text>')
        for i, column in enumerate(columns):
            ours, theirs = cells.get((row, column), (None, None))
            name = " ".join((*row, column))
            parts.append(square(LABEL + i * CELL_WIDTH, y, ours, theirs, name))
        y += CELL_HEIGHT
    heads = "".join(
        f'<text x="{LABEL + i * CELL_WIDTH + CELL_WIDTH / 2}" y="{HEAD - 10}" '
        f'text-anchor="middle" font-size="11">{escape(column)}</text>'
        for i, column in enumerate(columns)
    )
    compared = any(theirs is not None for _, theirs in cells.values())
    below = "success in %" + (", published rate beside it" if compared else "")
    width, height = LABEL + len(columns) * CELL_WIDTH + 8, y + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
        f'width="{width}" height="{height:.0f}" font-family="system-ui, sans-serif" '
        f'font-size="12" role="img" aria-label="{escape(title)}">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="4" y="20" font-size="15" font-weight="600">{escape(title)}</text>'
        f'<text x="4" y="38" fill="#555555">{below}</text>'
        f"{heads}{''.join(parts)}</svg>\n"
    )
