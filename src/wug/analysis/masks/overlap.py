"""How much two modules have in common: intersections of masks, and sharing by parameter.

References:
    csordas2023, section 3.1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wug.analysis.masks.mask import Mask, union


def iou(first: Mask, second: Mask) -> float:
    """Return intersection over union; NaN if both are empty.

    Equation (csordas2023, section 3.1): IoU = |A and B| / |A or B|.

    Example:
        >>> import torch
        >>> a = Mask({"w": torch.tensor([True, True, False])})
        >>> b = Mask({"w": torch.tensor([False, True, False])})
        >>> iou(a, b), io_min(a, b)
        (0.5, 1.0)
    """
    both = (first | second).count
    return (first & second).count / both if both else float("nan")


def io_min(first: Mask, second: Mask) -> float:
    """Return intersection over the smaller one: 1 if one is part of the other.

    Equation (csordas2023, section 3.1): IoMin = |A and B| / min(|A|, |B|).
    """
    least = min(first.count, second.count)
    return (first & second).count / least if least else float("nan")


def sharing(own: Mask, others: Sequence[Mask]) -> dict[str, float]:
    """Return for each parameter which share of a mask others need, too; NaN where it is empty.

    Equation (csordas2023, figure 3.1): |own and union of others| / |own|.

    Example:
        >>> import torch
        >>> a = Mask({"w": torch.tensor([True, True, False])})
        >>> b = Mask({"w": torch.tensor([False, True, True])})
        >>> sharing(a, [b])
        {'w': 0.5}
    """
    rest = union(others)
    common, counts = (own & rest).counts, own.counts
    return {n: common[n] / counts[n] if counts[n] else float("nan") for n in counts}


def total_sharing(masks: Sequence[Mask]) -> float:
    """Return which share of the weights that any mask keeps at least two of them keep."""
    every = union(masks)
    shared = union([a & b for i, a in enumerate(masks) for b in masks[i + 1 :]])
    return shared.count / every.count if every.count else float("nan")


def sharing_table(masks: Mapping[str, Mask]) -> dict[str, dict[str, float]]:
    """Return name -> parameter -> share that any other mask needs, too."""
    return {
        name: sharing(mask, [other for key, other in masks.items() if key != name])
        for name, mask in masks.items()
    }


def precision_recall(found: Mask, truth: Mask) -> tuple[float, float]:
    """Return which share of what was found is true, and which share of the truth was found."""
    common = (found & truth).count
    precision = common / found.count if found.count else float("nan")
    recall = common / truth.count if truth.count else float("nan")
    return precision, recall


def layer_names(names: Sequence[str]) -> list[str]:
    """Return short names of parameters for figures: without a common beginning.

    Example:
        >>> layer_names(["layers.0.weight", "layers.1.weight"])
        ['0.weight', '1.weight']
    """
    parts = [name.split(".") for name in names]
    common = 0
    while all(len(p) > common + 1 for p in parts) and len({p[common] for p in parts}) == 1:
        common += 1
    return [".".join(p[common:]) for p in parts]


def mean_over(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean by key, without NaN; NaN where nothing is left."""
    found = {}
    for key in values[0]:
        numbers = [v[key] for v in values if not np.isnan(v[key])]
        found[key] = float(np.mean(numbers)) if numbers else float("nan")
    return found
