"""wug data: which data sets there are, whether they are whole, and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from wug.core.errors import UserError, require_at_least

if TYPE_CHECKING:
    from rich.console import Console

    from wug.sources.catalog import DataSet
    from wug.sources.gather import Progress

RESULTS = "results"
Names = Annotated[tuple[str, ...], tyro.conf.Positional]


def chosen(names: tuple[str, ...]) -> list[DataSet]:
    """Return the data sets of these names; all if there are none."""
    from wug.sources.catalog import catalog, data_set

    return [data_set(name) for name in names or catalog()]


def list_sets(*, folder: Path | None = None, json: bool = False) -> None:
    """List the data sets that wug knows, where they were found, and what is missing.

    Args:
        folder: Look here first.
        json: Print everything that is known, as JSON.
    """
    from dataclasses import asdict
    from json import dumps

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from wug.sources.files import find, search_folders
    from wug.sources.supplied import SUPPLIED

    if json:
        rows = [
            {**asdict(one), "found": {f.path: str(find(f, one, folder) or "") for f in one.files}}
            for one in chosen(())
        ]
        rows += [
            {**asdict(one), "supplied": True, "found": [str(path) for path in one.found(folder)]}
            for one in SUPPLIED.values()
        ]
        print(dumps(rows, indent=1, ensure_ascii=False))
        return
    sheet = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for column in range(4):
        sheet.add_column(style="bold" if column == 0 else "", no_wrap=column == 0)
    search = search_folders(folder)
    places: dict[str, None] = {}
    for one in chosen(()):
        found = [path for file in one.files if (path := find(file, one, folder)) is not None]
        for path in found:
            places.update(
                dict.fromkeys(str(p) for p in search_folders(folder) if p in path.parents)
            )
        about = Text(f"{one.title}: {one.about}. ")
        about.append(f"{one.licence}. ", style="dim")
        about.append(one.home, style="dim italic")
        state = "here" if len(found) == len(one.files) else "in part" if found else "missing"
        sheet.add_row(one.name, state, f"{len(found)} of {len(one.files)} files", about)
    for given in SUPPLIED.values():
        found = given.found(folder)
        about = Text(f"{given.title}: {given.about}. ")
        about.append(f"{given.licence}. ", style="dim")
        about.append(given.home, style="dim italic")
        about.append(f" Yours to supply: {given.place}.")
        whole = bool(given.files) and len(found) >= len(given.files)
        sheet.add_row(given.name, "here" if whole else "yours", "", about)
    console = Console()
    console.print(sheet)
    console.print(f"found in: {', '.join(places) or 'no folder'}", soft_wrap=True)
    console.print(f"looked in: {', '.join(map(str, search))}", soft_wrap=True)
    console.print(f"results: {state_of_results()}", soft_wrap=True)


def check_sets(names: Names = (), *, folder: Path | None = None) -> int:
    """Check the sizes and checksums of all files of data sets; exit code 1 if some are wrong.

    Args:
        names: Which data sets; all that are here, at least in part, if none is named.
        folder: Look here first.
    """
    from rich.console import Console

    from wug.sources.files import find, missing, read_checked

    console = Console(soft_wrap=True)
    bad = 0
    for one in chosen(names):
        absent, wrong = [], []
        for file in one.files:
            path = find(file, one, folder)
            if path is None:
                absent.append(file)
                continue
            try:
                read_checked(file, path)
            except UserError as error:
                wrong.append(str(error))
        right = len(one.files) - len(absent) - len(wrong)
        if not names and len(absent) == len(one.files):
            continue
        console.print(f"[bold]{one.name}[/] {right} of {len(one.files)} files are right")
        for line in wrong:
            console.print(f"  wrong: {line}", style="red", markup=False)
        if absent:
            more = f" ({len(absent) - 1} more are missing)" if len(absent) > 1 else ""
            console.print(f"  {missing(absent[0], one, folder)}{more}", markup=False)
        bad += len(wrong) + (len(absent) if names else 0)
    return int(bad > 0)


def get_sets(
    names: Names,
    *,
    source: Annotated[str | None, tyro.conf.arg(name="from")] = None,
    to: Path | None = None,
    limit: float = 1.0,
) -> int:
    """Copy or download data sets; checksums are compared, and an interrupted download goes on.

    Args:
        names: Which data sets; results stands for our own results with learning curves, traces and
            all networks, which a wheel has no room for.
        source: What holds the files: a folder, an archive, or the http address of one; if not
            given, where they are known to be.
        to: The folder of data sets to write to; the cache folder if not given.
        limit: The most that a download or an archive may have, in GB.
    """
    from rich.console import Console

    from wug.sources.files import own_folder
    from wug.sources.gather import gather, is_right

    if not names:
        raise UserError("data get: name a data set; wug data list shows them.")
    require_at_least("data get", "--limit", limit, 0)
    console = Console(soft_wrap=True)
    incomplete = False
    if RESULTS in names:
        incomplete = not get_all_results(console, source, int(limit * 1e9))
        names = tuple(name for name in names if name != RESULTS)
    for one in chosen(names) if names else ():
        if source is None and to is None and all(is_right(file, one) for file in one.files):
            console.print(f"[bold]{one.name}[/] is here already")
            continue
        folder = to or own_folder()
        with bars(console) as progress:
            new, absent = gather(one, folder, source, limit=int(limit * 1e9), progress=progress)
        total = len(one.files)
        console.print(
            f"[bold]{one.name}[/] {len(new)} new, {total - len(absent)} of {total} files are in "
            f"{folder / one.name}"
        )
        for file in absent:
            console.print(f"  not found: {file.path}", markup=False)
        incomplete = incomplete or bool(absent)
    return int(incomplete)


def state_of_results() -> str:
    """Say which of our own results are here."""
    from wug.core.folders import results_folder, shipped_folder

    if results_folder() != shipped_folder():
        return f"in full, in {results_folder()}"
    return "as they ship, without curves and traces; wug data get results gets the rest"


def get_all_results(console: Console, source: str | None, limit: int) -> bool:
    """Get our results in full; return whether they are whole then."""
    from wug.core.folders import results_folder, shipped_folder
    from wug.sources.shipped_results import get_results

    if source is None and results_folder() != shipped_folder():
        console.print(f"[bold]results[/] are here already, in {results_folder()}")
        return True
    with bars(console) as progress:
        folder, num_new, absent = get_results(source, limit=limit, progress=progress)
    console.print(f"[bold]results[/] {num_new} new files, in {folder}")
    for file in absent:
        console.print(f"  not found: {file.path}", markup=False)
    return not absent


@contextmanager
def bars(console: Any) -> Iterator[Progress]:
    """Show a bar for each download that has begun."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    tasks: dict[str, TaskID] = {}
    silent = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=silent) as shown:

        def progress(path: str, done: int, total: int | None) -> None:
            if path not in tasks:
                tasks[path] = shown.add_task(path, total=None)
            shown.update(tasks[path], completed=done, total=total)

        yield progress


Action = (
    Annotated[Any, tyro.conf.subcommand("list", constructor=list_sets)]
    | Annotated[Any, tyro.conf.subcommand("check", constructor=check_sets)]
    | Annotated[Any, tyro.conf.subcommand("get", constructor=get_sets)]
)


def data(action: Annotated[Action, tyro.conf.arg(name="")]) -> int:
    """List, check and get the data sets that tasks need."""
    return int(action or 0)
