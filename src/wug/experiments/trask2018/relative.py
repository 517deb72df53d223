"""Errors relative to those of an untrained model, as tables 7 and 9 of trask2018 have them.

The paper divides by the score of a randomly initialised model, row "random": 100 % is as bad as
that, 0 % is perfect.
"""

from wug.study.claims import Table
from wug.study.judgements import Judgement, negate
from wug.study.predicates import lower_error

__all__ = ["BASELINE", "above", "below"]

BASELINE = "random"


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
