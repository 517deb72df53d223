"""The claims on piecewise functions, judged on tables made by hand."""

from wug.experiments.faber2020.nsr_piecewise.claims import CLAIMS
from wug.study.claims import Cell, Table


def verdicts(**successes):
    judged = Table({("nau", name): Cell(number, 10) for name, number in successes.items()})
    return [claim.evaluate(judged).verdict.value for claim in CLAIMS]


def test_held_as_the_primer_says():
    assert verdicts(difference=10, greater=0, equal=1) == ["held", "held"]


def test_broken_the_other_way_round():
    assert verdicts(difference=0, greater=0, equal=10) == ["broken", "broken"]


def test_undecided_without_runs():
    assert verdicts() == ["undecided"] * 2
