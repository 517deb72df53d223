"""Damaged or hostile files: each is named, does no harm, and takes nothing else with it."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.records import Record, RunStore, pack_run, read_run, write_trace
from wug.records.hashing import digest, seal
from wug.report import site
from wug.report.page import Page, PageKind
from wug.report.site import make_pages, page_kinds
from wug.report.sources import Sources, find_sources
from wug.stats.comparison_table import table_of

DEEP = "[" * 100_000
SEGMENT = f"000009-x-{'0' * 16}.jsonl"


def bodies(sources: Sources) -> dict[str, str]:
    """Make the site; every run of the overview must have a page that could be made."""
    pages: dict[str, str] = {page.path: page.body for page in make_pages(sources)[0]}
    assert not any("could not be made:</p>" in body for body in pages.values())
    for run in sources.runs:
        assert run.page in pages and f'href="{run.page}"' in pages["index.html"]
    return pages


def only_run(folder: Path) -> tuple[Any, dict[str, str]]:
    sources = find_sources([folder])
    (run,) = sources.runs
    return run, bodies(sources)


@pytest.fixture
def bare(tmp_path: Path) -> RunStore:
    """A run without records."""
    return RunStore.open(tmp_path / "runs" / "bare" / "paper", "bare", {})


def record(seed: int, **changes: Any) -> Record:
    fields = {
        "experiment": "bare", "key": {"unit": "a", "seed": seed}, "config": {}, "seed": seed,
        "outcome": {"solved": False}, **changes,
    }  # fmt: skip
    return Record(**fields)


def test_times_that_can_not_be_are_named_and_not_added(bare: RunStore) -> None:
    bare.append("x", [
        record(0, seconds=1e308), record(1, seconds=1e308, outcome={"solved": "?"}),
        record(2, seconds=5.0, outcome={"solved": False, "training_seconds": 1e308}),
        record(3, seconds=7.0), record(4, seconds=-1.0),
    ])  # fmt: skip
    run, pages = only_run(bare.folder)
    assert run.seconds == 12.0 and len(run.records) == 4
    assert "a time that no training takes, which is not added: 4" in pages["index.html"]
    assert "12 s" in pages["index.html"]


@pytest.mark.parametrize("name", ["formula.json", "catalog.json", "run.json"])
def test_json_that_is_nested_too_deeply_is_named(
    name: str, run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    bad = by_hand.fill(tmp_path / "bad", "bad", 3, by_hand.catalog())
    mark = '{"wug_run": ' if name == "run.json" else ""
    (bad / name).write_text(mark + DEEP)
    sources = find_sources([run_folder, bad])
    named = bodies(sources)["index.html"]
    assert f"{name} is damaged" in named if mark else "nested too deeply" in named
    assert len(sources.runs) == (1 if mark else 2)


def test_a_record_that_is_nested_deeply_is_one_problem(run_folder: Path, tmp_path: Path) -> None:
    body = f'{{"outcome":{DEEP}}}'.encode()
    line = f'{{"check":"{digest(body)}",'.encode() + body[1:]
    header = seal({"wug_records": 1, "count": 1, "shared": {}})
    (run_folder / "records" / SEGMENT).write_bytes(header + line)
    run, pages = only_run(run_folder)
    assert len(run.records) == 32 and len(run.problems) == 1 and SEGMENT in pages[run.page]


@pytest.mark.parametrize("depth", [150, 300, 450, 600, 900])
def test_no_depth_ends_the_report(depth: int, bare: RunStore, run_folder: Path) -> None:
    nested: Any = "x"
    for _ in range(depth):
        nested = [nested]
    shared: dict[str, Any] = {"c": {}, "v": {}}
    line = {"experiment": "bare", "key": {"unit": "a"}, "kind": "table", "config": "c", "seed": 0,
            "outcome": nested, "curves": {}, "seconds": 0, "versions": "v"}  # fmt: skip
    segment = seal({"wug_records": 1, "count": 1, "shared": shared}) + seal(line)
    (bare.folder / "records").mkdir()
    (bare.folder / "records" / SEGMENT).write_bytes(segment)
    (bare.folder / "catalog.json").write_text(json.dumps({"title": nested, "claims": [nested]}))
    sources = find_sources([bare.folder, run_folder])
    named = bodies(sources)["index.html"]
    assert "catalog.json" in named and "demo" in named


def spoil(path: Path, how: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"loop": path.name, "dangling": "nowhere"}[how])


@pytest.mark.parametrize("how", ["folder", "loop", "dangling", "pipe"])
@pytest.mark.parametrize("name", [f"records/{SEGMENT}", "catalog.json", "records.jsonl.xz"])
def test_what_is_no_file_is_named(name: str, how: str, run_folder: Path) -> None:
    spoil(run_folder / name, how)
    run, pages = only_run(run_folder)
    assert len(run.records) == 32 and len(run.finished) == len("2026-01-31")
    (problem,) = run.problems
    assert Path(name).name in problem and escape(problem) in pages["index.html"]


@pytest.mark.parametrize("how", ["loop", "dangling"])
@pytest.mark.parametrize("name", ["run.json", "formula.json", "records"])
def test_bad_links_are_named(name: str, how: str, bare: RunStore, run_folder: Path) -> None:
    spoil(bare.folder / name, how)
    sources = find_sources([bare.folder, run_folder])
    problems = [*sources.problems, *(p for run in sources.runs for p in run.problems)]
    assert len(problems) == 1 and name in problems[0]
    assert len(bodies(sources)) > 1


@pytest.mark.parametrize("name", ["records", "records/*nau*", "catalog.json", "run.json"])
def test_what_may_not_be_read_is_named(
    name: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (refused,) = run_folder.glob(name)

    def reading(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
        def wrapped(path: Path) -> Any:
            if path == refused:
                raise PermissionError(13, "Permission denied", str(path))
            return read(path)

        return wrapped

    # Not by mode: root may read everything.
    monkeypatch.setattr(Path, "read_bytes", reading(Path.read_bytes))
    monkeypatch.setattr(os, "listdir", reading(os.listdir))
    sources = find_sources([run_folder])
    problems = [*sources.problems, *(p for run in sources.runs for p in run.problems)]
    assert len(problems) == 1 and refused.name in problems[0] and "denied" in problems[0]


def test_a_run_without_results_has_a_page(bare: RunStore) -> None:
    _, pages = only_run(bare.folder)
    assert set(pages) == {"index.html", "papers.html", "paper-wug.html", "run-bare~paper.html"}
    assert "nothing yet · paper" in pages["index.html"]


def test_odd_records_alone_have_a_page(bare: RunStore) -> None:
    bare.append("x", [record(3, outcome={"solved": "perhaps"})])
    run, pages = only_run(bare.folder)
    assert "perhaps" in pages[run.page] and "whether it was solved" in pages[run.page]


def test_records_of_other_kinds_are_listed(bare: RunStore, by_hand: SimpleNamespace) -> None:
    odd_kinds = [record(0, kind="table", outcome={"rows": [[by_hand.harm]]}),
                 record(1, kind="formula", outcome={"text": "a + b"})]  # fmt: skip
    bare.append("x", odd_kinds)
    run, pages = only_run(bare.folder)
    page = pages[run.page]
    assert "Other records" in page and ": table</summary>" in page and "a + b" in page
    assert by_hand.harm not in page and "&lt;img src=x" in page


def test_keys_that_are_no_names_are_odd(bare: RunStore) -> None:
    record_of = record(0)
    for place, key in enumerate([{"unit": [1], "seed": 0}, "x", {"unit": None}]):
        line = {**json.loads(record_of.to_line()), "key": key}
        del line["check"]
        shared = record_of.shared()
        data = seal({"wug_records": 1, "count": 1, "shared": shared}) + seal(line)
        path = bare.folder / "records" / f"00000{place}-x-{'0' * 16}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    run, pages = only_run(bare.folder)
    assert len(run.odd) == 3 and "neither text nor a number" in pages[run.page]


def test_records_that_make_no_table_are_odd(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> Any:
        if args[2]:
            raise ZeroDivisionError("no table")
        return table_of(*args)

    monkeypatch.setattr("wug.report.run_source.table_of", broken)
    run, pages = only_run(run_folder)
    assert len(run.odd) == 32 and not run.records
    assert "ZeroDivisionError" in pages["index.html"]


@pytest.mark.parametrize("name", ["Overview", "Leaderboard", "Units and models", ""])
def test_one_kind_of_page_does_not_end_the_site(
    name: str, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(sources: Sources) -> Iterator[Page]:
        raise LookupError("<b>broken</b>")

    def kinds() -> list[PageKind]:
        return [replace(k, make=broken) if k.name == name else k for k in page_kinds()]

    whole = {page.path for page in make_pages(find_sources([run_folder]))[0]}
    monkeypatch.setattr(site, "page_kinds", kinds)
    pages, links = make_pages(find_sources([run_folder]))
    made = {page.path: page.body for page in pages}
    assert whole - set(made) == {
        "Overview": {"index.html"}, "Leaderboard": {"leaderboard.html"},
        "Units and models": {"units.html", "unit-nau.html", "unit-nmu.html"},
        "": {"run-demo~paper.html"},
    }[name]  # fmt: skip
    assert {path for _, path in links} <= set(made)
    if name != "Overview":
        assert pages[0].path == "index.html"
        assert "LookupError(&#x27;&lt;b&gt;broken" in made["index.html"]


def test_an_overview_that_can_not_be_made_still_names_problems(
    make_harm: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wug.report.pages.overview.figures", None)
    pages, _ = make_pages(find_sources([make_harm()]))
    assert pages[0].path == "index.html"
    assert "could not be made" in pages[0].body and "harm/no-run" in pages[0].body


def test_one_folder_does_not_end_the_report(
    run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand.fill(tmp_path / "runs" / "bad", "bad", 3, None)

    def broken(self: Any) -> Any:
        if self.folder.name == "bad":
            raise MemoryError("too much")
        return iter(())

    monkeypatch.setattr("wug.records.Run.records", broken)
    sources = find_sources([tmp_path / "runs"])
    assert len(sources.runs) == 1
    assert "runs/bad: it can&#x27;t be read: MemoryError" in bodies(sources)["index.html"]


@pytest.mark.parametrize(
    "name", ["catalog.json", "run.json", f"records/{SEGMENT}", "records.jsonl.xz", "formula.json"]
)
def test_links_do_not_lead_out(
    name: str, run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    outside = by_hand.fill(tmp_path / "secret", "secret", 8, {"title": "secret title"})
    (outside / "formula.json").write_text(json.dumps(by_hand.formula("secret")))
    pack_run(read_run(outside), tmp_path / "packed")
    targets = {
        "records.jsonl.xz": tmp_path / "packed" / "records.jsonl.xz",
        f"records/{SEGMENT}": sorted((outside / "records").iterdir())[0],
    }
    spoiled = run_folder / name
    spoiled.unlink(missing_ok=True)
    spoiled.symlink_to(targets.get(name, outside / name))
    sources = find_sources([tmp_path / "runs"])
    pages = bodies(sources)
    assert "a link that leads out" in pages["index.html"]
    assert Path(name).name in pages["index.html"]
    assert not sources.fits and not any("secret" in body for body in pages.values())
    above = find_sources([tmp_path])  # who asks for both folders may have both
    assert not any("leads out" in p for run in above.runs for p in run.problems)


def test_folders_that_lead_out_are_not_entered(
    run_folder: Path, tmp_path: Path, traces_by_hand: SimpleNamespace
) -> None:
    secret = tmp_path / "secret"
    write_trace(secret, "secret", *traces_by_hand.routing(traces_by_hand.chain, "110"))
    (run_folder / "traces").symlink_to(secret / "traces")
    run, pages = only_run(run_folder)
    assert not run.traces and "leads out" in pages["index.html"]


def test_a_packed_run_says_when_it_was_finished(
    run_folder: Path, tmp_path: Path, by_hand: SimpleNamespace
) -> None:
    store = RunStore.open(run_folder, "demo", {"steps": 300})
    pack_run(read_run(run_folder), tmp_path / "old")
    day = re.compile(r"(\w+) · \d{4}-\d\d-\d\d")
    assert day.findall(only_run(run_folder)[1]["index.html"]) == ["paper"]
    assert not day.findall(only_run(tmp_path / "old")[1]["index.html"])  # nobody knows
    store.write_catalog({**by_hand.catalog(), "finished": "2026-01-31"})
    pack_run(read_run(run_folder), tmp_path / "new")
    for folder in (run_folder, tmp_path / "new"):
        assert f"{folder.name} · 2026-01-31" in only_run(folder)[1]["index.html"]
    store.write_catalog({**by_hand.catalog(), "finished": by_hand.harm})
    run, pages = only_run(run_folder)
    assert run.finished == read_run(run_folder).last_day()
    assert "finished must be a day" in pages[run.page]


def test_a_run_and_a_fit_may_share_a_folder(run_folder: Path, by_hand: SimpleNamespace) -> None:
    (run_folder / "formula.json").write_text(json.dumps(by_hand.formula()))
    sources = find_sources([run_folder])
    assert len(sources.runs) == len(sources.fits) == 1


def test_deep_folders_have_pages_of_short_names(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    folder = tmp_path.joinpath("fits", *["x" * 70] * 6)
    folder.mkdir(parents=True)
    (folder / "formula.json").write_text(json.dumps(by_hand.formula()))
    assert site.write_site(find_sources([tmp_path / "fits"]), tmp_path / "site") == 3
