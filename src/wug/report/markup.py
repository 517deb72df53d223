"""HTML that can't be broken from inside: what is not markup is escaped.

`Markup` is text that is known to be HTML. Everything else that goes into a tag is escaped, so that
a name or an error from a record shows as it is written and does nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(content: object) -> Markup:
    """Turn anything into HTML: lists are joined, None is empty, text is escaped.

    Example:
        >>> markup(["1 < 2", None, tag("b", "x & y", class_="a", hidden=True)])
        '1 &lt; 2<b class="a" hidden>x &amp; y</b>'
    """
    if content is None:
        return Markup()
    if isinstance(content, Markup):
        return content
    if isinstance(content, list | tuple | Iterator):
        return Markup("".join(map(markup, content)))
    # A lone half of a surrogate pair, which JSON can spell, has no UTF-8 form.
    return Markup(escape(str(content).encode("utf-8", "replace").decode()))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: Of the element.
        content: Inside it.
        attributes: ``class_`` is class, ``aria_label`` is aria-label; True is an attribute
            without a value, None and False are none.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{markup(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{given}>" + ("" if name in VOID else f"{markup(content)}</{name}>"))


CODE = re.compile(r"``(.+?)``|`(.+?)`")


def coded(text: str) -> Markup:
    """Return text of a docstring with what stands between backticks as code.

    Example:
        >>> coded("``'a'`` or 1 < 2")
        '<code>&#x27;a&#x27;</code> or 1 &lt; 2'
    """
    parts, end = [], 0
    for found in CODE.finditer(text):
        parts += [text[end : found.start()], tag("code", found[1] or found[2])]
        end = found.end()
    return markup([*parts, text[end:]])


def finite(data: Any) -> Any:
    """Return plain JSON data: null for numbers that JSON or JavaScript don't have."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return str(data) if isinstance(data, int) and abs(data) >= 2**1023 else data


def json_block(data: Any, **attributes: object) -> Markup:
    """Return data for scripts, as an element that no text in the data can end."""
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):  # rare, and much slower
        text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    # As a name of JavaScript objects this one is no name; a space without width makes it one.
    text = text.replace('"__proto__"', '"__proto__\\u200b"')
    return tag("script", Markup(text), type="application/json", **attributes)


def slug(text: str, most: int = 80) -> str:
    """Return a file name: plain letters, with a hash where two texts could become one.

    Example:
        >>> slug("mistry2022.single_module"), slug("../etc")
        ('mistry2022.single_module', 'etc-f7f9121f')
    """
    plain = re.sub(r"[^a-z0-9_.-]+", "-", text.lower()).strip(".-")[:most].strip(".-")
    plain = re.sub(r"\.{2,}", ".", plain)
    if plain and plain == text:
        return plain
    mark = sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain}-{mark}" if plain else mark


def data_table(
    headings: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    numeric: Iterable[int] = (),
    name: str | None = None,
) -> Markup:
    """Return a table that the page lets a person sort, and filter if it has a name.

    Args:
        headings: Of the columns.
        rows: Of cells; a `Markup` that is a whole ``td`` is taken as it is.
        caption: What it shows, for those who don't see it.
        numeric: Places of the columns that are aligned as numbers.
        name: Gives it a filter; unique in its page.
    """
    right = set(numeric)
    head = [
        tag("th", tag("button", text, type="button"), scope="col", class_=number_class(i, right))
        for i, text in enumerate(headings)
    ]
    body = [
        tag("tr", [cell(i, content, number_class(i, right)) for i, content in enumerate(row)])
        for row in rows
    ]
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        class_="sortable",
        id=name,
    )
    box = tag("div", table, class_="wide", tabindex="0", role="region", aria_label=caption)
    if name is None:
        return box
    search = tag(
        "input", type="search", placeholder="Filter", aria_label=f"Filter: {caption}",
        data_filter=name,
    )  # fmt: skip
    count = tag("output", class_="count", data_count=name)
    return markup([tag("div", search, count, class_="tools"), box])


def number_class(place: int, numeric: set[int]) -> str | None:
    """Return the class of a column's cells."""
    return "number" if place in numeric else None


def cell(place: int, content: object, kind: str | None) -> Markup:
    """Return one cell; the first of a row is its heading."""
    if isinstance(content, Markup) and content.startswith("<td"):
        return content
    return tag("th", content, scope="row") if place == 0 else tag("td", content, class_=kind)


def pill(verdict: str) -> Markup:
    """Return a verdict as a mark with a sign, a word and a colour."""
    signs = {"held": "✓", "broken": "✕", "undecided": "?"}
    sign = tag("span", signs.get(verdict, "·"), aria_hidden="true")
    known = verdict if verdict in signs else "undecided"
    return tag("span", sign, verdict, class_=f"pill {known}")


def verdict_bar(counts: Mapping[str, int]) -> Markup:
    """Return how many claims are held, broken and undecided, as one bar with numbers."""
    names = [name for name in ("held", "broken", "undecided") if counts.get(name)]
    words = ", ".join(f"{counts[name]} {name}" for name in names) or "no claims"
    parts = [
        tag("span", counts[name], class_=name, style=f"flex-grow:{counts[name]}") for name in names
    ]
    return tag("span", parts, class_="verdicts", role="img", aria_label=words, title=words)


def command_block(command: str) -> Markup:
    """Return a command with a button that copies it."""
    copy = tag("button", "Copy", type="button", class_="copy", aria_label="Copy the command")
    return tag("div", tag("pre", tag("code", command)), copy, class_="command")
