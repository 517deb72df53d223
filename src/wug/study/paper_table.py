"""A table of a paper: rows x columns, and what is trained for each cell.

A file of an experiment says which rows and columns there are and has one function, from the labels
of a cell to its training. `PaperTable` registers that function and makes an experiment of it:

    @PaperTable(name="Identity function", labels=("model", "operation"), rows=MODELS, ...)
    def identity(run: Run, model: str, operation: str) -> Training:
        ...

What a person chooses (scale, seeds, rows, ranges, streams) is resolved here, and the published
numbers are read from the CSV that has the stem of the experiment's file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from typing import Any, Literal

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.records import Json, Record, config_hash
from wug.stats.measures import Measure
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.experiment import Experiment, Layout, RunOptions, Scale, Size, choose_rows
from wug.study.own_network import own_network
from wug.study.published import published_table, read_published
from wug.study.trainings import TEST_IS_WATCHED, Run, Training, make_lots
from wug.training.plan import Lot, Registered

SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """What is known of a table beside the trainings of its cells.

    Args:
        name: For listings.
        title: For people: with paper and number of the table.
        references: Keys into ``references.bib``.
        source: Which tables, figures or sections.
        labels: Names of a cell's labels; the last one is that of the columns.
        rows: The rows in order: a label, or all labels but the last.
        columns: The columns in order.
        departures: Where this differs from the paper, one sentence each.
        claims: The paper's statements as predicates.
        scales: Seeds, steps and streams of each scale; without them every cell has its own.
        stream: Labels that say what the data is: cells that agree in these see the same inputs.
        repeated: Labels that are part of the configuration; None means all.
        settings: What two runs must agree in to share a folder, beside steps, streams and dtype.
        usual: For some scales, the cells that are trained unless a person names others: the values
            that labels may have.
        ranges: What ``--ranges`` may name: nothing, columns, or any range.
        choice: Returns the row that ``--only`` names a cell by; its first two labels by default.
        trials: Number of runs behind each published number; 0 if there is no CSV.
        successes: Published successes that are no part of the table, for claims alone.
        cells: Makes further cells for claims out of the records.
        series: What the further cells' last label is, such as a length: their successes are shown
            as curves over it. If it is the label of the columns, the table's own cells are.
        criterion: What success is, in words, where the further cells count it and not the task:
            what the task calls solved is shown nowhere then.
        against: A measure that the table's own is drawn against: of the further cells if there are
            any, else of all cells.
        row_units: First label -> key of the unit or model that it is a case of.
        measures: Of its own, beside those that all experiments know or in their stead.
        measure: Name of what the table shows unless told otherwise (`wug.stats.measures`).
        baseline: Row that errors are relative to.
        learnt: From which share of right answers in distribution on a cell's failure elsewhere
            counts; cells with less are marked. Without it none is.
        stand_in: Network that one of a person's own is trained like, where builds are no registered
            models but modules of a task's sizes; other tables choose among what is usual.
        reported: Labels of printed cells that nobody trains, such as those of prior work: these
            cells are shown beside ours, and claims on our runs take them at face value.
        stands_in: Says of a task which data set it takes the place of; empty for the real one.
        later: First labels of rows that came after the first records; they are no part of what two
            runs must agree in, so that older folders can be continued.
        data_edition: Raised when the experiment draws other data than before.
    """

    name: str
    title: str
    references: tuple[str, ...]
    source: str
    labels: tuple[str, ...]
    rows: Iterable[str | Key]
    columns: Iterable[str]
    departures: tuple[str, ...]
    claims: tuple[Claim, ...]
    scales: Mapping[Scale, Size] = field(default_factory=dict)
    stream: tuple[str, ...] = ()
    repeated: tuple[str, ...] | None = None
    settings: Callable[[Run], Mapping[str, Json]] = lambda run: {}
    usual: Mapping[Scale, Mapping[str, Collection[str]]] = field(default_factory=dict)
    ranges: Literal["none", "columns", "any"] = "none"
    choice: Callable[..., tuple[str, str]] = lambda first, second, *rest: (first, second)
    trials: int = 0
    successes: Mapping[Key, int] = field(default_factory=dict)
    cells: Callable[[Sequence[Record]], Mapping[Key, Cell]] | None = None
    series: str = ""
    criterion: str = ""
    against: str = ""
    row_units: Mapping[str, str] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    measure: str = "success"
    baseline: str | None = None
    learnt: float | None = None
    stand_in: str = ""
    reported: tuple[str, ...] = ()
    stands_in: Callable[[Any], str] = lambda task: ""
    later: tuple[str, ...] = ()
    data_edition: int = 1

    def __call__(self, cell: Callable[..., Training | None]) -> Callable[[RunOptions], Experiment]:
        """Register a function from a run and the labels of a cell to its training.

        Args:
            cell: Returns None for cells that are not trained. Its module's name is the key.
        """

        @wraps(cell)
        def experiment(options: RunOptions) -> Experiment:
            return _Chosen(self, cell, options).experiment()

        def every(scale: Scale) -> Mapping[Key, Training]:
            return _Chosen(self, cell, RunOptions(scale=scale)).every

        filed: Callable[[RunOptions], Experiment] = register(
            "experiment",
            key=experiment_key(cell),
            name=self.name,
            references=self.references,
            source=self.source,
            scales={
                scale: asdict(self.scales[scale]) if self.scales else _largest(every(scale))
                for scale in SCALES
            },
            rows=self._choices(every("paper")),
            columns=list(self.columns),
        )(experiment)
        return filed

    @property
    def row_order(self) -> tuple[Key, ...]:
        """The rows as tuples of labels."""
        return tuple((row,) if isinstance(row, str) else row for row in self.rows)

    def _choices(self, cells: Iterable[Key]) -> list[str]:
        """Return what ``--only`` may name: a first label alone where a second adds nothing."""
        pairs = dict.fromkeys(self.choice(*key) for key in cells)
        firsts = dict.fromkeys(first for first, _ in pairs)
        alone = len(firsts) == len(pairs) or (self.ranges != "none" and len(self.labels) == 2)
        return list(firsts) if alone else [":".join(pair) for pair in pairs]


def _largest(cells: Mapping[Key, Training]) -> dict[str, int]:
    """Return what a listing says of a scale whose cells have seeds and steps of their own."""
    own = cells.values()
    return {"seeds": max(c.seeds for c in own), "steps": max(c.plan.steps for c in own)}


class _Chosen:
    """A table as a person wants it trained."""

    def __init__(
        self, table: PaperTable, cell: Callable[..., Training | None], options: RunOptions
    ) -> None:
        self.table, self.cell, self.options = table, cell, options
        self.name = experiment_key(cell)
        size = table.scales.get(options.scale, Size(seeds=0, steps=0, streams="independent"))
        self.seeds = options.seeds or size.seeds
        self.run = Run(
            scale=options.scale, steps=size.steps, streams=options.streams or size.streams
        )
        known = tuple(table.columns)
        asked = [name for name in options.ranges if name in known or table.ranges == "any"]
        columns = dict.fromkeys((*asked, *known))
        keys = [(*row, column) for row in table.row_order for column in columns]
        made = {key: cell(self.run, *key) for key in keys}
        self.every = {key: training for key, training in made.items() if training is not None}
        self.columns = (*known, *(name for name in columns if name not in known))
        self.rows = table.row_order
        self.own = own_network(options, table.labels, self.every, self._usual_networks())
        if self.own is not None:
            mine = self.own.cells(self.every, bool(table.stand_in))
            self.every |= mine
            new = dict.fromkeys(key[:-1] for key in mine if key[:-1] not in self.rows)
            groups = list(dict.fromkeys(row[1:] for row in (*self.rows, *new)))
            self.rows = tuple(sorted((*self.rows, *new), key=lambda row: groups.index(row[1:])))
            self.columns = tuple(dict.fromkeys((*self.columns, *(key[-1] for key in mine))))

    def _usual_networks(self) -> tuple[str, ...]:
        """Return the networks that one of a person's own may be trained like, the best first."""
        label = self.options.own[0] if self.options.own else ""
        usual = self.table.usual.get(self.options.scale, {}).get(label, ())
        return (self.table.stand_in, *usual)

    def experiment(self) -> Experiment:
        """Return the experiment of the cells that are chosen."""
        table = self.table
        labels, module = table.labels, self.cell.__module__
        published = (
            read_published(module, labels, trials=table.trials, own=table.measures)
            if table.trials
            else ()
        )
        theirs = published_table(published)
        counted = {k: replace(theirs.cells[k], successes=n) for k, n in table.successes.items()}
        chosen = {key: self.every[key] for key in self._choose()}
        known = set(table.reported)
        reported = {key: cell for key, cell in theirs.cells.items() if known & set(key)}
        substituted = {
            key: name for key, one in self.every.items() if (name := table.stands_in(one.task))
        }
        return Experiment(
            name=self.name,
            title=table.title,
            settings=self._settings(),
            lots=self._lots(chosen),
            layout=Layout(
                rows=labels[:-1],
                column=labels[-1],
                row_order=self.rows,
                column_order=self.columns,
                measure=table.measure,
                baseline=table.baseline,
                learnt=table.learnt,
                reported=tuple(row for row in self.rows if known & set(row)),
            ),
            published=[each.to_json() for each in published if each.key not in substituted],
            reported=reported,
            substituted=substituted,
            published_table=Table({**theirs.cells, **counted}, exact=True),
            measures=table.measures,
            claims=table.claims,
            departures=self._departures(),
            cells=table.cells,
            series=table.series,
            criterion=table.criterion,
            against=table.against,
            row_units={**self._models(), **table.row_units},
            data_edition=table.data_edition,
        )

    def _choose(self) -> list[Key]:
        """Return the cells that are asked for, or those that are usual at the scale."""
        options, table = self.options, self.table
        if table.ranges == "none":
            options.refuse_ranges(self.name)
        by_choice: dict[tuple[str, str], list[Key]] = {}
        for key in self.every:
            by_choice.setdefault(table.choice(*key), []).append(key)
        rows = choose_rows(options.only, list(by_choice))
        cells = [key for row in rows for key in by_choice[row]]
        mine = [key for key in self.every if self.own is not None and self.own.owns(key)]
        if mine and not options.only:
            cells = mine
        elif not set(mine) & set(cells):
            cells += mine
        if table.ranges == "columns":
            known = [name for name in self.columns if any(key[-1] == name for key in cells)]
            for name in options.ranges:
                require_choice("run", "ranges", name, known)
        usual = dict(table.usual.get(options.scale, {}))
        if options.only:
            # Rows were named, and where no ranges can be, columns with them.
            kept = table.labels[-1:] if table.ranges != "none" else ()
            usual = {label: some for label, some in usual.items() if label in kept}
        if options.ranges:
            usual[table.labels[-1]] = options.ranges
        allowed = [usual.get(label) for label in table.labels]
        chosen = [
            key
            for key in cells
            if all(
                some is None or k in some or (self.own is not None and k == self.own.name)
                for k, some in zip(key, allowed, strict=True)
            )
        ]
        if not chosen:
            raise UserError(f"{self.name}: nothing is left to train; name other rows or ranges.")
        return chosen

    def _settings(self) -> Mapping[str, Json]:
        if self.table.scales:
            run = self.run
            common = {"steps": run.steps, "streams": run.streams, "dtype": "float32"}
            return {**common, **self.table.settings(run)}
        # Two runs that share a folder must agree in the configuration of every cell.
        configurations = {
            " ".join(key): cell.resolved
            for key, cell in self.every.items()
            if key[0] not in self.table.later and not (self.own and self.own.owns(key))
        }
        return {"scale": self.run.scale, "configurations": config_hash(configurations)}

    def _departures(self) -> tuple[str, ...]:
        watched = any("test" in training.plan.watched for training in self.every.values())
        own = self.own and f"{self.own.name}, which is none of the paper's, has the training of "
        return (
            *self.table.departures,
            *((TEST_IS_WATCHED,) if watched else ()),
            *((f"{own}{self.own.like}.",) if self.own else ()),
        )

    def _models(self) -> dict[str, str]:
        # Of all rows: the folder may hold records of some that are not asked for now.
        builds = {key[0]: training.build for key, training in self.every.items()}
        return {row: b.name for row, b in builds.items() if isinstance(b, Registered)}

    def _lots(self, chosen: Mapping[Key, Training]) -> tuple[Lot, ...]:
        if not self.table.scales and self.options.streams == "shared":
            raise UserError(f"{self.name}: every seed has its own batches; leave --streams out.")
        table = self.table
        return make_lots(
            chosen, labels=table.labels, stream=table.stream, repeated=table.repeated,
            seeds=self.seeds, streams=self.run.streams,
        )  # fmt: skip


def below_paper(**labels: Collection[str]) -> dict[Scale, Mapping[str, Collection[str]]]:
    """Return which cells are usual at all scales but the paper's."""
    return {"smoke": labels, "laptop": labels}


def experiment_key(cell: Callable[..., Any]) -> str:
    """Return the key of the experiment in a function's module: ``<paper>.<table>``."""
    return ".".join(cell.__module__.split(".")[-2:])
