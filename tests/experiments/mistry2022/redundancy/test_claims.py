"""The claims on redundant inputs, judged on tables made by hand."""

from wug.experiments.mistry2022.redundancy.claims import CLAIMS, LARGE, NARROW, RANGES
from wug.study.claims import Cell, Table


def table(inalu, nau):
    cells = {("inalu", "add", r): Cell(inalu(r), 25) for r in RANGES}
    for operation in ("add", "sub"):
        cells |= {("nau", operation, r): Cell(nau(r), 25) for r in RANGES}
    return Table(cells)


def verdicts(judged):
    return [claim.evaluate(judged).verdict.value for claim in CLAIMS]


def test_held_where_the_figures_show_it():
    judged = table(lambda r: 25 if r in LARGE else 0, lambda r: 5 if r in NARROW else 25)
    assert verdicts(judged) == ["held"] * 4


def test_broken_where_everything_is_solved():
    assert verdicts(table(lambda r: 25, lambda r: 25)) == ["broken"] * 4


def test_undecided_without_runs():
    assert verdicts(Table({})) == ["undecided"] * 4
