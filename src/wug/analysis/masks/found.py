"""What was found: masks of each function and seed, and everything that is measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from wug.analysis.masks.files import save_masks
from wug.analysis.masks.judging import Matrix, area, reuse, specialisation, with_interval
from wug.analysis.masks.mask import Mask
from wug.analysis.masks.overlap import io_min, iou, mean_over, sharing_table, total_sharing
from wug.records import Json
from wug.stats.interval import Estimate


@dataclass(frozen=True, kw_only=True)
class FoundMasks:
    """The masks of a network's functions.

    Args:
        masks: Function -> the mask of each seed.
        logits: Function -> for each seed, one logit for every weight.
        full: Function -> score of the full network.
        scores: For each seed, mask -> function -> score.
        inverse: The same under inverted masks.
        curves: Function -> score with more and more of its most likely weights, of the first seed;
            ``random``: mean over functions with weights in random order.
        shares: Of the weights, for the curves.
        controls: Function -> control -> number.
        truth: Function -> precision and recall, where it is known which weights it needs.
        losses: Function -> loss of every step, mean over seeds.
        setting: How the masks were trained, as plain data.
    """

    masks: Mapping[str, Sequence[Mask]]
    logits: Mapping[str, Sequence[Mapping[str, Tensor]]] = field(repr=False)
    full: Mapping[str, float]
    scores: Sequence[Matrix]
    inverse: Sequence[Matrix]
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    shares: Sequence[float] = ()
    controls: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    truth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    losses: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)
    setting: Mapping[str, Json] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Mask:
        """Return the mask of a function, of the first seed."""
        return self.masks[name][0]

    @property
    def names(self) -> list[str]:
        """The functions."""
        return list(self.masks)

    @property
    def num_seeds(self) -> int:
        """Number of masks of each function."""
        return len(next(iter(self.masks.values())))

    def of_seed(self, index: int) -> dict[str, Mask]:
        """Return the masks of one seed."""
        return {name: masks[index] for name, masks in self.masks.items()}

    @property
    def specialise(self) -> Estimate:
        """P_specialize, with an interval over seeds."""
        return with_interval(specialisation(matrix, self.full) for matrix in self.scores)

    @property
    def reuse(self) -> Estimate:
        """P_reuse, with an interval over seeds."""
        return with_interval(reuse(matrix, self.full) for matrix in self.inverse)

    @property
    def matrix(self) -> Matrix:
        """Mask -> function -> score, the mean over seeds."""
        return {n: mean_over([m[n] for m in self.scores]) for n in self.names}

    @property
    def inverse_matrix(self) -> Matrix:
        """Inverted mask -> function -> score, the mean over seeds."""
        return {n: mean_over([m[n] for m in self.inverse]) for n in self.names}

    @property
    def sharing(self) -> dict[str, dict[str, float]]:
        """Function -> parameter -> share that other functions need, too; the mean over seeds."""
        tables = [sharing_table(self.of_seed(i)) for i in range(self.num_seeds)]
        return {name: mean_over([table[name] for table in tables]) for name in self.names}

    @property
    def counts(self) -> dict[str, float]:
        """Function -> number of weights that are kept, the mean over seeds."""
        return {n: float(np.mean([m.count for m in masks])) for n, masks in self.masks.items()}

    def overlaps(self) -> dict[str, dict[str, float]]:
        """Return "first, second" -> iou and io_min, the means over seeds."""
        found = {}
        for first, second in combinations(self.names, 2):
            pairs = list(zip(self.masks[first], self.masks[second], strict=True))
            found[f"{first}, {second}"] = {
                "iou": float(np.mean([iou(a, b) for a, b in pairs])),
                "io_min": float(np.mean([io_min(a, b) for a, b in pairs])),
            }
        return found

    def areas(self) -> dict[str, float]:
        """Return the area under each curve."""
        return {name: area(self.shares, values) for name, values in self.curves.items()}

    def to_json(self) -> dict[str, Any]:
        """Return everything but masks and logits as plain data, for pages."""
        many = len(self.names) > 1
        return {
            "functions": self.names,
            "num_seeds": self.num_seeds,
            "num_weights": len(self[self.names[0]]),
            "counts": self.counts,
            "full": dict(self.full),
            "matrix": self.matrix,
            "inverse": self.inverse_matrix,
            "specialise": _plain(self.specialise) if many else None,
            "reuse": _plain(self.reuse) if many else None,
            "sharing": self.sharing if many else {},
            "total_sharing": total_sharing(list(self.of_seed(0).values())) if many else None,
            "overlaps": self.overlaps(),
            "shares": list(self.shares),
            "curves": {name: list(values) for name, values in self.curves.items()},
            "areas": self.areas() if self.curves else {},
            "controls": {name: dict(values) for name, values in self.controls.items()},
            "truth": {name: dict(values) for name, values in self.truth.items()},
            "layers": {n: len(m) for n, m in self[self.names[0]].per_parameter()},
            "layer_counts": {n: self.masks[n][0].counts for n in self.names},
            "setting": dict(self.setting),
        }

    def save(self, path: Path | str) -> None:
        """Write the masks of all functions and seeds; `load_masks` reads them.

        Args:
            path: The file; masks are called ``add`` and, of further seeds, ``add seed 1``.
        """
        named = {
            name if index == 0 else f"{name} seed {index}": mask
            for name, masks in self.masks.items()
            for index, mask in enumerate(masks)
        }
        save_masks(path, named, setting=self.setting)


def _plain(estimate: Estimate) -> dict[str, float | None]:
    numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: float(v) if np.isfinite(v) else None for name, v in numbers.items()}
