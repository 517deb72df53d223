import subprocess
import sys
from collections import Counter

import pytest

from wug.experiments.mistry2022._single_module_claims import CLAIMS, RANGES, ROWS
from wug.stats.wilson import wilson
from wug.study.claims import Table
from wug.study.judgements import Verdict
from wug.study.published import Printed, PublishedCell, published_table, read_published

CELLS = read_published(
    "wug.experiments.mistry2022.single_module", ("unit", "operation", "range"), trials=25
)

# Success in per cent of 25 seeds (mistry2022, tables 9-12), in the order of RANGES.
SUCCESS = {
    ("nac_add", "add"): (84, 64, 28, 0, 40, 0, 68, 36, 84),
    ("gnalu", "add"): (8, 0, 0, 24, 0, 12, 0, 0, 4),
    ("inalu", "add"): (100,) * 9,
    ("nalu", "add"): (68, 64, 40, 52, 0, 16, 80, 76, 20),
    ("nau", "add"): (100,) * 9,
    ("nac_add", "sub"): (84, 20, 0, 0, 52, 0, 20, 0, 84),
    ("gnalu", "sub"): (4, 0, 0, 0, 0, 0, 0, 0, 20),
    ("inalu", "sub"): (100, 100, 40, 100, 100, 100, 100, 56, 100),
    ("nalu", "sub"): (20, 12, 0, 0, 0, 0, 12, 0, 84),
    ("nau", "sub"): (100,) * 9,
    ("nac_mul", "mul"): (88, 0, 0, 0, 0, 0, 0, 0, 88),
    ("gnalu", "mul"): (16, 0, 0, 0, 0, 32, 0, 0, 16),
    ("inalu", "mul"): (12, 68, 12, 100, 100, 4, 100, 100, 100),
    ("nalu", "mul"): (52, 12, 0, 0, 0, 60, 8, 0, 84),
    ("nmu", "mul"): (100, 80, 68, 100, 100, 100, 100, 100, 100),
    ("npu", "mul"): (0, 0, 0, 0, 40, 12, 100, 28, 84),
    ("real_npu", "mul"): (0, 0, 0, 0, 8, 12, 100, 28, 84),
    ("nac_mul", "div"): (16, 8, 0, 0, 0, 0, 8, 0, 16),
    ("gnalu", "div"): (0,) * 9,
    ("inalu", "div"): (0, 0, 0, 0, 0, 100, 100, 100, 20),
    ("nalu", "div"): (0,) * 9,
    ("npu", "div"): (0, 0, 0, 0, 0, 88, 100, 16, 4),
    ("real_npu", "div"): (4, 84, 12, 32, 0, 88, 100, 16, 4),
}

# The claims that the paper's own tables contradict.
BROKEN = {
    # Table 10 prints 2.7e-7 on U[-1.2,-1.1) and 3.2e-7 on U[1.1,1.2), not the floor of 1.0e-16.
    "nau_subtracts_perfectly_sparsely",
    # On the same two ranges iNALU has the smaller error: 1.3e-8 and 4.4e-8.
    "inalu_subtracts_less_sparsely_than_nau",
    # Table 12 has NPU and RealNPU at 100 % on U[1,2), as the paragraph itself says next.
    "only_inalu_divides_a_range",
}

CLAIM_IDS = [claim.key for claim in CLAIMS]


def published(unit: str, operation: str, span: str) -> PublishedCell:
    return {row.key: row for row in CELLS}[unit, operation, span]


def test_every_row_of_the_tables_is_there():
    keys = [row.key for row in CELLS]
    assert len(keys) == len(set(keys)) == 207
    assert set(keys) == {(*row, span) for row in SUCCESS for span in RANGES}
    assert set(ROWS) == set(SUCCESS)
    assert Counter(row.source for row in CELLS) == {
        "Table 9": 45,
        "Table 10": 45,
        "Table 11": 63,
        "Table 12": 54,
    }


@pytest.mark.parametrize("row", SUCCESS, ids=" ".join)
def test_success_rates(row):
    printed = [published(*row, span).printed["success"].value for span in RANGES]
    assert printed == [per_cent / 100 for per_cent in SUCCESS[row]]


@pytest.mark.parametrize("row", CELLS, ids=lambda row: " ".join(row.key))
def test_success_intervals_are_wilsons(row):
    expected = wilson(row.cell.successes, 25)
    assert row.printed["success"].plus == pytest.approx(expected.plus, abs=0.00501)
    assert row.printed["success"].minus == pytest.approx(expected.minus, abs=0.00501)


def test_solved_at_and_sparsity_are_there_where_a_run_succeeded():
    for row in CELLS:
        succeeded = row.printed["success"].value > 0
        solved_at, sparsity = (row.printed.get(name) for name in ("solved_at", "sparsity"))
        assert (solved_at is not None) is (sparsity is not None) is succeeded
        if solved_at and sparsity:
            assert 0 < solved_at.value <= 50_000
            assert 0 < sparsity.value < 1e-4
            # A single run has no spread.
            assert row.cell.successes > 1 or not solved_at.estimate.has_interval


@pytest.mark.parametrize(
    ("key", "solved_at", "sparsity"),
    [
        (("nac_add", "add", "[-1.2,-1.1)"), (4.9e4, 8.2e2, 8.3e2), (1.4e-5, 2.3e-6, 2.3e-6)),
        (("gnalu", "add", "[10,20)"), (4.2e4, None, None), (3.5e-6, None, None)),
        (("inalu", "add", "[-2,-1)"), (1.6e4, 7.8e1, 7.8e1), (2.0e-6, 1.5e-7, 1.5e-7)),
        (("nau", "add", "[-2,2)"), (4.2e3, 2.6e2, 2.8e2), (1.0e-16, None, None)),
        (("nalu", "sub", "[-20,-10)"), (3.8e4, 7.4e3, 8.1e3), (1.4e-5, 10.0e-6, 10.0e-6)),
        (("inalu", "mul", "[-20,-10)"), (1.5e4, None, None), (7.2e-7, 6.5e-7, 6.5e-7)),
        (("nmu", "mul", "[1.1,1.2)"), (3.0e3, 2.4e2, 2.5e2), (2.3e-7, 8.4e-8, 8.4e-8)),
        (("real_npu", "div", "[-0.2,-0.1)"), (7.8e3, 2.7e3, 2.6e3), (7.7e-7, 1.4e-7, 1.4e-7)),
    ],
)
def test_cells_as_printed(key, solved_at, sparsity):
    row = published(*key)
    assert row.printed["solved_at"] == Printed(*solved_at)
    assert row.printed["sparsity"] == Printed(*sparsity)


def test_keys_are_unique():
    assert len(CLAIM_IDS) == len(set(CLAIM_IDS))


@pytest.mark.parametrize("claim", CLAIMS, ids=CLAIM_IDS)
def test_claim_on_the_published_tables(claim):
    judgement = claim.evaluate(published_table(CELLS))
    assert judgement.verdict is (Verdict.BROKEN if claim.key in BROKEN else Verdict.HELD)
    assert judgement.evidence


def test_broken_claims_are_claims():
    assert set(CLAIM_IDS) >= BROKEN


@pytest.mark.parametrize("claim", CLAIMS, ids=CLAIM_IDS)
def test_claim_without_runs_is_undecided(claim):
    assert claim.evaluate(Table({})).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("claim", CLAIMS, ids=CLAIM_IDS)
def test_uncertainty_never_reverses_a_verdict(claim):
    exact = published_table(CELLS)
    uncertain = claim.evaluate(Table(exact.cells, exact=False)).verdict
    assert uncertain in (Verdict.UNDECIDED, claim.evaluate(exact).verdict)


def test_the_contradiction_on_division_is_named():
    (claim,) = (claim for claim in CLAIMS if claim.key == "only_inalu_divides_a_range")
    evidence = claim.evaluate(published_table(CELLS)).evidence
    assert evidence == ("npu div [1,2): 25/25", "real_npu div [1,2): 25/25")


def test_claims_need_neither_torch_nor_numpy():
    code = (
        "import sys, wug.experiments.mistry2022._single_module_claims;"
        "sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
