"""One grammar names results everywhere: ``EXPERIMENT[@RUN][/ROW:COLUMN[#SEED]]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from wug.core.errors import UserError
from wug.core.folders import MANIFEST, RUNS, find_run, results_folder

SHIPPED = "shipped"
_NAME = re.compile(
    r"(?P<experiment>[^@/#]+)(@(?P<run>[^/#]+))?(/(?P<cell>[^#]+))?(#(?P<seed>\d+))?"
)


@dataclass(frozen=True, kw_only=True)
class ResultName:
    """A name, taken apart.

    Args:
        experiment: Its key, such as ``csordas2023.ctl``.
        run: ``shipped``, the name of a run's folder, such as ``laptop``, or empty: the latest run
            here, else what ships.
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
        roots = [results_folder()] if self.run == SHIPPED else [RUNS, results_folder()]
        names = "*" if self.run == SHIPPED else self.run
        for root in roots:
            found = sorted((root / self.experiment).glob(f"{names}/{MANIFEST}"))
            if found:
                return found[0].parent
        raise UserError(f"{self.experiment} has no run {self.run!r} here, nor in what ships.")


def find_results(name: str) -> Path:
    """Resolve a folder, ``EXPERIMENT`` or ``EXPERIMENT@RUN`` to a folder with a run.

    Raises:
        UserError: There is none.
    """
    if "@" in name and not Path(name).is_dir():
        return ResultName.parse(name).folder()
    return find_run(name)
