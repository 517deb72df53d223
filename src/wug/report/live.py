"""The site while records still come: pages made anew when they change, and two that only live.

The live page shows runs at work, the lab asks trained networks. Both are empty boxes that a script
of ours fills with what the server tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from wug.report.markup import markup, tag
from wug.report.page import COMMON, Page, document, navigation, stand_alone
from wug.report.site import make_pages
from wug.report.sources import Memory, find_sources, versions

LIVE, LAB = "live.html", "lab.html"
LOADED = {
    LIVE: ("live.css", "live.js"),
    LAB: (
        "player.css",
        "writing.css",
        "live.css",
        "player.js",
        "writing.js",
        "memory.js",
        "drawing.js",
        "lab.js",
    ),
}
# Scripts and answers come from this server alone.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
# A page that is out of date is shown if the new one takes longer.
PATIENCE_SECONDS = 2.0


def live_page() -> Page:
    """Return the page of the runs at work."""
    body = [
        tag("h1", "Live"),
        tag("p", "Runs at work, as they go. Lines are values on their way, not results.",
            class_="lead"),
        tag("p", "Connecting.", id="said", role="status"),
        tag("div", id="live"),
    ]  # fmt: skip
    return Page(path=LIVE, title="Live", body=markup(body))


def lab_page() -> Page:
    """Return the page on which a person asks a trained network."""
    choose = tag("label", "Network", tag("select", id="network"), class_="choice")
    text = tag(
        "input", id="input", type="text", maxlength=20_000, autocomplete="off", spellcheck="false",
        aria_label="Input", placeholder="Input",
    )  # fmt: skip
    ask = tag("button", "Run", type="submit")
    body = [
        tag("h1", "Lab"),
        tag("p", "Ask a trained network, and see how the data moved through it.", class_="lead"),
        tag(
            "form", choose, tag("div", id="drawing"), tag("div", text, ask, class_="ask"), id="lab"
        ),
        tag("p", "Looking for networks.", id="said", role="status"),
        tag("p", id="about", class_="soft"),
        tag("div", id="answer", aria_live="polite"),
    ]
    return Page(path=LAB, title="Lab", body=markup(body))


def alive(page: Page, links: Sequence[tuple[str, str]]) -> str:
    """Return a page that talks to the server."""
    head = [
        tag("script", src=f"assets/{name}", defer=name != "site.js")
        if name.endswith(".js")
        else tag("link", rel="stylesheet", href=f"assets/{name}")
        for name in (*COMMON, *LOADED[page.path])
    ]
    main = tag("main", page.body, id="main", data_page=page.path)
    body = markup([navigation(links, page.path), main])
    return document(f"{page.title} · wug", POLICY, markup(head), body)


@dataclass(frozen=True)
class Built:
    """The pages of one moment.

    Args:
        pages: By path.
        links: Of the navigation.
        names: The path of each run's page by the run's name.
    """

    pages: Mapping[str, Page]
    links: Sequence[tuple[str, str]]
    names: Mapping[str, str]


class LiveSite:
    """The pages of some folders, made in the background when their records have changed.

    Args:
        roots: The folders; those that are not there yet may come.
        entries: What the registers say of units.
        extra: Links of the navigation to further pages.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        entries: Sequence[Mapping[str, Any]] = (),
        extra: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.roots, self.entries, self.extra = tuple(roots), tuple(entries), tuple(extra)
        self._lock = Lock()
        self._mark: object = None
        self._memory = Memory()
        self._work: Thread | None = None
        self._built: Built | None = None

    def current(self, patience: float | None = PATIENCE_SECONDS) -> Built:
        """Return the pages; older ones if new ones take longer than that many seconds."""
        with self._lock:
            if self._work is None or not self._work.is_alive():
                mark = tuple(self._versions())
                if mark != self._mark:
                    self._work = Thread(target=self._make, args=(mark,), daemon=True)
                    self._work.start()
            work = self._work
        if work is not None:
            work.join(None if self._built is None else patience)
        if self._built is None:
            raise RuntimeError("the site could not be made; the reason is above.")
        return self._built

    def fresh(self) -> Built:
        """Return pages that know all that was written before this call, however long it takes."""
        self.current(patience=None)  # pages in the making may have begun before
        return self.current(patience=None)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The links of the navigation; they don't wait for pages that are being made."""
        known = [("Overview", "index.html")] if self._built is None else self._built.links
        return [*known, *self.extra]

    def html(self, path: str) -> str | None:
        """Return a page of what is on the disk now, or None if there is none of that path."""
        page = self.fresh().pages.get(path)
        return None if page is None else stand_alone(page, self.links)

    def scripts(self) -> dict[str, Callable[[], str]]:
        """Return the files of data that pages ask for, by name."""
        pages = self.current().pages.values()
        return {name: make for page in pages for name, make in page.scripts.items()}

    def _versions(self) -> Iterator[tuple[str, int, int]]:
        """Yield what changes when something is written that a page is made from."""
        for root in self.roots:
            yield from versions(root)

    def _make(self, mark: object) -> None:
        there = [root for root in self.roots if root.is_dir()]
        sources = find_sources(there, self.entries, self._memory)
        pages, links = make_pages(sources)
        names = {name: run.page for run in sources.runs for name in (run.name, *run.copies)}
        self._built, self._mark = Built({page.path: page for page in pages}, links, names), mark
