"""Multi-query associative recall (Arora et al., 2024): many keys, each asked once more.

Pairs of a key and a value stand first, as tokens; then keys come back, some soon and a few late,
and each time its value is due. It tells apart language models that perplexity does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.sources.step_batch import (
    SPLITS,
    StepBatch,
    StepTask,
    draw_distinct,
    size_and_data_generators,
)

# Number of tokens of a sequence, and of the pairs in it.
Size = tuple[int, int]


@register(
    "task",
    name="Multi-query recall",
    references=("arora2024",),
    equation=r"y_t = v_j \text{ where } x_t = k_j",
    failure_modes=("A state of fixed size holds so many pairs and no more.",),
    claim="memory",
    splits=list(SPLITS),
    interface="steps",
)
@dataclass(frozen=True, kw_only=True)
class MultiQueryRecall(StepTask):
    """Return the value of a key that was seen before; longer sequences with more pairs in tests.

    Token 0 is blank; keys are the rest of the lower half of the vocabulary, values the upper half.
    After the pairs, keys stand at even distances: of n slots, slot i with a probability
    proportional to i^(power - 1). The value is due in the step in which its key is seen again.

    Equation (arora2024, section 3): y_t = v_j where x_t = k_j.

    Departures:
        None from the text; sizes and gaps are those of its code. In its tests lengths are those of
        training or longer ones, as here.

    Args:
        vocabulary: Number of tokens.
        train_sizes: Length and number of pairs in training; a batch has one of them.
        ood_validation_sizes: The same for OOD validation.
        test_sizes: The same for the test.
        power: How far away keys come back: 1 is uniform, 0.01 mostly soon.
        filler: What stands where there is no key: ``"random"`` tokens, or ``"blank"``.

    Raises:
        UserError: For sequences without room for their pairs, or a vocabulary with too few keys.

    Example:
        >>> task = MultiQueryRecall(vocabulary=200, train_sizes=((16, 2),), filler="blank")
        >>> batch = task.batch("train", size=1)
        >>> batch.asked.sum().item(), bool(batch.inputs[0, 0] < 100 <= batch.inputs[0, 1])
        (2, True)

    References:
        arora2024
    """

    vocabulary: int = 8_192
    train_sizes: tuple[Size, ...] = ((64, 4), (128, 8), (256, 16))
    ood_validation_sizes: tuple[Size, ...] = ((512, 32),)
    test_sizes: tuple[Size, ...] = ((1024, 64),)
    power: float = 0.01
    filler: Literal["random", "blank"] = "random"

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("MultiQueryRecall", "filler", self.filler, ("random", "blank"))
        if not self.power > 0:
            raise UserError(f"MultiQueryRecall: power must be above 0; got {self.power}.")
        for length, pairs in (*self.train_sizes, *self.ood_validation_sizes, *self.test_sizes):
            require_at_least("MultiQueryRecall", "number of pairs", pairs, 1)
            if 4 * pairs > length:
                raise UserError(
                    f"MultiQueryRecall: {pairs} pairs and their questions need {4 * pairs} steps; "
                    f"got {length}."
                )
            require_at_least("MultiQueryRecall", "vocabulary", self.vocabulary, 2 * pairs + 2)

    @property
    def in_features(self) -> int:
        """Size of the vocabulary."""
        return self.vocabulary

    @property
    def out_features(self) -> int:
        """Number of classes: all tokens."""
        return self.vocabulary

    def sizes(self, split: str) -> tuple[Size, ...]:
        """Return lengths and numbers of pairs of a split."""
        require_choice("MultiQueryRecall", "split", split, SPLITS)
        others = {"ood_validation": self.ood_validation_sizes, "test": self.test_sizes}
        return others.get(split, self.train_sizes)

    def levels(self, split: str) -> tuple[int, ...]:
        """Return the numbers of pairs that a split is evaluated at."""
        return tuple(dict.fromkeys(pairs for _, pairs in self.sizes(split)))

    def batch(
        self, split: str, *, seed: int = 0, step: int = 0, size: int = 16, level: int | None = None
    ) -> StepBatch:
        """Make a batch, the same on every machine; all its rows have as many steps and pairs.

        Args:
            split: One of `SPLITS`.
            seed: Of the data.
            step: Number of the batch.
            size: Number of sequences.
            level: Number of pairs: one of those of the split, instead of a drawn one.
        """
        sizes = self.sizes(split)
        drawn, generator = size_and_data_generators("multi_query_recall", split, seed, step)
        if level is not None:
            sizes = tuple(one for one in sizes if one[1] == level)
        if not sizes:
            raise UserError(f"MultiQueryRecall: {split} has no sequences of {level} pairs.")
        length, pairs = sizes[int(torch.randint(len(sizes), (), generator=drawn))]

        half = self.vocabulary // 2
        keys = 1 + draw_distinct(size, pairs, half - 1, generator)
        values = half + draw_distinct(size, pairs, self.vocabulary - half, generator)
        slots = torch.arange(1, (length - 2 * pairs) // 2 + 1)
        chances = slots.double().pow(self.power - 1).expand(size, -1)
        chosen = torch.multinomial(chances, pairs, replacement=False, generator=generator)
        places = 2 * pairs + 2 * chosen

        inputs = torch.zeros(size, length, dtype=torch.int64)
        if self.filler == "random":
            inputs = torch.randint(self.vocabulary, (size, length), generator=generator)
        inputs[:, : 2 * pairs : 2], inputs[:, 1 : 2 * pairs : 2] = keys, values
        inputs.scatter_(1, places, keys)
        targets = torch.zeros_like(inputs).scatter(1, places, values)
        asked = torch.zeros_like(inputs, dtype=torch.bool).scatter(1, places, True)
        return StepBatch(inputs, targets, asked, torch.full((size,), pairs))
