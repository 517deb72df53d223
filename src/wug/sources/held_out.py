"""Which items a set lends to another set: the same ones on every machine, in any order."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence


def held_out(items: Sequence[str], strata: Sequence[str], share: float, name: str) -> list[bool]:
    """Choose a share of the items of every stratum, by a hash of their text.

    What is chosen depends on the items alone, not on their order. An item that is there several
    times stays: it was put there as often for a reason.

    Args:
        items: The items.
        strata: For each item what it counts for; of each stratum the same share is chosen, rounded
            down.
        share: Share to choose, from 0 to 1.
        name: Another name gives another choice.

    Example:
        >>> items = ["a", "b", "c", "d", "d", "d"]
        >>> chosen = held_out(items, ["one"] * 6, 0.5, "validation")
        >>> sum(chosen), any(chosen[3:])
        (3, False)
    """
    counts, members = Counter(items), defaultdict(list)
    for place, (item, stratum) in enumerate(zip(items, strata, strict=True)):
        members[stratum].append((_rank(name, item), place, item))
    chosen = [False] * len(items)
    for ranked in members.values():
        single = sorted(entry for entry in ranked if counts[entry[2]] == 1)
        for _, place, _ in single[: int(share * len(ranked) + 1e-9)]:
            chosen[place] = True
    return chosen


def _rank(name: str, item: str) -> bytes:
    return hashlib.blake2b(f"{name}\0{item}".encode(), digest_size=8).digest()
