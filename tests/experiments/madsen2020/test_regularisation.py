import pytest

from wug.core.configs import as_config
from wug.core.schedules import Ramp
from wug.experiments.madsen2020.regularisation import CHOSEN, CLAIMS, STRENGTHS, regularisation
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
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


# Start and end of the ramps (table 4).
RAMPS = {"nau": (5_000, 50_000), "nmu": (1_000_000, 2_000_000)}


def test_a_model_is_a_lot_of_all_strengths():
    lots = regularisation(RunOptions(scale="smoke")).lots
    assert [lot.name for lot in lots] == ["nau", "nmu"]
    for lot in lots:
        assert [v.labels for v in lot.variants] == [
            {"model": model, "operation": operation, "strength": strength}
            for model, operation in CHOSEN
            if model == lot.name
            for strength in STRENGTHS
        ]
        assert all(v.task.operation == v.labels["operation"] for v in lot.variants)
        assert lot.plan.steps == 200


def test_nau_is_trained_shorter_on_its_own_ramp():
    steps = {lot.name: lot for lot in regularisation(RunOptions(scale="laptop")).lots}
    assert (steps["nau"].plan.steps, steps["nmu"].plan.steps) == (300_000, 3_000_000)
    ramps = {v.labels["strength"]: v.terms["penalty"] for v in steps["nau"].variants}
    assert ramps["10"] == Ramp(10.0, *RAMPS["nau"])
    paper = regularisation(RunOptions(scale="paper")).lots
    assert {lot.plan.steps for lot in paper} == {5_000_000}


def test_penalties():
    for lot in regularisation(RunOptions(scale="paper")).lots:
        for variant in lot.variants:
            ramp = Ramp(float(variant.labels["strength"]), *RAMPS[variant.labels["model"]])
            assert variant.terms == {"penalty": ramp}
            assert variant.config["plan"]["terms"] == {"penalty": as_config(ramp)}
            assert variant.config["network"]["penalty"][0] == ramp.peak


def test_strengths_can_be_chosen():
    (lot,) = regularisation(RunOptions(only=("nmu",), ranges=("10", "0"))).lots
    assert [v.labels["strength"] for v in lot.variants] == ["10", "0"]
