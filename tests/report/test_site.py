"""The site as files: which pages there are, and that records can do no harm to them."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from wug.records import RunFolderError
from wug.report.page import PageKind
from wug.report.site import make_pages, page_kinds, write_site
from wug.report.sources import find_sources


class Inventory(HTMLParser):
    """The tags, attributes and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(v) for k, v in attrs if k in ("href", "src", "action")]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]
        if tag == "script":
            self.scripts.append(dict(attrs))


def test_every_kind_of_page_says_what_it_is_made_from() -> None:
    kinds = page_kinds()
    assert len(kinds) >= 6
    for kind in kinds:
        assert isinstance(kind, PageKind)
        assert kind.made_from <= {"run", "scalar", "curve", "table", "formula", "trace"}


def test_pages_exist_when_their_records_do(
    run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    def paths(*roots: Path) -> set[str]:
        return {page.path for page in make_pages(find_sources(roots))[0]}

    one = paths(run_folder)
    assert one == {"index.html", "run-demo~paper.html", "leaderboard.html", "claims.html",
                   "papers.html", "paper-wug.html", "units.html", "unit-nau.html",
                   "unit-nmu.html"}  # fmt: skip
    other = by_hand.fill(tmp_path / "runs" / "demo" / "smoke", "demo", 2, None)
    assert paths(run_folder, other) - one == {"compare.html", "run-demo~smoke.html"}
    (tmp_path / "fits" / "a").mkdir(parents=True)
    (tmp_path / "fits" / "a" / "formula.json").write_text(json.dumps(by_hand.formula()))
    assert paths(tmp_path / "fits") == {"index.html", "formulas.html", "formula-fits~a.html"}


def test_links_lead_to_pages_and_nothing_leads_away(run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    count = write_site(find_sources([run_folder]), out)
    pages = sorted(out.glob("*.html"))
    assert len(pages) == count
    for page in pages:
        found = Inventory(page.read_text(encoding="utf-8"))
        for address in found.addresses:
            assert address.startswith(("#", "data:,")) or (out / address).is_file(), address
    assert not re.search(
        r"url\((?!data:|fonts/)", (out / "assets/vendor/katex.min.css").read_text()
    )


def test_a_page_shows_its_run(run_folder: Path, tmp_path: Path) -> None:
    write_site(find_sources([run_folder]), tmp_path / "site")
    page = (tmp_path / "site" / "run-demo~paper.html").read_text(encoding="utf-8")
    for text in ("Demo (A paper, table 1)", "wug run demo --scale paper", "Fewer seeds.",
                 "NAU multiplies.", "nau [1,2): 0/8", "32 on 8 seeds"):  # fmt: skip
        assert text in page
    unit = (tmp_path / "site" / "unit-nmu.html").read_text(encoding="utf-8")
    assert r"y = \prod_i x_i" in unit and "It can&#x27;t divide." in unit and "88 %" in unit


def test_copies_of_a_run_are_shown_once(
    run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    copy = by_hand.fill(tmp_path / "again" / "demo" / "paper", "demo", 7, by_hand.catalog())
    sources = find_sources([run_folder, copy])
    assert [run.copies for run in sources.runs] == [("paper",)]
    other = by_hand.fill(tmp_path / "other" / "demo" / "paper", "demo", 6, by_hand.catalog())
    labels = [run.label for run in find_sources([tmp_path / "runs", tmp_path / "other"]).runs]
    assert labels == ["other/demo/paper", "runs/demo/paper"]
    assert other != copy


def test_harm_is_shown_and_does_nothing(make_harm: Callable[[], Path], tmp_path: Path) -> None:
    sources = find_sources([make_harm()])
    out = tmp_path / "deep" / "site"
    write_site(sources, out)
    inside = {path.resolve() for path in out.rglob("*")}
    assert all(path in inside or path == out for path in out.parent.rglob("*"))
    for page in out.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        found = Inventory(text)
        assert not found.handlers and "img" not in found.tags
        assert all(s.get("src") or s.get("type") == "application/json" for s in found.scripts)
        assert "could not be made" not in text, page
        assert len(page.name) < 200


def test_harm_is_named_and_nothing_is_lost(make_harm: Callable[[], Path]) -> None:
    sources = find_sources([make_harm()])
    pages = {page.path: page.body for page in make_pages(sources)[0]}
    evil, torn = sources.runs
    assert len(evil.records) == 5
    assert [odd.record.seed for odd in evil.odd] == [5, 6, 7, 8]
    page = pages[evil.page]
    for reason in ("whether it was solved", "its solved_at is no number", "larger than a float",
                   "validation.error is not a number"):  # fmt: skip
        assert reason in page
    complaints = " ".join(evil.problems)
    for part in ("claims[1]", "published[2]", "published[3]", "published[4]", "departures[1]",
                 "units[2]"):  # fmt: skip
        assert part in complaints
    assert len(torn.records) == 31
    assert any("torn" in problem for problem in torn.problems)
    assert any("catalog.json" in problem for problem in torn.problems)
    named = " ".join(sources.problems)
    for folder in ("no-run", "other", "fits/bad", "fits/worse"):
        assert folder in named
    for problem in sources.problems:
        assert problem.split(":")[0] in pages["index.html"]
    assert {fit.name for fit in sources.fits} == {"harm/fits/good", "harm/fits/odd"}


def test_one_file_holds_all(
    make_harm: Callable[[], Path], run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    sources = find_sources([run_folder, make_harm()])
    count = write_site(sources, tmp_path / "all.html", one_file=True)
    text = (tmp_path / "all.html").read_text(encoding="utf-8")
    found = Inventory(text)
    assert found.tags.count("main") == count
    known = set(re.findall(r'data-page="([^"]+)"', text))
    for address in found.addresses:
        assert address == "data:," or address == "#main" or address[1:] in known, address
    assert by_hand.harm not in text


def test_a_missing_folder_is_an_error_for_a_person(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is not a folder"):
        find_sources([tmp_path / "nowhere"])
