"""The claims on sequences, judged on tables made by hand."""

from wug.experiments.faber2020.nsr_sequences.claims import CLAIMS, LENGTHS
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table


def verdicts(minimum, counting):
    cells = {}
    for task, errors in (("minimum", minimum), ("counting", counting)):
        for length, e in zip(LENGTHS, errors, strict=False):
            cells["nsr", task, str(length)] = Cell(
                None, 10, {"error": Estimate.given(e, 0.9 * e, 1.1 * e)}
            )
    return [claim.evaluate(Table(cells)).verdict.value for claim in CLAIMS]


def test_held_as_the_primer_says():
    assert verdicts([0.0, 0.1, 0.1, 0.2], [0.1, 0.2, 0.4, 1.0]) == ["held", "held"]


def test_broken_by_one_length_and_by_a_steady_count():
    assert verdicts([0.0, 0.1, 0.1, 2.0], [0.1, 0.1, 0.1, 0.05]) == ["broken", "broken"]


def test_undecided_without_runs():
    assert verdicts([], []) == ["undecided"] * 2
