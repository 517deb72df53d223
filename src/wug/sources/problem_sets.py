"""Sets of problems of which some are held out, drawn in chunks of fixed size.

Chunk after chunk is drawn from a counter-based generator, so a set depends on its key alone, and a
smaller set is the beginning of a larger one. What is held out is decided by a hash of each problem:
sets with disjoint shares have no problem in common, whichever was made first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import pad

from wug.sources.sequences import SequenceSet


def fingerprints(problems: SequenceSet) -> NDArray[np.uint64]:
    """Return 64 bits for each problem: the xor of a random word per place and token.

    Token 0 has the word 0, and so has what stands after the end. So problems must not differ only
    by zeros at the end.
    """
    tokens = problems.tokens.numpy()
    rng = np.random.Generator(np.random.Philox(key=0))
    words = rng.integers(1 << 64, size=(tokens.shape[1], 256), dtype=np.uint64)
    words[:, 0] = 0
    marks = np.zeros(len(tokens), dtype=np.uint64)
    for place in range(tokens.shape[1]):
        marks ^= words[place, tokens[:, place]]
    return marks


def join(parts: Sequence[SequenceSet]) -> SequenceSet:
    """Put sets one after another."""
    width = max(part.tokens.shape[1] for part in parts)
    return SequenceSet(
        tokens=torch.cat([pad(part.tokens, (0, width - part.tokens.shape[1])) for part in parts]),
        lengths=torch.cat([part.lengths for part in parts]),
        labels=torch.cat([part.labels for part in parts]),
        levels=torch.cat([part.levels for part in parts]),
    )


def interleave(parts: Sequence[SequenceSet]) -> SequenceSet:
    """Take a problem from each set in turn, as long as it has any."""
    ranks = torch.cat([torch.arange(len(part)) for part in parts])
    return join(parts)[ranks.argsort(stable=True)]


def collect(
    draw: Callable[[np.random.Generator], SequenceSet],
    size: int,
    key: tuple[int, int],
    *,
    share: tuple[float, float] = (0.0, 1.0),
    distinct: bool = False,
) -> SequenceSet:
    """Draw problems until there are enough.

    Args:
        draw: Draws a chunk of problems.
        size: Number of problems wanted.
        key: Two words that name the set, from `wug.functional.streams.stream_key`.
        share: Which problems may be in the set: those whose hash, as a number from 0 to 1, is at
            least the first and below the second.
        distinct: Whether a problem may be in the set once only.
    """
    low, high = share
    parts: list[SequenceSet] = []
    known = np.empty(0, dtype=np.uint64)
    for chunk in count():
        drawn = draw(np.random.Generator(np.random.Philox(key=key, counter=(0, 0, 0, chunk))))
        marks = fingerprints(drawn)
        kept = (low <= marks / 2.0**64) & (marks / 2.0**64 < high)
        if distinct:
            first = np.zeros_like(kept)
            first[np.unique(marks, return_index=True)[1]] = True
            kept &= first & ~np.isin(marks, known)
        parts.append(drawn[torch.from_numpy(kept)])
        known = np.concatenate([known, marks[kept]])
        if len(known) >= size:
            break
    return join(parts)[:size]
