import pytest

from wug.experiments.madsen2020.regularisation.claims import CHOSEN, CLAIMS, STRENGTHS
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.judgements import Verdict


def verdicts(successes: dict[str, int], sparsity: dict[str, float]) -> dict[str, Verdict]:
    """Judge the same sweep for each model and operation: 25 runs per strength."""
    cells = {}
    for model, operation in CHOSEN:
        for strength in STRENGTHS:
            error = sparsity.get(strength, 0.01)
            count = successes.get(strength, 25)
            cells[model, operation, strength] = Cell(
                count, 25, {"sparsity": Estimate.given(error, error, error)}
            )
    return {claim.key: claim.evaluate(Table(cells)).verdict for claim in CLAIMS}


def test_as_the_text_has_it():
    assert set(verdicts({"100": 3}, {"0": 0.3}).values()) == {Verdict.HELD}


def test_a_penalty_that_changes_nothing():
    ours = verdicts({}, {})
    assert {key for key, verdict in ours.items() if verdict is Verdict.BROKEN} == {
        "penalty_makes_sums_sparse",
        "penalty_makes_products_sparse",
    }


@pytest.mark.parametrize(
    ("strength", "broken"),
    [
        (
            "0.01",
            {"nau_strength_is_best_for_addition", "nau_strength_is_best_for_subtraction"},
        ),
        ("10", {"nmu_strength_is_best_for_multiplication"}),
    ],
)
def test_a_chosen_strength_that_fails(strength, broken):
    ours = verdicts({strength: 5}, {"0": 0.3})
    assert {key for key, verdict in ours.items() if verdict is Verdict.BROKEN} == broken
