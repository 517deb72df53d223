"""Errors relative to those of an untrained model, as tables 7 and 9 of trask2018 have them.

The paper divides by the score of a randomly initialised model, row "random": 100 % is as bad as
that, 0 % is perfect.
"""

from collections.abc import Callable, Iterable
from itertools import product

from wug.study.claims import Table
from wug.study.judgements import Judgement, all_of, negate
from wug.study.predicates import lower_error

BASELINE = "random"

Judge = Callable[[Table, str, str, float, bool], Judgement]


def below(
    table: Table, model: str, operation: str, per_cent: float, iid: bool = False
) -> Judgement:
    """Judge whether a model's error is below this share of the untrained model's."""
    model_entry, random = table.at(model, operation), table.at(BASELINE, operation)
    return lower_error(model_entry, random, per_cent / 100, iid)


def above(
    table: Table, model: str, operation: str, per_cent: float, iid: bool = False
) -> Judgement:
    """Judge whether a model's error is at least this share of the untrained model's."""
    return negate(below(table, model, operation, per_cent, iid))


def each(
    judge: Judge,
    models: Iterable[str],
    operations: Iterable[str],
    per_cent: float,
    iid: bool = False,
) -> Callable[[Table], Judgement]:
    """Return what judges `above` or `below` on every pair of a model and an operation."""
    pairs = tuple(product(models, operations))
    return lambda table: all_of(judge(table, *pair, per_cent, iid) for pair in pairs)
