"""A report card as a picture to share: a stand-alone SVG, made from the card's table."""

from __future__ import annotations

import math
from html import escape

from wug.stats.comparison_table import ResultTable

WIDTH, MARGIN, HEAD, FOOT = 1200, 48, 136, 56
LABEL, BAR, LINE, GAP = 320, 22, 34, 26
INK, DIM, RAIL, FILL, RIVAL = "#1b1b1f", "#62626b", "#e9e9ef", "#3450c8", "#9aa5d8"
OUTSIDE, INSIDE = "accuracy", "iid_accuracy"


def text(x: float, y: float, words: str, **attributes: object) -> str:
    """Return a line of text."""
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{given}>{escape(words)}</text>'


def share(table: ResultTable, row: tuple[str, ...], column: str, measure: str) -> float:
    """Return a share of right answers; NaN if the cell is not scored."""
    cell = table.cells.get((row, column))
    if cell is None or cell.ours is None or measure not in cell.ours:
        return math.nan
    return float(cell.ours[measure].value)


def card_svg(table: ResultTable, about: str = "") -> str:
    """Draw right answers out of distribution as bars, those inside and chance as marks.

    Args:
        table: Of a card.
        about: What a reader should know, such as the time that each model had.
    """
    rows = table.rows
    names = " and ".join(row[0] for row in rows[:1]) or "nothing yet"
    parts, y = [], float(HEAD)
    left, wide = MARGIN + LABEL, WIDTH - 2 * MARGIN - LABEL - 110
    for column in table.columns:
        chance = table.chance.get(OUTSIDE, {}).get(column, math.nan)
        parts.append(text(MARGIN, y + 16, column.replace("_", " "), font_weight=600))
        for place, row in enumerate(rows):
            outside, inside = (share(table, row, column, m) for m in (OUTSIDE, INSIDE))
            parts.append(text(left - 14, y + 16, row[0], text_anchor="end", fill=DIM))
            parts.append(rect(left, y, wide, RAIL))
            if math.isnan(outside):
                parts.append(text(left + 8, y + 16, "not scored", fill=DIM, font_size=13))
            else:
                parts.append(rect(left, y, outside * wide, FILL if place == 0 else RIVAL))
                words = f"{100 * outside:.0f} %"
                parts.append(text(left + wide + 12, y + 16, words, font_weight=600))
            parts += [mark(left + value * wide, y, dashed) for value, dashed in
                      ((inside, False), (chance, True)) if not math.isnan(value)]  # fmt: skip
            y += LINE
        y += GAP
    height = y + FOOT
    legend = (
        "bar: right answers out of distribution · full line: in distribution · "
        "dashed line: chance, always the most frequent answer"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" font-family="system-ui, sans-serif" '
        f'font-size="16" fill="{INK}" role="img" aria-label="{escape(table.title)}">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        + text(MARGIN, 62, f"Does {names} learn the rule?", font_size=34, font_weight=700)
        + text(MARGIN, 94, "longer, deeper and newly composed problems" + (about and f" · {about}"),
               fill=DIM)
        + "".join(parts)
        + text(MARGIN, height - 26, legend, fill=DIM, font_size=13)
        + text(WIDTH - MARGIN, height - 26, "wug card", fill=DIM, font_size=13, text_anchor="end")
        + "</svg>\n"
    )  # fmt: skip


def rect(x: float, y: float, width: float, colour: str) -> str:
    """Return a bar."""
    return f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{BAR}" rx="3" fill="{colour}"/>'


def mark(x: float, y: float, dashed: bool) -> str:
    """Return a line across a bar."""
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 3}" y2="{y + BAR + 3}" stroke="{INK}" '
        f'stroke-width="2"{dash}/>'
    )
