"""What runs left behind, for Python: tables, trained networks, and running a table of a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from wug.core import index
from wug.core.errors import UserError
from wug.core.folders import run_folder, shipped_folder
from wug.core.result_names import ResultName
from wug.records import Record, RunStore, identity, read_run
from wug.records.tabular import outcome_row
from wug.stats.measures import lookup
from wug.study.catalog import make_catalog
from wug.study.experiment import RunOptions
from wug.study.own_network import try_own
from wug.study.trainings import lot_name, require_files
from wug.training.kept_networks import load as load_network
from wug.training.kept_networks import read_about
from wug.training.work import WorkOptions, work


class Results:
    """The records of a run, one row for each training.

    Args:
        name: How they were asked for.
        folder: Where they are.
        records: The records.

    Example:
        >>> found = results("mistry2022.single_module@shipped/nau:add:[1,2)")
        >>> len(found), found.rows[0]["solved"]
        (25, True)
    """

    def __init__(self, name: str, folder: Path, records: Sequence[Record]) -> None:
        self.name, self.folder, self.records = name, folder, tuple(records)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The trainings as flat dicts: labels, seed, status, and each measure by its path."""
        return [outcome_row(record) for record in self.records]

    def __len__(self) -> int:
        """Return the number of trainings."""
        return len(self.records)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows."""
        return iter(self.rows)

    def __repr__(self) -> str:
        """Say what it is."""
        solved = sum(bool(record.outcome.get("solved")) for record in self.records)
        return f"{self.name}: {len(self)} trainings, {solved} solved, from {self.folder}"

    def to_pandas(self) -> Any:
        """Return the rows as a data frame.

        Raises:
            UserError: There is no pandas.
        """
        try:
            import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise UserError("results: to_pandas needs pandas: pip install pandas.") from None
        return pandas.DataFrame(self.rows)


def results(name: str) -> Results:
    """Return what a run left behind.

    Args:
        name: ``EXPERIMENT[@RUN][/ROW:COLUMN[#SEED]]``, such as ``csordas2023.ctl@shipped/ndr``.

    Raises:
        UserError: There is no such run, row or column.
    """
    parsed = ResultName.parse(name)
    folder = parsed.folder()
    run = read_run(folder)
    layout: Any = (run.catalog() or {}).get("layout", {})
    records = list(run.records())
    wanted = dict(zip(layout.get("rows", ()), parsed.row, strict=False))
    if parsed.column:
        wanted[layout.get("column", "")] = parsed.column
    for field, value in wanted.items():
        known = sorted({str(record.key.get(field)) for record in records})
        records = [record for record in records if str(record.key.get(field)) == value]
        if not records:
            raise UserError(f"results: {name} has no {field} {value!r}; it has {', '.join(known)}.")
    if parsed.seed is not None:
        records = [record for record in records if record.seed == parsed.seed]
        if not records:
            raise UserError(f"results: {name} has no seed {parsed.seed}.")
    return Results(name, folder, records)


def load(name: str, device: str = "cpu") -> nn.Module:
    """Load a trained network, ready to call; its task is its attribute ``task``.

    Args:
        name: ``EXPERIMENT[@RUN]/ROW:COLUMN[#SEED]``; without a seed, the best on OOD validation.
        device: Where it goes.

    Raises:
        UserError: There is no such network.

    Example:
        >>> network = load("csordas2023.ctl@shipped/ndr:backward")
        >>> type(network).__name__, network.task.order
        ('NDR', 'backward')
    """
    found = results(name)
    best = sorted(found.records, key=lambda record: error_of(record.outcome))
    files = {path.stem: path for path in (found.folder / "models").glob("*.safetensors")}
    # Those of networks that were trained as one program have the name of that.
    by_key = {
        identity({**labels, "seed": about["seed"]}): path
        for path in files.values()
        if isinstance(labels := (about := read_about(path)).get("labels"), dict) and "seed" in about
    }
    for record in best:
        stem = lot_name(record.key.values())
        path = files.get(stem) or by_key.get(identity(record.key))
        if path is not None:
            network, task = load_network(path, device)
            network.task = task
            return network
    more = (
        "; wug data get results has more" if found.folder.is_relative_to(shipped_folder()) else ""
    )
    raise UserError(
        f"load: {name} has no kept network; there are {', '.join(sorted(files)) or 'none'}{more}."
    )


def error_of(outcome: Any) -> float:
    """Return the error that networks are chosen by: OOD validation, or validation."""
    for split in ("ood_validation", "validation"):
        for measure in ("error", "loss"):
            value = lookup(outcome, f"selected.{split}.{measure}")
            if isinstance(value, int | float):
                return float(value)
    return float("inf")


def run(
    experiment: str,
    *,
    scale: str = "laptop",
    only: Sequence[str] = (),
    seeds: int | None = None,
    out: Path | str | None = None,
    device: str = "cpu",
    compile: str = "auto",
    unit: str | None = None,
    model: str | None = None,
    like: str | None = None,
) -> Results:
    """Train a table of a paper in this process; what is finished already is not trained again.

    Args:
        experiment: Its key, such as ``mistry2022.single_module``, or ``FILE.py:name``.
        scale: ``smoke``, ``laptop`` or ``paper``.
        only: Rows, such as ``nau`` or ``nau:add``.
        seeds: How many; the scale's own number if not given.
        out: The run's folder; runs/EXPERIMENT/SCALE if not given.
        device: Where to train.
        compile: ``auto``, ``on`` or ``off``.
        unit: A unit of yours as one more row, as ``FILE.py:CLASS``.
        model: The same in tables of sequences.
        like: The row whose optimiser, steps and penalty it has.

    Raises:
        UserError: There is no such experiment, scale or row, or your network fails.
    """
    chosen: Any = {"scale": scale, "only": tuple(only), "seeds": seeds}
    options = RunOptions(**chosen, unit=unit, model=model, like=like)
    plan = find_experiment(experiment)(options)
    try_own(plan, options)
    require_files(plan.lots)
    folder = Path(out) if out is not None else run_folder(plan.name, scale, None)
    store = RunStore.open(folder, plan.name, plan.settings)
    work(plan, folder, WorkOptions(compile=compile, device=device))  # type: ignore[arg-type]
    finished = read_run(folder)
    records = list(finished.records())
    command = f"wug.run({experiment!r}, scale={scale!r})"
    store.write_catalog(
        make_catalog(plan, records, command, scale=scale, finished=finished.last_day())
    )
    return Results(experiment, folder, records)


def find_experiment(name: str) -> Any:
    """Return the function that makes an experiment: of the register, or ``FILE.py:name``."""
    return index.import_target(name) if ":" in name else index.get("experiment", name)
