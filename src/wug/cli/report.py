"""wug report: a site made from runs and fits, to look at instead of to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from wug.core.errors import UserError
from wug.core.folders import RUNS, results_folder
from wug.core.papers import report_entries

FITS = Path("fits")


def report(
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional] = (),
    *,
    out: Path = Path("report"),
    single_file: bool = False,
) -> None:
    """Make a site from records: open its index.html, host it anywhere, or send it.

    Args:
        folders: Of runs and fits, or folders above such; runs, fits and our shipped results if
            none is named.
        out: The folder to write; with --single-file a file such as results.html, too.
        single_file: Put all pages into one file.
    """
    from wug.report.site import write_site
    from wug.report.sources import find_sources

    places = folders or [place for place in (RUNS, FITS, results_folder()) if place.is_dir()]
    sources = find_sources(places, report_entries())
    if folders and not (sources.runs or sources.fits or sources.problems):
        named = ", ".join(map(str, folders))
        raise UserError(f"report: there is neither a run nor a fit in {named}.")
    count = write_site(sources, out, one_file=single_file)
    first = out if out.suffix == ".html" and single_file else out / "index.html"
    print(f"wrote {first} ({count} page{'s' if count != 1 else ''})")
    for problem in sources.problems:
        print(f"left out: {problem}")
