"""The claims on magnitudes, judged on tables made by hand."""

from itertools import product

from wug.experiments.schlor2020.magnitude import CLAIMS, MAGNITUDES, magnitude
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions

OPERATIONS = ("add", "sub", "mul", "div")


def table(successes, error):
    cells = {}
    for key in product(("nalu", "inalu"), OPERATIONS, MAGNITUDES):
        value = error(float(key[-1]))
        known = {"error": Estimate.given(value, 0.9 * value, value)}
        cells[key] = Cell(successes(*key), 100, known)
    return Table(cells)


def verdicts(judged):
    return [claim.evaluate(judged).verdict.value for claim in CLAIMS]


def test_held_as_told():
    def successes(unit, operation, magnitude):
        return 0 if unit == "nalu" and float(magnitude) > 1 else 100

    assert verdicts(table(successes, lambda size: size**2)) == ["held"] * 4


def test_broken_the_other_way_round():
    def successes(unit, operation, magnitude):
        return 100 if unit == "nalu" else 20 * MAGNITUDES.index(magnitude)

    assert verdicts(table(successes, lambda size: 1 / size)) == ["broken"] * 4


def test_undecided_without_runs():
    assert verdicts(Table({})) == ["undecided"] * 4


def test_task_of_a_magnitude():
    options = RunOptions(scale="smoke", only=("inalu:mul",), ranges=("0.1",))
    ((variant,),) = (lot.variants for lot in magnitude(options).lots)
    made = variant.task
    assert (made.train, made.test) == ("U(-0.1,0.1)", "U(-0.2,-0.1)")
