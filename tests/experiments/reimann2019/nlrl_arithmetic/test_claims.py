"""The claims on arithmetic, judged on tables made by hand."""

from wug.experiments.reimann2019.nlrl_arithmetic.claims import CLAIMS, RANGES
from wug.study.claims import Cell, Table


def verdicts(successes):
    cells = {
        ("both", operation, name): Cell(number, 20)
        for operation in ("mul", "add_div")
        for name, number in zip(RANGES, successes, strict=False)
    }
    return [claim.evaluate(Table(cells)).verdict.value for claim in CLAIMS]


def test_held_by_a_single_run():
    assert verdicts([0, 0, 1, 0]) == ["held"] * 2


def test_broken_where_nothing_is_solved():
    assert verdicts([0, 0, 0, 0]) == ["broken"] * 2


def test_undecided_without_runs():
    assert verdicts([]) == ["undecided"] * 2
