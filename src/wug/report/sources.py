"""What a site is made from: all runs and fits in and below some folders, each once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from wug.records import RunFolderError
from wug.report.markup import slug
from wug.report.oddities import Odd
from wug.report.run_source import FORMULA, FitSource, RunSource, read_formula, read_source
from wug.stats.comparison_table import TableCell, plain_layout, rows_of_data

MANIFEST = "run.json"
# What a page is made from: these files, and all in these folders.
RECORDS = (MANIFEST, "catalog.json", FORMULA, "records.jsonl.xz")
FOLDERS = ("records", "traces", "models")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """All that a site is made from.

    Args:
        runs: By experiment and name.
        fits: By name.
        entries: What catalogs and registers say of units and models, by key.
        registered: What registers say of experiments, by key; those without runs, too.
        papers: Titles of papers and what they say, by key.
        problems: Folders that can't be used at all, and why.
    """

    runs: tuple[RunSource, ...]
    fits: tuple[FitSource, ...] = ()
    entries: Mapping[str, Mapping[str, Any]]
    registered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    papers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of record that there are, and ``run``, which may be one without records."""
        found = {str(r.kind) for run in self.runs for r in (*run.records, *run.others)}
        if self.runs:
            found.add("run")
        if self.fits:
            found.add("formula")
        if any(run.traces for run in self.runs):
            found.add("trace")
        return frozenset(found)

    @cached_property
    def experiments(self) -> dict[str, list[RunSource]]:
        """The runs of each experiment; the one that decides most claims comes first."""
        groups: dict[str, list[RunSource]] = {}
        for run in self.runs:
            groups.setdefault(run.experiment, []).append(run)

        def weight(run: RunSource) -> tuple[bool, int, bool, int]:
            decided = run.verdicts["held"] + run.verdicts["broken"]
            # One with a name of its own, such as laptop-no-dropout, is a trial.
            return not run.is_smoke, decided, run.label == run.run.scale, len(run.records)

        return {key: sorted(runs, key=weight, reverse=True) for key, runs in groups.items()}

    @cached_property
    def mains(self) -> list[RunSource]:
        """The run that stands for each experiment; smoke runs stand for none."""
        return [runs[0] for runs in self.experiments.values() if not runs[0].is_smoke]

    @cached_property
    def counted(self) -> list[tuple[RunSource, TableCell]]:
        """The cells of ours that numbers over several runs are made of.

        There are none of smoke runs. Of runs that differ in their streams alone, each cell counts
        once: that of the run with more trainings in it.
        """
        found: dict[tuple[object, ...], tuple[RunSource, TableCell]] = {}
        for run in self.runs:
            settings = {k: v for k, v in run.run.settings.items() if k != "streams"}
            for cell in () if run.is_smoke else run.table.shown():
                key = (run.experiment, str(settings), cell.row, cell.column)
                before = found.get(key, (run, None))[1]
                if cell.ours is not None and (before is None or more_trials(cell, before)):
                    found[key] = run, cell
        return list(found.values())


def more_trials(cell: TableCell, other: TableCell) -> bool:
    """Say whether a cell has more trainings of ours than another."""
    return (cell.ours.trials if cell.ours else 0) > (other.ours.trials if other.ours else 0)


def unit_page(key: str) -> str:
    """Return the file of the page of a unit or model."""
    return f"unit-{slug(key)}.html"


def folders_below(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders of runs and fits, with the file that tells."""
    for place, subfolders, names in os.walk(root):
        subfolders.sort()
        for name in (MANIFEST, FORMULA):
            if name in names:
                yield Path(place), name


class Memory:
    """What was read of folders before: those that have not changed since are not read again."""

    def __init__(self) -> None:
        self.read: dict[Path, tuple[object, RunSource]] = {}
        self.made: dict[tuple[RunSource, str, str], RunSource] = {}

    def source(self, place: Place) -> RunSource:
        """Return a run, read anew if one of its files has changed."""
        version = tuple(sorted(versions(place.folder)))
        known = self.read.get(place.folder)
        if known is None or known[0] != version:
            known = version, read_source(place.folder, place.name, place.root)
            self.read[place.folder] = known
        return known[1]

    def finished(self, raw: RunSource, run: RunSource) -> RunSource:
        """Return a run with its table, made once for as long as nothing about it has changed."""
        layout = str(run.catalog.get("layout"))
        key = raw, f"{run.label} {run.copies}", layout
        if key not in self.made:
            self.made = {old: one for old, one in self.made.items() if old[0] is not raw}
            self.made[key] = with_table(run)
        return self.made[key]


def versions(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield what changes when a record, trace, network or catalog is written."""
    for place, _, names in os.walk(folder):
        whole = os.path.basename(place) in FOLDERS
        for name in names:
            if whole or name in RECORDS:
                path = os.path.join(place, name)
                try:
                    stat = os.stat(path)
                except OSError:  # replaced meanwhile
                    continue
                yield path, stat.st_mtime_ns, stat.st_size


def find_sources(
    roots: Iterable[Path],
    entries: Sequence[Mapping[str, Any]] = (),
    memory: Memory | None = None,
) -> Sources:
    """Read all runs and fits in and below some folders.

    Args:
        roots: The folders; what is found first comes before copies of it.
        entries: What the registers say of units, models, experiments and papers; of units and
            models catalogs know better.
        memory: Of what was read before; nothing if not given.

    Raises:
        RunFolderError: A folder is not there.
    """
    memory = Memory() if memory is None else memory
    runs: dict[int, RunSource] = {}
    read: dict[str, RunSource] = {}
    fits, problems = [], []
    for place in named_folders(roots):
        name = place.name
        try:
            if place.what == FORMULA:
                fits.append(read_formula(place.folder, name, place.root))
                continue
            source = read[name] = memory.source(place)
            mark = fingerprint(source)
        except RunFolderError as error:
            problems.append(f"{name}: {error}")
            continue
        except Exception as error:  # one folder never ends the whole report
            problems.append(f"{name}: it can't be read: {error!r}")
            continue
        first = runs.setdefault(mark, source)
        if first is not source:
            runs[mark] = replace(first, copies=(*first.copies, name))
    known: dict[str, dict[str, Mapping[str, Any]]] = {"experiment": {}, "paper": {}, "": {}}
    for entry in entries:
        kind = str(entry.get("kind", ""))
        known[kind if kind in known else ""][str(entry.get("key"))] = entry
    return Sources(
        runs=tuple(
            memory.finished(read[run.name], run)
            for run in distinct_labels(with_layouts(runs.values()))
        ),
        fits=tuple(sorted(fits, key=lambda fit: fit.name)),
        entries={
            key: {**known[""].get(key, {}), **described(runs.values()).get(key, {})}
            for key in (*known[""], *described(runs.values()))
        },
        registered=known["experiment"],
        papers=known["paper"],
        problems=tuple(problems),
    )


class Place(NamedTuple):
    """A folder of a run or fit.

    Args:
        folder: Resolved.
        name: For people.
        what: The file that tells which of the two it is.
        root: The resolved folder that was asked for; nothing outside of it is read.
    """

    folder: Path
    name: str
    what: str
    root: Path


def named_folders(roots: Iterable[Path]) -> Iterator[Place]:
    """Yield each folder once; twice if it holds both a run and a fit."""
    seen: set[tuple[Path, str]] = set()
    for root in roots:
        if not root.is_dir():
            raise RunFolderError(f"report: {root} is not a folder.")
        top = root.resolve()
        for folder, what in folders_below(top):
            if (folder, what) not in seen:
                seen.add((folder, what))
                yield Place(folder, folder.relative_to(top.parent).as_posix(), what, top)


def with_layouts(runs: Iterable[RunSource]) -> Iterator[RunSource]:
    """Yield the runs; one without a layout, such as one under way, has that of another run."""
    runs = list(runs)
    known = {run.experiment: run.catalog["layout"] for run in runs if run.catalog.get("layout")}
    for run in runs:
        layout = run.catalog.get("layout") or known.get(run.experiment) or plain_layout(run.records)
        yield replace(run, catalog={**run.catalog, "layout": layout})


def with_table(run: RunSource) -> RunSource:
    """Return the run; if its records make no table of all its measures, they are odd."""
    try:
        list(rows_of_data(run.table))
    except Exception as error:
        problem = f"its records make no table: {error!r}"
        odd = tuple(Odd(record, "the run's records make no table") for record in run.records)
        catalog = {**run.catalog, "layout": plain_layout(()), "published": []}
        return replace(run, records=(), odd=(*run.odd, *odd), catalog=catalog,
                       problems=(*run.problems, problem))  # fmt: skip
    return run


def distinct_labels(runs: Iterable[RunSource]) -> Iterator[RunSource]:
    """Yield the runs in order, with the whole name where a label is taken by another one."""
    runs = sorted(runs, key=lambda run: (run.experiment, run.name))
    taken = Counter((run.experiment, run.label) for run in runs)
    for run in runs:
        twice = taken[run.experiment, run.label] > 1
        yield replace(run, label=run.name) if twice else run


def fingerprint(source: RunSource) -> int:
    """Return a number that two runs with the same results share."""
    every = source.every_record
    results = frozenset(f"{record.key}{record.outcome}" for record in every)
    return hash(
        (source.run.manifest.hash, results, source.problems, source.name if not every else "")
    )


def described(runs: Iterable[RunSource]) -> dict[str, Mapping[str, Any]]:
    """Return what the catalogs say of units, by key."""
    return {unit["key"]: unit for run in runs for unit in run.catalog["units"]}
