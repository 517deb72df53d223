"""The page of a fit: whole, escaped, and drawn whatever the numbers are."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.report.fit_page import Axis, FitPage, FrontRow, Slice, axes, curve, to_html

HOSTILE = "<script>alert('1')</script>\"&amp;"
VOID = {"meta"}


class Structure(HTMLParser):
    """Notes tags, attributes and text, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(page: FitPage) -> Structure:
    structure = Structure()
    structure.feed(to_html(page))
    assert structure.open == []
    return structure


def make_page(**changes: object) -> FitPage:
    line = Slice(name="a", low=1.0, high=2.0, x=[-1.0, 0.0, 1.0, 2.0, 3.0], y=[-2, 0, 2, 4, 6])
    page = FitPage(
        target="y", formula="2*a", mathml="<mn>2</mn><mi>a</mi>", status="exact",
        meaning="it fits", certificate="", notices=(), measured=[2.0, 4.0], predicted=[2.0, 4.0],
        slices=[line], facts={"rows": "2"},
        front=[
            FrontRow(formula="3", size=3, error=1.0, r2=0.0, chosen=False),
            FrontRow(formula="2*a", size=4, error=0.0, r2=None, chosen=True),
        ],
    )  # fmt: skip
    return replace(page, **changes)


def pictures(page: FitPage) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(s) for s in re.findall(r"<svg.*?</svg>", to_html(page), re.S)]


def test_nothing_is_loaded_and_everything_is_labelled() -> None:
    structure = parsed(make_page())
    assert not {"script", "link", "img", "iframe", "object"} & set(structure.tags)
    assert not {"src", "href", "onload", "onclick"} & {name for name, _ in structure.attributes}
    assert "@import" not in to_html(make_page()) and "http" not in to_html(make_page())
    assert all(p.attrib["role"] == "img" and p.attrib["aria-label"] for p in pictures(make_page()))
    assert ("lang", "en") in structure.attributes
    assert "prefers-color-scheme: dark" in to_html(make_page())


def test_all_text_is_escaped() -> None:
    page = make_page(
        target=HOSTILE, formula=HOSTILE, status=HOSTILE, meaning=HOSTILE, certificate=HOSTILE,
        notices=[HOSTILE], facts={HOSTILE: HOSTILE},
        slices=[replace(make_page().slices[0], name=HOSTILE)],
        front=[replace(row, formula=HOSTILE) for row in make_page().front],
    )  # fmt: skip
    structure = parsed(page)
    assert "script" not in structure.tags
    # Title, heading, formula, status, meaning, notice, certificate, two facts, axis and its
    # target, caption, two rows of the front.
    assert structure.text.count(HOSTILE) == 14


def test_the_answer_is_marked_and_undefined_shares_are_left_empty() -> None:
    html = to_html(make_page())
    assert html.count("class=best") == 1
    assert html.count('class="chosen"') == 1
    assert "nan" not in html


@pytest.mark.parametrize("hostile", [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324])
def test_numbers_that_can_not_be_drawn(hostile: float) -> None:
    line = make_page().slices[0]
    for y in ([hostile] * 5, [hostile, 1.0, 2.0, hostile, 3.0], [0.0, 0.0, hostile, 0.0, 0.0]):
        page = make_page(
            predicted=[hostile, 4.0], measured=[hostile, hostile], slices=[replace(line, y=y)]
        )
        for picture in pictures(page):
            drawn = "".join(element.get("d", "") for element in picture.iter())
            assert not re.search("nan|inf|[0-9]{5}", drawn)


def test_one_row_and_no_front() -> None:
    assert len(pictures(make_page(measured=[1.0], predicted=[1.0], slices=[], front=[]))) == 1


def test_a_curve_is_broken_at_a_pole_and_where_it_is_not_defined() -> None:
    xs = [(i - 50) / 10 for i in range(101)]
    ys = [1 / x if x else math.nan for x in xs]
    ys[80:] = [math.nan] * 21
    line = Slice(name="a", low=1.0, high=2.0, x=xs, y=ys)
    drawn = list(curve(line, *axes(xs, [0.5, 1.0])))
    assert [piece[0] for piece in drawn].count("M") == 2
    # Without a point at the pole itself, the jump from below to above breaks it.
    xs = [x + 0.05 for x in xs]
    line = replace(line, x=xs, y=[1 / x for x in xs])
    assert [piece[0] for piece in curve(line, *axes(xs, [0.5, 1.0]))].count("M") == 2


@given(
    st.floats(-1e290, 1e290), st.floats(1e-290, 1e290), st.integers(2, 8)
)  # fmt: skip
def test_ticks_are_few_round_and_inside(low: float, spread: float, most: int) -> None:
    axis = Axis.around([low, low + spread], 0, 100, 0.05)
    ticks = axis.ticks(most)
    assert len(ticks) <= most + 1
    for before, after in pairwise(ticks):
        assert float(f"{after - before:.6g}") > 0
    slack = 1e-9 * (axis.high - axis.low)
    assert all(axis.low - slack <= tick <= axis.high + slack for tick in ticks)
