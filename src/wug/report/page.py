"""A page of the site, the kind that it is of, and the shell around it."""

from __future__ import annotations

import base64
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any

from wug.report.markup import Markup, markup, tag
from wug.report.sources import Sources

ASSETS = files("wug.report") / "assets"
# What a page needs is told by what is in it; text from records can't hold a tag.
NEEDS = {
    '<figure class="chart"': ("vendor/vega.min.js", "vendor/vega-lite.min.js",
                              "vendor/vega-embed.min.js"),
    '<span class="tex"': ("vendor/katex.min.js", "vendor/katex.min.css"),
    '<figure class="routing"': ("player.js", "player.css"),
    '<figure class="asking"': ("player.js", "networks.js", "asking.js", "player.css",
                               "asking.css"),
    '<figure class="writing"': ("writing.js", "writing.css"),
    '<figure class="memory"': ("player.js", "memory.js", "player.css"),
}  # fmt: skip
COMMON = ("site.css", "site.js")
FONT = re.compile(r"url\((fonts/[\w-]+\.woff2)\)")
MOON = "◐"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page.

    Args:
        path: Its file; the site has no folders.
        title: For people.
        body: What is inside.
        scripts: Files of data that it asks for when it needs them, by name, as code.
    """

    path: str
    title: str
    body: Markup
    scripts: Mapping[str, Callable[[], str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PageKind:
    """A kind of page: what it is made from, and how.

    Args:
        name: In the navigation; empty if it is reached from other pages alone.
        start: Its first page, which the navigation leads to.
        place: In the navigation, small numbers first.
        made_from: Kinds of record; without any of them there are no such pages.
        make: Yields the pages.
        figures: Yields the charts that it has of the first run or fit, for files; a second run
            is there to be compared with. None if it has none.
    """

    name: str = ""
    start: str = ""
    place: int = 100
    made_from: frozenset[str]
    make: Callable[[Sources], Iterator[Page]]
    # Of `Chart`, which this floor does not see.
    figures: Callable[[Sources], Iterator[Any]] | None = None


def attempted(path: str, title: str, make: Callable[[], Markup]) -> Page:
    """Return a page; one that says why, if it can't be made from what is there.

    Args:
        path: Its file.
        title: For people.
        make: Makes what is inside.
    """
    try:
        body = make()
    except Exception:
        reason = traceback.format_exc(limit=-3)
        body = markup(
            [tag("h1", title), tag("p", "This page could not be made:"), tag("pre", reason)]
        )
    return Page(path=path, title=title, body=body)


def asset(name: str) -> bytes:
    """Return a file that pages load."""
    return ASSETS.joinpath(*name.split("/")).read_bytes()


def needed(pages: Iterable[Page]) -> list[str]:
    """Return what pages load, in order."""
    bodies = [page.body for page in pages]
    wanted = [
        name
        for sign, names in NEEDS.items()
        if any(sign in body for body in bodies)
        for name in names
    ]
    return [*dict.fromkeys(wanted), *COMMON]


def navigation(links: Sequence[tuple[str, str]], current: str) -> Markup:
    """Return the links at the top of a page."""
    items = [
        tag("a", name, href=path, aria_current="page" if path == current else None)
        for name, path in links
    ]
    toggle = tag(
        "button", MOON, type="button", id="theme", aria_label="Light or dark", title="Light or dark"
    )
    brand = tag("a", "wug", href="index.html", class_="brand")
    return tag(
        "header",
        tag("a", "Skip to content", href="#main", class_="skip"),
        tag("nav", brand, items, toggle, aria_label="Pages"),
    )


def document(title: str, policy: str, head: Markup, body: Markup) -> str:
    """Return a whole HTML file.

    Args:
        title: Of the document.
        policy: What it may load and run.
        head: Styles and scripts.
        body: The rest.
    """
    parts = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        head,
    ]
    return f"<!doctype html>\n{tag('html', tag('head', parts), tag('body', body), lang='en')}\n"


def stand_alone(page: Page, links: Sequence[tuple[str, str]]) -> str:
    """Return a page that loads what it needs from the folder of assets."""
    parts = []
    for name in needed([page]):
        path = f"assets/{name}"
        parts.append(
            tag("script", src=path, defer=name != "site.js")
            if name.endswith(".js")
            else tag("link", rel="stylesheet", href=path)
        )
    # Scripts come from files alone: even markup that slipped through could not run any.
    policy = (
        "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; "
        "font-src 'self' file:; img-src 'self' file: data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
    main = tag("main", page.body, id="main", data_page=page.path)
    body = markup([navigation(links, page.path), main])
    return document(f"{page.title} · wug", policy, markup(parts), body)


def single_file(pages: Sequence[Page], links: Sequence[tuple[str, str]]) -> str:
    """Return all pages as one file that loads nothing."""
    styles, scripts = [], []
    for name in needed(pages):
        text = asset(name).decode()
        if name.endswith(".css"):
            styles.append(tag("style", Markup(FONT.sub(inlined, text))))
        else:
            scripts.append(Markup(text.replace("</script", r"<\/script")))
    scripts += [Markup(make()) for page in pages for make in page.scripts.values()]
    hashes = " ".join(
        f"'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; font-src data:; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    known = {page.path for page in pages}

    def local(match: re.Match[str]) -> str:
        return f'href="#{match[1]}"' if match[1] in known else match[0]

    def rewritten(html: Markup) -> Markup:
        return Markup(re.sub(r'href="([\w.~-]+\.html)"', local, html))

    mains = [
        tag("main", rewritten(page.body), data_page=page.path, data_title=page.title, hidden=i > 0)
        for i, page in enumerate(pages)
    ]
    top = rewritten(navigation(links, pages[0].path))
    code = [tag("script", script) for script in scripts]
    return document("wug", policy, markup(styles), markup([top, mains, code]))


def inlined(match: re.Match[str]) -> str:
    """Return a font as part of the style."""
    data = base64.b64encode(asset(f"vendor/{match[1]}")).decode()
    return f"url(data:font/woff2;base64,{data})"


def facts(pairs: Iterable[tuple[str, Any]]) -> Markup:
    """Return names and values as a list; those without a value are left out."""
    items = [
        tag("div", tag("dt", name), tag("dd", value))
        for name, value in pairs
        if value not in (None, "", [])
    ]
    return tag("dl", items, class_="facts")


def duration(seconds: float) -> str:
    """Spell a time.

    Example:
        >>> duration(48), duration(600), duration(7250)
        ('48 s', '10 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
