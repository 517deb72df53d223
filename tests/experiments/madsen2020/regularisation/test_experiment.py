from wug.core.schedules import Ramp
from wug.experiments.madsen2020.regularisation.claims import CHOSEN, STRENGTHS
from wug.experiments.madsen2020.regularisation.experiment import regularisation
from wug.study.experiment import RunOptions

# Start and end of the ramps (table 4).
RAMPS = {"nau": (5_000, 50_000), "nmu": (1_000_000, 2_000_000)}


def test_a_row_is_a_lot_of_all_strengths():
    lots = regularisation(RunOptions(scale="smoke")).lots
    assert [lot.name for lot in lots] == [".".join(row) for row in CHOSEN]
    for lot, (model, operation) in zip(lots, CHOSEN, strict=True):
        assert [v.labels for v in lot.variants] == [
            {"model": model, "operation": operation, "strength": strength} for strength in STRENGTHS
        ]
        assert {v.task.operation for v in lot.variants} == {operation}
        assert lot.plan.steps == 200


def test_penalties():
    for lot in regularisation(RunOptions(scale="paper")).lots:
        for variant in lot.variants:
            ramp = Ramp(float(variant.labels["strength"]), *RAMPS[variant.labels["model"]])
            assert variant.penalty == ramp
            assert variant.config["penalty"] == repr(ramp)
            assert variant.config["network"]["penalty"][0] == ramp.peak


def test_strengths_can_be_chosen():
    (lot,) = regularisation(RunOptions(only=("nmu",), ranges=("10", "0"))).lots
    assert [v.labels["strength"] for v in lot.variants] == ["10", "0"]
