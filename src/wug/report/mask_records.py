"""What records say of masks: scores under them, sharing by layer, removed classes, gates.

Tables on masks write plain numbers with plain names: ``add_under_mul`` (the score of a function
under a mask), ``sharing_add_0`` (of a layer, which ``layer_0`` names), ``answers_3_8`` (how often a
class is taken for another), ``change_5_3_8`` (of the same, when a class is gone), ``bin_00`` (share
of gates).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.records import Record
from wug.report.run_source import RunSource

UNDER = re.compile(r"(\w+)_under_(\w+)")
SHARED = re.compile(r"sharing_(\w+)_(\d{1,3})")
ANSWERED = re.compile(r"answers_(\d{1,3})_(\d{1,3})")
REMOVED = re.compile(r"change_(\d{1,3})_(\d{1,3})_(\d{1,3})")
BIN = re.compile(r"bin_(\d{1,3})")
LAYER = re.compile(r"layer_(\d{1,3})")
MOST_LAYERS, MOST_FUNCTIONS, MOST_CLASSES = 200, 20, 20


@dataclass(frozen=True, kw_only=True)
class Masked:
    """What the records of one cell say of masks, means over seeds.

    Args:
        name: Of the cell.
        num_networks: How many records there are.
        function_titles: What functions are called, in the order of the run's measures.
        mask_titles: What masks are called, in that order.
        matrix: Mask -> function -> score.
        layers: Names of layers by number.
        sharing: Function -> number of a layer -> share.
        answers: Class -> answer -> share, under the mask of all classes.
        change: Class that is gone -> class -> answer -> change.
        bins: Number of a bin -> share of gates.
    """

    name: str
    num_networks: int
    function_titles: Mapping[str, str] = field(default_factory=dict)
    mask_titles: Mapping[str, str] = field(default_factory=dict)
    matrix: dict[str, dict[str, float]] = field(default_factory=dict)
    layers: dict[int, str] = field(default_factory=dict)
    sharing: dict[str, dict[int, float]] = field(default_factory=dict)
    answers: dict[int, dict[int, float]] = field(default_factory=dict)
    change: dict[int, dict[int, dict[int, float]]] = field(default_factory=dict)
    bins: dict[int, float] = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Whether there is anything to show."""
        return any((self.matrix, self.sharing, self.answers, self.change, self.bins))

    @property
    def functions(self) -> list[str]:
        """The functions: what has a score with all weights."""
        return in_order(self.matrix.get("full", {}), self.function_titles)

    @property
    def masks(self) -> list[str]:
        """The masks; those that no measure is of come last, all weights first among them."""
        names = sorted(self.matrix, key=lambda name: (name != "full", "not_" in name))
        return in_order(names, self.mask_titles)


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return names in the order of known ones, and the others after them as they are."""
    places = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: places.get(name, len(places)))


def observed(record: Record) -> Mapping[str, Any]:
    """Return what was read off a record's network."""
    found = record.outcome.get("observed")
    return found if isinstance(found, Mapping) else {}


def masked(
    name: str, records: list[Record], functions: Mapping[str, str], masks: Mapping[str, str]
) -> Masked:
    """Return the means of some records; functions and masks have titles."""
    values: dict[str, list[float]] = {}
    layers: dict[int, str] = {}
    for record in records:
        for key, value in observed(record).items():
            if isinstance(value, bool):
                continue
            if isinstance(value, (int, float)) and math.isfinite(value):
                values.setdefault(str(key), []).append(float(value))
            elif isinstance(value, str) and (place := LAYER.fullmatch(str(key))):
                layers[int(place[1])] = value
    means = {key: math.fsum(numbers) / len(numbers) for key, numbers in values.items()}
    known = [m[1] for key in means if (m := UNDER.fullmatch(key)) and m[2] == "full"]
    found = Masked(
        name=name, num_networks=len(records), layers=layers, function_titles=functions,
        mask_titles=masks,
    )  # fmt: skip
    for key, value in means.items():
        if (m := UNDER.fullmatch(key)) and m[1] in known[:MOST_FUNCTIONS]:
            found.matrix.setdefault(m[2], {})[m[1]] = value
        elif (m := SHARED.fullmatch(key)) and int(m[2]) < MOST_LAYERS:
            found.sharing.setdefault(m[1], {})[int(m[2])] = value
        elif (m := ANSWERED.fullmatch(key)) and max(map(int, m.groups())) < MOST_CLASSES:
            found.answers.setdefault(int(m[1]), {})[int(m[2])] = value
        elif (m := REMOVED.fullmatch(key)) and max(map(int, m.groups())) < MOST_CLASSES:
            found.change.setdefault(int(m[1]), {}).setdefault(int(m[2]), {})[int(m[3])] = value
        elif (m := BIN.fullmatch(key)) and int(m[1]) < MOST_LAYERS:
            found.bins[int(m[1])] = value
    return found


def titles_of(run: RunSource) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a run's measures call functions and masks.

    Measures of functions under masks have titles such as ``Pair 1 under pair 2's mask``.
    """
    functions: dict[str, str] = {}
    masks: dict[str, str] = {}
    for measure in run.catalog["measures"]:
        place = UNDER.fullmatch(measure["name"])
        function, under, mask = measure["title"].partition(" under ")
        if place and under:
            functions.setdefault(place[1], function)
            masks.setdefault(place[2], mask)
    return functions, masks


def masked_cells(run: RunSource) -> list[Masked]:
    """Return the cells of a run that have something to show of masks.

    The one with most networks comes first, the others in the run's order.
    """
    layout = run.catalog.get("layout") or {}
    columns = list(layout.get("column_order", ()))
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in run.records:
        names = dict.fromkeys((*run.row_fields, *record.key))
        labels = ((name, str(record.key[name])) for name in names if name in record.key)
        cell = tuple(label(name, text) for name, text in labels if name != "seed")
        groups.setdefault(cell, []).append(record)

    def place(cell: tuple[str, ...]) -> tuple[object, ...]:
        last = cell[-1].removeprefix(f"{run.column_field} ") if cell else ""
        return (cell[:-1], columns.index(last) if last in columns else len(columns), cell)

    titles = titles_of(run)
    found = (masked(" · ".join(cell), groups[cell], *titles) for cell in sorted(groups, key=place))
    shown = [one for one in found if one.shown]
    most = max((one.num_networks for one in shown), default=0)
    first = next((one for one in shown if one.num_networks == most), None)
    return sorted(shown, key=lambda one: one is not first)


def label(name: str, text: str) -> str:
    """Return a label for people: a bare number says what it is.

    Example:
        >>> label("beta", "0.1"), label("network", "fnn_small")
        ('beta 0.1', 'fnn_small')
    """
    return f"{name} {text}" if text.replace(".", "").isdigit() else text
