"""The compositional table lookup data that the published results were made with.

It is drawn anew, in the order of the original and from the same generator, all but one thing: which
problems were for training and which for IID validation and test was drawn without a seed. Here as
many problems of each length are for training as in a run of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# A symbol, then functions as applied.
Problem: TypeAlias = tuple[int, ...]
Lengths: TypeAlias = tuple[int, int]

SEED = 0x12345678
NUM_SYMBOLS = 8
NUM_FUNCTIONS = 11
# The others are seen alone only, but each problem of theirs so many times more.
NUM_COMPOSED = 9
NUM_REPEATS = 30
# Training problems by the number of their functions, without the single functions.
TRAIN = {2: 421, 3: 3_788, 4: 20_932, 5: 27_995}
NUM_VALIDATION = 4_000
NUM_OOD = 1_000
# The rest of the problems stood in a set of so many slots before it was cut into test and
# validation. So what was drawn late, where few short problems were left, is for validation.
NUM_SLOTS = 2**15


def distinct(size: int, draw: Callable[[], Problem]) -> dict[Problem, None]:
    """Draw until there are as many different problems, in their order."""
    found: dict[Problem, None] = {}
    while len(found) < size:
        found[draw()] = None
    return found


def tables(rng: np.random.RandomState | None = None) -> NDArray[np.int64]:
    """Draw the tables, which come first from the generator.

    Shape:
        (function, symbol).
    """
    rng = rng or np.random.RandomState(SEED)
    return np.stack([rng.permutation(NUM_SYMBOLS) for _ in range(NUM_FUNCTIONS)])


def reserve(rng: np.random.RandomState) -> set[Problem]:
    """Draw the compositions that are never for training: a quarter of each length, at most 200."""
    reserved: set[Problem] = set()
    for length in range(max(TRAIN) + 1):
        size = len(reserved) + min(200, NUM_COMPOSED**length / 4)
        while len(reserved) < size:
            reserved.add(tuple(rng.randint(NUM_COMPOSED, size=length).tolist()))
    return reserved


@lru_cache(maxsize=1)
def pools(
    ood_validation_lengths: Lengths, test_lengths: Lengths
) -> tuple[dict[Problem, None], dict[Problem, None], dict[Problem, None]]:
    """Draw all composed problems: IID ones for every purpose, OOD validation, OOD test."""
    rng = np.random.RandomState(SEED)
    tables(rng)
    reserved = reserve(rng)
    iid_lengths = (min(TRAIN), max(TRAIN))

    # Compositions are drawn from the outermost function on; problems list the innermost first.
    def composition(lengths: Lengths, num_functions: int = NUM_COMPOSED) -> list[int]:
        functions: list[int] = rng.randint(num_functions, size=lengths[1]).tolist()
        return functions[: rng.randint(lengths[0], lengths[1] + 1)]

    def seen() -> Problem:
        while tuple(functions := composition(iid_lengths)) in reserved:
            pass
        return (rng.randint(NUM_SYMBOLS), *reversed(functions))

    def with_new(function: int) -> Problem:
        symbol, functions = rng.randint(NUM_SYMBOLS), composition(iid_lengths, NUM_COMPOSED + 1)
        functions = [function if one == NUM_COMPOSED else one for one in functions]
        functions[rng.randint(len(functions))] = function
        return (symbol, *reversed(functions))

    def longer(lengths: Lengths) -> Problem:
        return (rng.randint(NUM_SYMBOLS), *reversed(composition(lengths)))

    iid = distinct(sum(TRAIN.values()) + 2 * NUM_VALIDATION, seen)
    # Tests of the functions that are never composed; drawn for what they do to the generator.
    distinct(1_000, lambda: with_new(NUM_COMPOSED))
    distinct(3_000, lambda: with_new(NUM_COMPOSED + 1))
    ood_validation = distinct(NUM_OOD, lambda: longer(ood_validation_lengths))
    return iid, ood_validation, distinct(NUM_OOD, lambda: longer(test_lengths))


def by_length(problems: Iterable[Problem]) -> dict[int, NDArray[np.int64]]:
    """Sort problems by their number of functions."""
    sorted_problems: dict[int, list[Problem]] = {}
    for problem in problems:
        sorted_problems.setdefault(len(problem) - 1, []).append(problem)
    return {length: np.array(sorted_problems[length]) for length in sorted(sorted_problems)}


def published_problems(
    split: str, ood_validation_lengths: Lengths = (6, 8), test_lengths: Lengths = (9, 10)
) -> list[NDArray[np.int64]]:
    """Return the problems of a split.

    Args:
        split: ``"train"``, ``"validation"``, ``"ood_validation"`` or ``"test"``.
        ood_validation_lengths: Smallest and largest number of functions.
        test_lengths: The same for the test.

    Shape:
        (item, 1 + function) for each length: symbols, then functions as applied.
    """
    iid, ood_validation, test = pools(ood_validation_lengths, test_lengths)
    if split in ("ood_validation", "test"):
        return list(by_length(test if split == "test" else ood_validation).values())
    rng = np.random.Generator(np.random.Philox(key=SEED))
    shuffled = {length: rng.permutation(part) for length, part in by_length(iid).items()}
    if split == "validation":
        rest = {tuple(row) for length, part in shuffled.items()
                for row in part[TRAIN[length] :].tolist()}  # fmt: skip
        drawn = [index for index, problem in enumerate(iid) if problem in rest]
        drawn.sort(key=lambda index: index % NUM_SLOTS)
        problems = list(iid)
        # The first half was an IID test.
        return list(by_length(problems[index] for index in drawn[-NUM_VALIDATION:]).values())
    singles = np.array([(s, f) for f in range(NUM_FUNCTIONS) for s in range(NUM_SYMBOLS)])
    repeats = np.tile(singles[NUM_COMPOSED * NUM_SYMBOLS :], (NUM_REPEATS, 1))
    return [singles, repeats, *(part[: TRAIN[length]] for length, part in shuffled.items())]
