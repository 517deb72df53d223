"""The claims on the minimal and simple tasks, judged on tables made by hand."""

from itertools import product

from wug.experiments.schlor2020.single_layer.claims import CLAIMS, DISTRIBUTIONS, INPUTS
from wug.study.claims import Cell, Table

OPERATIONS = ("add", "sub", "mul", "div")


def table(successes):
    keys = product(("nalu", "inalu"), OPERATIONS, INPUTS, DISTRIBUTIONS)
    return Table({key: Cell(successes(*key), 10) for key in keys})


def verdicts(judged):
    return {claim.key: claim.evaluate(judged).verdict.value for claim in CLAIMS}


def as_told(unit, operation, inputs, distribution):
    exponential = distribution.startswith("E")
    if unit == "nalu":
        return 8 if exponential and inputs == "10" else 2 if operation != "div" else 4
    if operation == "div":
        return 4 if inputs == "2" else 1
    if operation == "mul" and distribution == "E(5)":
        return 0 if inputs == "2" else 10
    return 10


def test_held_as_told():
    assert verdicts(table(as_told)) == dict.fromkeys(verdicts(Table({})), "held")


def test_broken_where_units_and_inputs_do_not_differ():
    judged = verdicts(table(lambda *key: 10))
    assert judged.pop("division_is_comparable") == "held"
    assert set(judged.values()) == {"broken"}


def test_undecided_without_runs():
    assert set(verdicts(Table({})).values()) == {"undecided"}
