"""CTL++ (Csordás et al., 2022): table lookup, with functions in groups.

In training, functions of some groups are never applied one after the other; in the tests they are.
Only who writes a symbol in the same way whichever function it comes from can put them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.sources.problem_shares import equal_shares, iid_shares, proportional_shares
from wug.sources.sampling_graph import (
    END,
    START,
    SamplingGraph,
    draw_sets,
    overlapping_symbols,
)
from wug.sources.sequences import SPLITS, SequenceSet, SequenceTask, Split
from wug.sources.table_lookup import (
    FUNCTION_NAMES,
    bijections,
    chain,
    look_up,
    read_problem,
    require_tables,
    write_problems,
)


@register(
    "task",
    name="CTL++",
    references=("csordas2023", "csordas2022ctl"),
    equation=r"y = f_n(\dots f_2(f_1(s))), \qquad f_i \in G_{g_i}, \quad (g_i, g_{i+1}) \in E",
    failure_modes=(
        "Groups that never meet in training may write the same symbol in different ways.",
    ),
    claim="systematicity",
    splits=list(SPLITS),
    interface="tokens",
)
@dataclass(frozen=True, kw_only=True)
class CTLpp(SequenceTask):
    """Functions known by their tables, in groups that follow each other otherwise in the tests.

    A, alternating: in training, a function of one group follows one of the other; in the OOD sets,
    one of its own. R, repeating: the other way round. S, staged: a function of a path's first
    stage, then one of its second stage, and so on, on either path; in the OOD sets the second stage
    is the other path's. In training, some functions are in the second stage of both paths.

    Problems are written as ``c b a 3``, for c(b(a(3))). Tokens are the symbols as digits, then the
    functions as letters, upper case after lower case. As many problems of each length, as far as
    there are as many; IID validation is taken out in proportion.

    Equation (csordas2023, Sec. 6.2): y = f_n(... f_2(f_1(s))), f_i in group g_i, g_i -> g_(i+1) an
    edge of the sampling graph.

    Notation:
        G_a, G_b, G_a1, G_a2, G_b1, G_b2, G_o -> groups; |G_o| -> num_overlap_functions.

    Departures:
        The OOD test is two sets of the same kind here, for validation and for test.
        As published (``version="as_published"``) there are no single functions but all pairs that
        training allows, beside the training problems and so in part twice, and no more than half
        of all problems of a length. Draws are ours, as most of the published ones had no seed; no
        pair is for IID validation, where some were although they are in training; half of all
        problems is of the true number, which the published code overcounts for S from length 4 on.

    Args:
        variant: ``"A"``, ``"R"`` or ``"S"``.
        version: ``"text"`` or ``"as_published"``.
        num_overlap_functions: S: how many functions are on both paths. The rest are shared out to
            the groups evenly.
        num_overlap_symbols: S: how many symbols each of these gets from both paths; the others it
            gets half from one path, half from the other.
        longest: Largest number of functions.
        num_train: Number of training problems.
        num_evaluation: Number of problems of each other set.
        num_functions: Number of functions.
        num_symbols: Number of symbols.
        seed: Another one gives other tables and problems.

    Raises:
        UserError: For an unknown variant or version, numbers out of range, or more problems than
            there are.

    Example:
        >>> task = CTLpp(variant="S")
        >>> {name: len(functions) for name, functions in task.groups.items()}
        {'o': 8, 'a1': 6, 'a2': 6, 'b1': 6, 'b2': 6}
        >>> task.tokens[:3], task.tokens[8:11], task.tokens[-1]
        (('0', '1', '2'), ('a', 'b', 'c'), 'F')

    References:
        csordas2023, csordas2022ctl
    """

    variant: Literal["A", "R", "S"] = "A"
    version: Literal["text", "as_published"] = "text"
    num_overlap_functions: int = 8
    num_overlap_symbols: int = 4
    longest: int = 6
    num_train: int = 300_000
    num_evaluation: int = 1_000
    num_functions: int = 32
    num_symbols: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("CTLpp", "variant", self.variant, ("A", "R", "S"))
        require_choice("CTLpp", "version", self.version, ("text", "as_published"))
        require_tables("CTLpp", self.num_functions, self.num_symbols)
        require_at_least("CTLpp", "num_functions", self.num_functions, 2)
        require_at_least("CTLpp", "longest", self.longest, 2)
        singles = 1 if self.variant == "S" else self.num_functions * self.num_symbols
        require_at_least("CTLpp", "num_train", self.num_train, singles)
        require_at_least("CTLpp", "num_evaluation", self.num_evaluation, 1)
        if self.variant == "S" and not 0 <= self.num_overlap_functions <= self.num_functions - 4:
            raise UserError(
                "CTLpp: num_overlap_functions must leave one for each of the other four groups; "
                f"got {self.num_overlap_functions} of {self.num_functions}."
            )
        if not 1 <= self.num_overlap_symbols <= self.num_symbols:
            raise UserError(
                f"CTLpp: num_overlap_symbols must be from 1 to {self.num_symbols}; "
                f"got {self.num_overlap_symbols}."
            )

    @cached_property
    def tables(self) -> NDArray[np.int64]:
        """What each function makes of each symbol: (function, symbol)."""
        return bijections(self.num_functions, self.num_symbols, self._rng("tables"))

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Functions of each group, as rows of `tables`; tokens have as many symbols before them."""
        functions = np.arange(self.num_functions)
        shared = self.num_overlap_functions if self.variant == "S" else 0
        names = ("a1", "a2", "b1", "b2") if self.variant == "S" else ("a", "b")
        parts = np.array_split(functions[shared:], len(names))
        groups = {name: tuple(part.tolist()) for name, part in zip(names, parts, strict=True)}
        return {"o": tuple(range(shared))} | groups if self.variant == "S" else groups

    @cached_property
    def tokens(self) -> tuple[str, ...]:  # type: ignore[override]
        """The symbols, then the functions."""
        return (*self.classes, *FUNCTION_NAMES[: self.num_functions])

    @cached_property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The symbols."""
        return tuple(map(str, range(self.num_symbols)))

    def graph(self, *, training: bool) -> SamplingGraph:
        """Return what may follow what, in training and IID validation or in the OOD sets."""
        edges: dict[tuple[str, str], NDArray[np.bool_] | None]
        if self.variant == "S":
            crossed = {("a1", "b2"): None, ("b1", "a2"): None}
            straight = {("a1", "a2"): None, ("b1", "b2"): None}
            edges = {(START, "a1"): None, (START, "b1"): None}
            edges |= {(g, h): None for g in ("a2", "b2", "o") for h in ("a1", "b1", END)}
            edges |= straight | self._overlap if training else crossed
        else:
            edges = {(START, "a"): None, (START, "b"): None, ("a", END): None, ("b", END): None}
            alternate = {("a", "b"): None, ("b", "a"): None}
            repeat = {("a", "a"): None, ("b", "b"): None}
            edges |= alternate if training == (self.variant == "A") else repeat
        return SamplingGraph(tables=self.tables, groups=self.groups, edges=edges)

    @property
    def _overlap(self) -> dict[tuple[str, str], NDArray[np.bool_] | None]:
        num_functions, num_shared = self.num_overlap_functions, self.num_overlap_symbols
        rng = self._rng("overlap")
        after_a, after_b = overlapping_symbols(num_functions, self.num_symbols, num_shared, rng)
        return {("a1", "o"): after_a, ("b1", "o"): after_b}

    def _rng(self, purpose: str) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=stream_key("ctlpp", purpose, self.seed)))

    def _possible(self, graph: SamplingGraph, shortest: int) -> dict[int, int]:
        counts = {length: graph.count(length) for length in range(shortest, self.longest + 1)}
        return {length: count for length, count in counts.items() if count}

    def _iid(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Draw training and IID validation problems."""
        graph = self.graph(training=True)
        if self.version == "text":
            possible = self._possible(graph, shortest=1)
            shares = iid_shares(self.num_train, self.num_evaluation, possible)
            train, validation = draw_sets(graph, shares, self._rng("iid"))
            return train, validation
        halves = {length: count // 2 for length, count in self._possible(graph, 2).items()}
        pool = equal_shares(self.num_train + self.num_evaluation, halves)
        longer = {length: count for length, count in pool.items() if length > 2}
        held_out = {2: 0} | proportional_shares(self.num_evaluation, longer)
        rest = {length: pool[length] - held_out[length] for length in pool}
        train, validation = draw_sets(graph, (rest, held_out), self._rng("iid"))
        return [*train, graph.problems(2, np.arange(graph.count(2)))], validation

    def _ood(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Draw problems for OOD validation and test."""
        graph = self.graph(training=False)
        pool = equal_shares(2 * self.num_evaluation, self._possible(graph, shortest=2))
        test = proportional_shares(self.num_evaluation, pool)
        rest = {length: pool[length] - test[length] for length in pool}
        validation, tests = draw_sets(graph, (rest, test), self._rng("ood"))
        return validation, tests

    def generate(self, split: Split) -> SequenceSet:
        """Make a split anew; lengths one after the other."""
        first, second = self._iid() if split in ("train", "validation") else self._ood()
        parts = first if split in ("train", "ood_validation") else second
        return write_problems(self.tables, parts, symbol_first=False)

    def dependencies(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """Return for each function the place of what it is applied to."""
        return chain(len(tokens), symbol_first=False)

    def answer(self, tokens: Sequence[int]) -> int:
        """Return the symbol that comes out, whether or not a split allows for the problem."""
        problem = read_problem("CTLpp", self.tables, tokens, symbol_first=False)
        return int(look_up(self.tables, problem)[0])
