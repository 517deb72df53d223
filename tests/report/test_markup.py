"""Markup that text can't break out of."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.report.markup import Markup, data_table, finite, json_block, markup, pill, slug, tag


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>", Markup("<i>")) == "<p>&lt;b&gt;<i></p>"
    assert tag("a", "x", href='"><script>') == '<a href="&quot;&gt;&lt;script&gt;">x</a>'
    assert tag("input", disabled=True, value=None, hidden=False) == "<input disabled>"
    assert markup(tag("td", i) for i in range(2)) == "<td>0</td><td>1</td>"


@given(st.text())
def test_no_text_opens_a_tag(text: str) -> None:
    shown = tag("p", text)
    assert shown.count("<") == 2
    shown.encode()


@given(st.text())
def test_no_text_ends_a_block_of_data(text: str) -> None:
    block = json_block({"a": text})
    assert block.count("<") == 2
    inside = block[block.index(">") + 1 : block.rindex("<")]
    assert json.loads(inside)["a"].replace("__proto__\u200b", "__proto__") == text


def test_numbers_that_json_lacks_are_null() -> None:
    data = {"a": [math.nan, math.inf, 1.5], "b": (10**400, True, None)}
    assert finite(data) == {"a": [None, None, 1.5], "b": [str(10**400), True, None]}


@pytest.mark.parametrize("text", ["../../etc", "a/b", "", "..", ".", "CON", "x" * 500, "ü", "a b"])
def test_slugs_are_plain_names(text: str) -> None:
    name = slug(text)
    assert name and len(name) < 100
    assert all(sign in "abcdefghijklmnopqrstuvwxyz0123456789_.-" for sign in name)
    assert not name.startswith(".") and ".." not in name


@given(st.text(max_size=8), st.text(max_size=8))
def test_two_texts_have_two_slugs(one: str, other: str) -> None:
    assert (slug(one) == slug(other)) == (one == other)


def test_tables_have_headings_and_a_filter() -> None:
    table = data_table(("a", "b"), [("x", 1), ("y", tag("td", 2, data_sort=2))], caption="C",
                       numeric=(1,), name="t")  # fmt: skip
    assert table.count("<button") == 2 and 'data-filter="t"' in table
    assert '<th scope="row">x</th><td class="number">1</td>' in table
    assert '<td data-sort="2">2</td>' in table


def test_a_verdict_is_told_by_sign_word_and_colour() -> None:
    assert pill("held") == '<span class="pill held"><span aria-hidden="true">✓</span>held</span>'
    assert "undecided" in pill('"><x>') and "<x>" not in pill('"><x>')
