"""wug pack: a run as a few small files, to share or to commit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from wug.core.result_names import find_results, introduce
from wug.records import pack_run, read_run


def pack(
    run: Annotated[str, tyro.conf.Positional],
    destination: Annotated[Path, tyro.conf.Positional],
    *,
    without_curves: bool = False,
    models: tuple[str, ...] = (),
) -> None:
    """Pack the records of a run into one compressed file; wug show reads it like a run folder.

    Args:
        run: A run folder, or results by name, such as EXPERIMENT@laptop.
        destination: The folder to write.
        without_curves: Leave the learning curves out, which are most of the size.
        models: Trained networks to take along for the lab of wug serve: names of files in the run's
            models folder, without their ending.
    """
    folder = find_results(run)
    if said := introduce(run, folder):
        print(said)
    source = read_run(folder)
    for problem in pack_run(source, destination, curves=not without_curves, models=models):
        print(problem)
    size = sum(path.stat().st_size for path in destination.rglob("*") if path.is_file())
    print(f"wrote {destination} ({size / 1e6:.2f} MB)")
