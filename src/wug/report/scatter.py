"""A picture of points in a square, each a link: how well inside, against how well outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import hypot

from wug.report.markup import Markup, tag

SIDE, LEFT, TOP, RIGHT, BOTTOM = 520, 88, 34, 190, 56
RADIUS, GAP = 6.0, 12.5
MOST_BEYOND = 40.0  # right of the frame
LETTER, CAPITAL, LINE = 7.0, 9.0, 14.0
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point.

    Args:
        x: From 0 to 1.
        y: From 0 to 1.
        low: Lower end of the interval of y; None without one.
        high: Upper end.
        name: Beside it, if there is room.
        words: All of it, for those who point at it.
        href: Where it leads.
        group: Its colour.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    name: str
    words: str
    href: str
    group: str


def across(share: float) -> float:
    """Return where a share stands from the left."""
    return LEFT + SIDE * share


def down(share: float) -> float:
    """Return where a share stands from the top."""
    return TOP + SIDE * (1 - share)


def apart(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Return a place for each point; those that would cover each other stand side by side.

    They move to the side alone: how well outside is what the picture is about.
    """
    taken: list[tuple[float, float]] = []
    for point in points:
        x, y = across(point.x), down(point.y)
        steps = (GAP * half * sign for half in count() for sign in (1, -1))
        for step in steps:
            place = x + step, y
            inside = LEFT <= place[0] <= LEFT + SIDE + MOST_BEYOND
            if inside and all(hypot(place[0] - a, y - b) >= GAP - 0.5 for a, b in taken):
                taken.append(place)
                break
    return taken


Box = tuple[float, float, float, float]


def overlaps(one: Box, other: Box) -> bool:
    """Say whether two boxes (left, top, right, bottom) cover each other."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def width(text: str) -> float:
    """Return about how wide a name is; capitals are wider than other letters.

    Example:
        >>> width("NMU") > width("nmu")
        True
    """
    return sum(CAPITAL if letter.isupper() else LETTER for letter in text)


def labels(points: Sequence[Point], places: Sequence[tuple[float, float]]) -> Iterator[Markup]:
    """Yield the names that find room beside their points, first come, first served."""
    boxes: list[Box] = [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in places]
    for point, (x, y) in zip(points, places, strict=True):
        wide = width(point.name)
        sides = (
            (x + 10, y + 4, "start", (x + 10, y - 7, x + 10 + wide, y + 7)),
            (x - 10, y + 4, "end", (x - 10 - wide, y - 7, x - 10, y + 7)),
            (x, y - 10, "middle", (x - wide / 2, y - 10 - LINE, x + wide / 2, y - 8)),
            (x, y + 19, "middle", (x - wide / 2, y + 8, x + wide / 2, y + 8 + LINE)),
        )
        edge = LEFT + SIDE + RIGHT
        for left, base, anchor, box in sides:
            inside = box[0] > LEFT and box[2] < edge and box[1] > 2 and box[3] < TOP + SIDE
            if inside and not any(overlaps(box, other) for other in boxes):
                boxes.append(box)
                yield tag(
                    "text", point.name, x=f"{left:.1f}", y=f"{base:.1f}", text_anchor=anchor,
                    class_="name", aria_hidden="true",
                )  # fmt: skip
                break


def axes(across_name: str, up_name: str) -> Iterator[Markup]:
    """Yield the frame, the ticks, and the line on which nothing is lost."""
    yield tag("path", d=f"M{LEFT} {down(0)}L{across(1)} {down(1)}", class_="even")
    for share in TICKS:
        x, y, text = f"{across(share):.0f}", f"{down(share):.0f}", f"{100 * share:.0f} %"
        yield tag("path", d=f"M{x} {TOP}V{TOP + SIDE}M{LEFT} {y}H{LEFT + SIDE}", class_="grid")
        anchor = "middle" if share else "start"  # beside the zero of the other axis
        yield tag("text", text, x=x, y=TOP + SIDE + 20, text_anchor=anchor)
        yield tag("text", text, x=LEFT - 8, y=float(y) + 4, text_anchor="end")
    middle = LEFT + SIDE / 2
    yield tag("text", across_name, x=middle, y=TOP + SIDE + 44, text_anchor="middle", class_="axis")
    turned = f"translate(16 {TOP + SIDE / 2}) rotate(-90)"
    yield tag("text", up_name, transform=turned, text_anchor="middle", class_="axis")
    yield tag(
        "text", "as good outside as inside", text_anchor="middle", class_="axis",
        transform=f"translate({across(0.52)} {down(0.52) - 8}) rotate(-45)",
    )  # fmt: skip


def mark(point: Point, place: tuple[float, float], colour: str) -> Markup:
    """Return one point with its interval, as a link."""
    x, y = place
    bar = None
    if point.low is not None and point.high is not None:
        ends = f"M{x:.1f} {down(max(point.low, 0)):.1f}V{down(min(point.high, 1)):.1f}"
        bar = tag("path", d=ends, style=f"stroke:{colour}", class_="interval")
    dot = tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=RADIUS, style=f"fill:{colour}")
    title = tag("title", point.words)
    return tag("a", title, bar, dot, href=point.href, aria_label=point.words, class_="point")


def scatter(
    points: Sequence[Point],
    colours: dict[str, str],
    *,
    across_name: str,
    up_name: str,
    about: str,
    beside: Markup,
) -> Markup:
    """Return the picture.

    Args:
        points: Those whose names matter most first.
        colours: Of each group.
        across_name: Of the axis below.
        up_name: Of the axis at the left.
        about: What it shows, for those who don't see it.
        beside: What stands beside it.
    """
    places = apart(points)
    marks = [
        mark(point, place, colours[point.group])
        for point, place in zip(points, places, strict=True)
    ]
    wide, high = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
    picture = tag(
        "svg", list(axes(across_name, up_name)), marks, list(labels(points, places)),
        viewBox=f"0 0 {wide} {high}", class_="scatter", role="group", aria_label=about,
    )  # fmt: skip
    legend = [
        tag("span", tag("i", style=f"background:{colour}"), group)
        for group, colour in colours.items()
    ]
    box = tag("div", picture, class_="wide", tabindex="0", role="region", aria_label=about)
    notes = tag("figcaption", tag("p", legend, class_="legend"), beside)
    return tag("figure", box, notes, class_="scattered")
