from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from wug.experiments.madsen2020.input_range.claims import CLAIMS, MODELS, NARROW, RANGES
from wug.study.claims import Cell, Table
from wug.study.judgements import Verdict

SUPPORTS, FAILS = "nmu_supports_all_ranges", "no_model_learns_the_narrow_range"


def verdicts(successes: dict[tuple[str, str], int], runs: int = 50) -> dict[str, Verdict]:
    table = Table({key: Cell(count, runs) for key, count in successes.items()})
    return {claim.key: claim.evaluate(table).verdict for claim in CLAIMS}


def grid(nmu: int, others: int, narrow: int) -> dict[tuple[str, str], int]:
    cells = {key: nmu if key[0] == "nmu" else others for key in product(MODELS, RANGES)}
    cells |= {("nac_mul", span): 0 for span in RANGES}
    return cells | {(model, NARROW): narrow for model in MODELS}


def test_as_section_4_has_it():
    ours = verdicts(grid(nmu=50, others=30, narrow=0))
    assert {key for key, verdict in ours.items() if verdict is not Verdict.HELD} == {SUPPORTS}
    assert ours[SUPPORTS] is Verdict.BROKEN


def test_as_the_conclusion_has_it():
    ours = verdicts(grid(nmu=50, others=30, narrow=50))
    assert {key for key, verdict in ours.items() if verdict is not Verdict.HELD} == {FAILS}
    assert ours[FAILS] is Verdict.BROKEN


def test_otherwise():
    ours = verdicts(grid(nmu=0, others=0, narrow=0))
    assert {key for key, verdict in ours.items() if verdict is Verdict.HELD} == {FAILS}


@given(st.integers(1, 100).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_section_4_and_conclusion_exclude_each_other(narrow):
    count, runs = narrow
    ours = verdicts({key: count for key in product(MODELS, RANGES)}, runs)
    assert [ours[SUPPORTS], ours[FAILS]].count(Verdict.HELD) < 2
    assert ours[FAILS] is not Verdict.HELD or ours[SUPPORTS] is Verdict.BROKEN
