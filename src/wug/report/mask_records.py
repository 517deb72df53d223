"""What records say of masks: scores under them, sharing by layer, removed classes, gates.

Tables on masks write plain numbers with plain names: ``add_under_mul`` (the score of a function
under a mask), ``sharing_add_0`` (of a layer, which ``layer_0`` names), ``answers_3_8`` (how often a
class is taken for another), ``change_5_3_8`` (of the same, when a class is gone), ``bin_00`` (share
of gates).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wug.records import Record
from wug.report.sources import RunSource

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
        matrix: Mask -> function -> score.
        layers: Names of layers by number.
        sharing: Function -> number of a layer -> share.
        answers: Class -> answer -> share, under the mask of all classes.
        change: Class that is gone -> class -> answer -> change.
        bins: Number of a bin -> share of gates.
    """

    name: str
    num_networks: int
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
        return list(self.matrix.get("full", {}))


def observed(record: Record) -> Mapping[str, Any]:
    """Return what was read off a record's network."""
    found = record.outcome.get("observed")
    return found if isinstance(found, Mapping) else {}


def masked(name: str, records: list[Record]) -> Masked:
    """Return the means of some records."""
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
    functions = [m[1] for key in means if (m := UNDER.fullmatch(key)) and m[2] == "full"]
    found = Masked(name=name, num_networks=len(records), layers=layers)
    for key, value in means.items():
        if (m := UNDER.fullmatch(key)) and m[1] in functions[:MOST_FUNCTIONS]:
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


def masked_cells(run: RunSource) -> list[Masked]:
    """Return the cells of a run that have something to show of masks."""
    groups: dict[str, list[Record]] = {}
    for record in run.records:
        labels = [str(v) for k, v in record.key.items() if k != "seed"]
        groups.setdefault(" · ".join(labels), []).append(record)
    found = (masked(name, records) for name, records in groups.items())
    return [one for one in found if one.shown]
