"""Compositional table lookup (Liska et al., 2018; lengths as Csordás et al., 2022).

Functions of eight symbols, known by their tables alone, are applied one after the other. Train on
few functions in a row, test on more: who has learnt to look up one at a time gets any number right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.interfaces.interface import SPLITS, Split
from wug.records import Json
from wug.sources.problem_shares import equal_shares, iid_shares
from wug.sources.sampling_graph import END, START, SamplingGraph, draw_sets
from wug.sources.sequence_set import SequenceSet
from wug.sources.sequence_task import SequenceTask
from wug.sources.table_lookup import (
    FUNCTION_NAMES,
    bijections,
    chain,
    look_up,
    read_problem,
    require_tables,
    write_problems,
)
from wug.tasks.productivity import _ctl_as_published as ctl_as_published

Lengths = tuple[int, int]
# What the published data leaves to choose.
FREE = ("order", "version", "ood_validation_lengths", "test_lengths")


@register(
    "task",
    name="CTL",
    references=("csordas2023", "csordas2022", "liska2018", "hupkes2019", "dubois2020"),
    equation=r"y = f_n(\dots f_2(f_1(s)))",
    failure_modes=(
        "Read towards the symbol (backward), a recurrent network has to remember every function.",
    ),
    claim="productivity",
    splits=list(SPLITS),
    interface="tokens",
)
@dataclass(frozen=True, kw_only=True)
class CTL(SequenceTask):
    """Functions known by their tables, applied one after the other; longer in the tests.

    Tokens are the symbols as bits, then the functions as letters. Lengths count functions, without
    the symbol. All single functions are in the training set; the other lengths have equally many
    problems, as far as there are as many, and IID validation is taken out in proportion.

    Equation (csordas2023, Sec. 5.2.1): y = f_n(... f_2(f_1(s))); forward ``s f_1 f_2 ... f_n``,
    backward ``f_n ... f_2 f_1 s``.

    Departures:
        None from the text, which gives no sizes but that of the training set. The published data
        (``version="as_published"``) is drawn anew from its own generator: two further functions
        that are only seen alone, and that 31 times; 608 compositions in reserve that are never
        seen; other lengths drawn until there were enough different problems, so that few are short.
        Which of these 61,136 were for training was drawn without a seed; here they are as many of
        each length as in a run of the published code.

    Args:
        order: ``"forward"``, the symbol first, or ``"backward"``, the symbol last.
        version: ``"text"`` or ``"as_published"``.
        train_lengths: Smallest and largest number of functions for training and IID validation.
        ood_validation_lengths: The same for OOD validation. As published, the runs without a gate
            had 6 to 7 here and 8 to 10 in the test.
        test_lengths: The same for the test.
        num_train: Number of training problems.
        num_evaluation: Number of problems of each other set; as published, IID validation has
            4,000.
        num_functions: Number of functions.
        num_symbols: Number of symbols.
        seed: Another one gives other tables and problems.

    Raises:
        UserError: For an unknown order or version, lengths that overlap or are upside down, more
            problems than there are, or other sizes than the published ones for those.

    Example:
        >>> task = CTL(order="forward")
        >>> task.encode("101 d a b"), task.dependencies(task.encode("101 d a b"))
        ([5, 11, 8, 9], [(), (0,), (1,), (2,)])

    References:
        csordas2023, csordas2022, liska2018, hupkes2019, dubois2020
    """

    order: Literal["forward", "backward"] = "backward"
    version: Literal["text", "as_published"] = "text"
    train_lengths: Lengths = (1, 5)
    ood_validation_lengths: Lengths = (6, 8)
    test_lengths: Lengths = (9, 10)
    num_train: int = 53_704
    num_evaluation: int = 1_000
    num_functions: int = 9
    num_symbols: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("CTL", "order", self.order, ("forward", "backward"))
        require_choice("CTL", "version", self.version, ("text", "as_published"))
        require_tables("CTL", self.num_functions, self.num_symbols)
        singles = self.num_functions * self.num_symbols if self.train_lengths[0] == 1 else 1
        require_at_least("CTL", "num_train", self.num_train, singles)
        require_at_least("CTL", "num_evaluation", self.num_evaluation, 1)
        ranges = (self.train_lengths, self.ood_validation_lengths, self.test_lengths)
        ends = [end for lengths in sorted(ranges) for end in (lengths[0] - 1, lengths[1])]
        if ends[0] < 0 or ends != sorted(ends) or any(low > high for low, high in ranges):
            raise UserError(
                "CTL: lengths must be ranges from 1 on that don't overlap, such as (1, 5); "
                f"got {', '.join(map(str, ranges))}."
            )
        changed = [one.name for one in fields(self) if getattr(self, one.name) != one.default]
        fixed = [name for name in changed if name not in FREE]
        if self.version == "as_published" and fixed:
            raise UserError(f"CTL: as published, {', '.join(fixed)} can't be chosen; leave it out.")

    @cached_property
    def tables(self) -> NDArray[np.int64]:
        """What each function makes of each symbol: (function, symbol)."""
        if self.version == "as_published":
            return ctl_as_published.tables()
        return bijections(self.num_functions, self.num_symbols, self._rng("tables"))

    @cached_property
    def tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The symbols, then the functions."""
        return (*self.classes, *FUNCTION_NAMES[: len(self.tables)])

    @cached_property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The symbols."""
        num_bits = (self.num_symbols - 1).bit_length()
        return tuple(f"{symbol:0{num_bits}b}" for symbol in range(self.num_symbols))

    def _rng(self, purpose: str) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=stream_key("ctl", purpose, self.seed)))

    def _draw(self, split: Split) -> list[NDArray[np.int64]]:
        graph = SamplingGraph(
            tables=self.tables,
            groups={"all": tuple(range(self.num_functions))},
            edges={(START, "all"): None, ("all", "all"): None, ("all", END): None},
        )

        def possible(lengths: Lengths) -> dict[int, int]:
            return {length: graph.count(length) for length in range(lengths[0], lengths[1] + 1)}

        if split in ("train", "validation"):
            shares = iid_shares(self.num_train, self.num_evaluation, possible(self.train_lengths))
            train, validation = draw_sets(graph, shares, self._rng("iid"))
            return train if split == "train" else validation
        lengths = self.test_lengths if split == "test" else self.ood_validation_lengths
        share = equal_shares(self.num_evaluation, possible(lengths))
        return draw_sets(graph, [share], self._rng(split))[0]

    def generate(self, split: Split) -> SequenceSet:
        """Make a split anew; lengths one after the other."""
        if self.version == "as_published":
            parts = ctl_as_published.published_problems(
                split, self.ood_validation_lengths, self.test_lengths
            )
        else:
            parts = self._draw(split)
        return write_problems(self.tables, parts, symbol_first=self.order == "forward")

    def description(self) -> dict[str, Json]:
        """Return also the tables, the order, and how many functions are trained and tested."""
        levels: Json = {"train": list(self.train_lengths), "test": list(self.test_lengths)}
        tables: Json = self.tables.tolist()
        return {**super().description(), "levels": levels, "order": self.order, "tables": tables}

    def dependencies(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """Return for each function the place of what it is applied to."""
        return chain(len(tokens), symbol_first=self.order == "forward")

    def answer(self, tokens: Sequence[int]) -> int:
        """Return the symbol that comes out; raise where there is not one symbol in its place."""
        forward = self.order == "forward"
        problem = read_problem("CTL", self.tables, tokens, symbol_first=forward)
        return int(look_up(self.tables, problem)[0])
