"""Our own results in full: curves, traces and all networks, which a wheel has no room for.

A wheel knows their names and checksums (``_shipped/files.json``); a source checkout has the files
themselves, in ``results/``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from wug.core.errors import UserError, WorkError
from wug.core.folders import Listed, full_results_folder, listed_results
from wug.records import write_atomic
from wug.sources.download import NotThereError, download, is_address
from wug.sources.unpack import LIMIT, is_archive, unpack

Progress = Callable[[str, int, int | None], None]


def is_right(file: Listed, path: Path) -> bool:
    """Say whether a file is there and is the one that it should be."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    return sha256(path.read_bytes()).hexdigest() == file.sha256


def get_results(
    source: str | None = None,
    *,
    limit: int = LIMIT,
    progress: Progress = lambda path, done, total: None,
) -> tuple[Path, int, list[Listed]]:
    """Bring all results into the folder of data sets, where they are used instead of what ships.

    Args:
        source: A folder with the results, such as a source checkout, an archive of one, or an
            address that the files are below; None takes the address of the release, if it has one.
        limit: The most bytes that a file or an archive may have.
        progress: Told the file, its bytes so far, and all of them where this is known.

    Returns:
        The folder, how many files are new, and those that the source doesn't have.

    Raises:
        UserError: The source is not what it should be.
        WorkError: A download failed.
    """
    home, files = listed_results()
    folder = full_results_folder()
    wanted = [file for file in files if not is_right(file, folder / file.path)]
    if source is None and not home and wanted:
        raise UserError(
            "data get: this release of wug does not say where its results are; name a source "
            "checkout or an archive of one: wug data get results --from FOLDER."
        )
    base = source or f"{home}/raw/main/results"
    if is_address(base) and not is_archive(base):
        absent = fetch(wanted, folder, base.rstrip("/"), limit, progress)
    elif is_address(base):
        with tempfile.TemporaryDirectory() as temporary:
            archive = Path(temporary) / Path(base).name
            download(base, archive, limit=limit, progress=lambda *at: progress(archive.name, *at))
            absent = copy(wanted, folder, archive, limit)
    else:
        absent = copy(wanted, folder, Path(base).expanduser(), limit)
    return folder, len(wanted) - len(absent), absent


def copy(wanted: list[Listed], folder: Path, source: Path, limit: int) -> list[Listed]:
    """Copy files out of a folder or an archive; return those that it doesn't have."""
    if source.is_file() and is_archive(source.name):
        with tempfile.TemporaryDirectory() as temporary:
            inside = Path(temporary) / "archive"
            unpack(source, inside, limit=limit)
            return copy(wanted, folder, inside, limit)
    if not source.is_dir():
        raise UserError(
            f"data get: {source} is no folder and no archive; name a source checkout of wug, or an "
            "archive of one."
        )
    # An archive of a checkout has a folder of its own around it.
    places = [source, source / "results", *source.glob("*/results")]
    absent = []
    for file in wanted:
        found = next((p for place in places if is_right(file, p := place / file.path)), None)
        if found is None:
            absent.append(file)
        else:
            write_atomic(folder / file.path, found.read_bytes())
    return absent


def fetch(
    wanted: list[Listed], folder: Path, base: str, limit: int, progress: Progress
) -> list[Listed]:
    """Download files one by one; return those that are not there."""
    absent = []
    for file in wanted:
        url = f"{base}/{quote(file.path)}"
        arrived = folder / f"{file.path}.arrived"

        def told(done: int, total: int | None, path: str = file.path) -> None:
            progress(path, done, total)

        try:
            download(url, arrived, limit=limit, progress=told)
        except NotThereError:
            absent.append(file)
            continue
        try:
            if not is_right(file, arrived):
                raise WorkError(f"{url} is not results/{file.path}: its checksum is another.")
            write_atomic(folder / file.path, arrived.read_bytes())
        finally:
            arrived.unlink()
    return absent
