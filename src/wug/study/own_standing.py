"""Where a network of a person's own stands among those of a paper's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wug.records import Record
from wug.stats.interval import Estimate
from wug.stats.measures import MEASURES
from wug.stats.wilson import wilson
from wug.study.catalog import own_cells
from wug.study.claims import Cell, Key
from wug.study.experiment import Experiment, RunOptions
from wug.study.own_network import OwnNetwork


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a network of a person's own stands in one contest.

    Args:
        contest: What is compared, such as an operation; empty if there is one contest.
        name: Of the network.
        scores: Of it and of all others, the best first.
        ours: Names whose score is of our own runs; the others are published.
        best: The best place that the intervals allow.
        worst: The worst one.
    """

    contest: str
    name: str
    scores: Mapping[str, Estimate]
    ours: tuple[str, ...]
    best: int
    worst: int

    @property
    def rank(self) -> int:
        """Its place: one more than there are better ones."""
        return list(self.scores).index(self.name) + 1


def standings(
    experiment: Experiment, records: Sequence[Record], options: RunOptions
) -> list[Standing]:
    """Rank a network among those of the paper; where the paper has no number, ours counts.

    Success rates are those of all columns together that the network was trained on, with Wilson
    intervals; other measures are compared column by column.

    Args:
        experiment: The table, with what is published.
        records: Of the run.
        options: What the person chose; without a network of one's own there is nothing to rank.
    """
    if options.own is None:
        return []
    label, target = options.own
    layout = experiment.layout
    own = OwnNetwork(target=target, place=(*layout.rows, layout.column).index(label), like="")
    measure = layout.measure
    mine = own_cells(experiment, records)
    theirs = experiment.published_table.cells
    comparable = {key: cell for key, cell in theirs.items() if key not in experiment.substituted}
    cells = {**mine, **comparable}
    pooled = measure == "success" and own.place < len(layout.rows)
    contests: dict[Key, dict[str, list[Key]]] = {}
    for key in cells:
        asked = (*key[: own.place], own.name, *key[own.place + 1 :])
        if asked in mine:
            rest = (*key[: own.place], *key[own.place + 1 :])
            contest = rest[:-1] if pooled else rest
            contests.setdefault(contest, {}).setdefault(key[own.place], []).append(key)
    return [
        _standing(contest, networks, cells, mine, own.name, measure)
        for contest, networks in contests.items()
    ]


def _standing(
    contest: Key, networks: Mapping[str, list[Key]], cells: Mapping[Key, Cell],
    mine: Mapping[Key, Cell], name: str, measure: str,
) -> Standing:  # fmt: skip
    scores = {other: _score([cells[k] for k in keys], measure) for other, keys in networks.items()}
    known = {other: score for other, score in scores.items() if score.n or other == name}
    lower = measure in MEASURES and MEASURES[measure].better == "lower"
    order = sorted(known, key=lambda o: (known[o].value if lower else -known[o].value, o != name))
    sign = -1 if lower else 1

    def limits(score: Estimate) -> tuple[float, float]:
        ends = (score.low, score.high) if score.has_interval else (score.value, score.value)
        low, high = sorted(sign * end for end in ends)
        return low, high

    low, high = limits(known[name])
    others = [limits(score) for other, score in known.items() if other != name]
    return Standing(
        contest=" ".join(contest),
        name=name,
        scores={other: known[other] for other in order},
        ours=tuple(other for other, keys in networks.items() if keys[0] in mine),
        best=1 + sum(other_low > high for other_low, _ in others),
        worst=1 + sum(other_high > low for _, other_high in others),
    )


def _score(cells: Sequence[Cell], measure: str) -> Estimate:
    if measure != "success":
        value = cells[0][measure]
        return replace(value, n=max(cells[0].trials, 1)) if value.value == value.value else value
    counted = [cell for cell in cells if cell.successes is not None]
    trials = sum(cell.trials for cell in counted)
    solved = sum(cell.successes or 0 for cell in counted)
    return wilson(solved, trials) if trials else Estimate.none()
