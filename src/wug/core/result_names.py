"""One grammar names results everywhere: ``EXPERIMENT[@RUN][/ROW:COLUMN[#SEED]]``.

``@shipped`` is what ships with wug (``@shipped-LABEL`` if there is more than one), any other run is
a folder in ``runs/EXPERIMENT``, such as ``@laptop``: the two never share a name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from wug.core import index
from wug.core.errors import UserError
from wug.core.folders import (
    MANIFEST,
    RUNS,
    find_run,
    is_smoke,
    own_runs,
    shipped_folder,
    shipped_runs,
)

SHIPPED = "shipped"
_NAME = re.compile(
    r"(?P<experiment>[^@/#]+)(@(?P<run>[^/#]+))?(/(?P<cell>[^#]+))?(#(?P<seed>\d+))?"
)


@dataclass(frozen=True, kw_only=True)
class ResultName:
    """A name, taken apart.

    Args:
        experiment: Its key, such as ``csordas2023.ctl``.
        run: ``shipped``, ``shipped-LABEL``, the name of a run's folder, such as ``laptop``, or
            empty: the latest run here that is more than smoke, else what ships.
        row: The labels of a row; empty if the whole table is meant.
        column: Of the cell; may be empty.
        seed: Of the cell; None means the best on OOD validation.

    Example:
        >>> ResultName.parse("csordas2023.ctl@shipped/ndr:backward#2").row
        ('ndr',)
    """

    experiment: str
    run: str = ""
    row: tuple[str, ...] = ()
    column: str = ""
    seed: int | None = None

    @classmethod
    def parse(cls, text: str) -> ResultName:
        """Take a name apart.

        Raises:
            UserError: It is no such name.
        """
        found = _NAME.fullmatch(text)
        if found is None or (found["seed"] and not found["cell"]):
            raise UserError(
                f"{text!r} names no results; write EXPERIMENT[@RUN][/ROW:COLUMN[#SEED]], such as "
                "csordas2023.ctl@shipped/ndr:backward#0."
            )
        *row, column = (found["cell"] or "").split(":")
        if found["cell"] and not row:
            row, column = [column], ""
        return cls(
            experiment=found["experiment"],
            run=found["run"] or "",
            row=tuple(row),
            column=column,
            seed=None if found["seed"] is None else int(found["seed"]),
        )

    def folder(self) -> Path:
        """Return the run folder that is meant.

        Raises:
            UserError: There is none.
        """
        if not self.run:
            return find_run(self.experiment)
        if self.run.split("-")[0] == SHIPPED:
            ours = shipped_runs(self.experiment)
            named = [
                path for path in ours if self.run in (run_name(path), f"{SHIPPED}-{path.name}")
            ]
        else:
            path = RUNS / self.experiment / self.run
            named = [path] if (path / MANIFEST).is_file() else []
        if named:
            return named[0]
        known = [run_name(p) for p in (*own_runs(self.experiment), *shipped_runs(self.experiment))]
        if not known:
            index.entry("experiment", self.experiment)  # which names the nearest known ones
        there = f"; there are {', '.join(f'@{one}' for one in known)}" if known else ""
        more = "; wug data get results gets all that are ours" if shipped_folder().is_dir() else ""
        raise UserError(f"{self.experiment} has no run {self.run!r} here{there}{more}.")


def run_name(folder: Path) -> str:
    """Return the name of a run's folder in its experiment: what stands behind the @.

    Example:
        >>> run_name(Path("runs/mistry2022.single_module/laptop"))
        'laptop'
        >>> [run_name(path) for path in shipped_runs("mistry2022.single_module")]
        ['shipped', 'shipped-paper-shared']
    """
    ours = shipped_runs(folder.parent.name)
    if folder not in ours:
        return folder.name
    return SHIPPED if folder == ours[0] else f"{SHIPPED}-{folder.name}"


def find_results(name: str) -> Path:
    """Resolve a folder, ``EXPERIMENT`` or ``EXPERIMENT@RUN`` to a folder with a run.

    Raises:
        UserError: There is none.
    """
    if "@" in name and not Path(name).is_dir():
        return ResultName.parse(name).folder()
    return find_run(name)


def introduce(name: str, folder: Path) -> str:
    """Say which results a name stands for; nothing if it is a folder, which speaks for itself.

    Args:
        name: What a person wrote.
        folder: What `find_results` made of it.
    """
    experiment = name.partition("@")[0]
    if Path(name) == folder:
        return ""
    ours, own = shipped_runs(experiment), own_runs(experiment)
    if folder in ours:
        what, others = "our results, which ship with wug", own
    elif is_smoke(folder):
        what, others = "a smoke run of yours, which only checks the plumbing", ours
    else:
        what, others = "your run", ours
        if len(own) > 1 and folder == own[0]:
            what = "your latest run"
    beside = f"; there is also @{run_name(others[0])}" if others else ""
    return f"{experiment}@{run_name(folder)}: {what}{beside}."
