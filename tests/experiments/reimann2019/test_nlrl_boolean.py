"""The claims on boolean functions, judged on tables made by hand."""

from wug.experiments.reimann2019.nlrl_boolean import CLAIMS
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.tasks.extrapolation.boolean import FUNCTIONS


def cell(successes, steps):
    return Cell(successes, 100, {"solved_at": Estimate.given(steps, 0.9 * steps, 1.1 * steps)})


def verdicts(one, eight, sixteen, steps_both, steps_and):
    cells = {}
    for operators, steps in (("both", steps_both), ("and", steps_and)):
        for units, successes in (("1", one), ("8", eight), ("16", sixteen)):
            cells |= {(operators, units, f): cell(successes, steps) for f in FUNCTIONS}
    return [claim.evaluate(Table(cells)).verdict.value for claim in CLAIMS]


def test_held_as_the_primer_says():
    assert verdicts(40, 100, 100, steps_both=300.0, steps_and=600.0) == ["held"] * 4


def test_broken_where_eight_units_fail_and_sixteen_do_not():
    assert verdicts(40, 20, 90, steps_both=600.0, steps_and=300.0) == ["broken"] * 4


def test_undecided_without_runs():
    assert {claim.evaluate(Table({})).verdict.value for claim in CLAIMS} == {"undecided"}
