"""The claims on comparisons, judged on tables made by hand."""

import pytest
import torch

from wug.core.errors import UserError
from wug.experiments.faber2020.nsr_comparisons import (
    CLAIMS,
    EQUALITIES,
    RELATIONS,
    ROWS,
    nsr_comparisons,
)
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module


def cell(successes, error):
    return Cell(successes, 10, {"error": Estimate.given(error, 0.9 * error, 1.1 * error)})


def table(equality, far, alone, matching, other, baseline):
    cells = {}
    for relation in RELATIONS:
        hard = relation in EQUALITIES
        for numbers in ("integers", "reals"):
            cells["nsr", relation, numbers] = cell(equality if hard else 10, 0.02)
        cells["nsr", relation, "10^14"] = cell(far, 0.02)
        cells |= {(unit, relation, "integers"): cell(0, baseline) for unit in ("mlp", "nalu")}
    for relation in EQUALITIES:
        cells["nsr_redundancy_1", relation, "integers"] = cell(0, alone)
    for relation in ("gt", "eq"):
        for scale, errors in (("0.001", (other, matching)), ("1000", (matching, other))):
            for numbers, error in zip(("step 0.001", "step 1000"), errors, strict=True):
                cells[f"nsr_scale_{scale}", relation, numbers] = cell(5, error)
    return Table(cells)


def verdicts(judged):
    return {claim.key: claim.evaluate(judged).verdict.value for claim in CLAIMS}


def test_learning_and_difficulty_of_equality():
    hard = verdicts(table(0, 10, 0.1, 0.01, 0.3, 0.4))
    easy = verdicts(table(10, 10, 0.1, 0.01, 0.3, 0.4))
    assert (hard["compares_integers"], easy["compares_integers"]) == ("broken", "held")
    assert (hard["compares_real_numbers"], easy["compares_real_numbers"]) == ("broken", "held")
    assert (hard["equality_is_hard"], easy["equality_is_hard"]) == ("held", "undecided")


def test_held_by_errors_that_lie_apart():
    judged = verdicts(table(10, 10, alone=0.1, matching=0.01, other=0.3, baseline=0.4))
    held = [key for key, verdict in judged.items() if verdict == "held"]
    assert set(judged) - set(held) == {"equality_is_hard"}


def test_broken_by_errors_the_other_way_round():
    judged = verdicts(table(0, 0, alone=0.001, matching=0.3, other=0.01, baseline=0.001))
    assert [key for key, verdict in judged.items() if verdict == "held"] == ["equality_is_hard"]
    assert "undecided" not in judged.values()


def test_undecided_without_runs():
    assert set(verdicts(Table({})).values()) == {"undecided"}


def lots(**options):
    return {lot.name: lot for lot in nsr_comparisons(RunOptions(**options)).lots}


def test_the_paper_trains_every_row_on_full_batches():
    trained = lots(scale="paper")
    labels = [v.labels for lot in trained.values() for v in lot.variants]
    assert {(label["unit"], label["relation"]) for label in labels} == set(ROWS)
    for name, lot in trained.items():
        assert lot.plan.batch_size == (18 if name.endswith("equality") else 81)
        assert lot.plan.steps == 50_000 and len(lot.seeds) == 10


@pytest.mark.parametrize("unit", ["nsr", "mlp", "nalu", "nsr_redundancy_1", "nsr_scale_1000"])
def test_outputs_are_probabilities(unit):
    (lot,) = lots(only=(f"{unit}:eq",)).values()
    module = initial_module(lot, seed=1)
    x = torch.tensor([[1.0, 9.0], [1e18, 1e18], [0.0, -1e6]], dtype=torch.float64)
    assert (module(x) >= 0).all() and (module(x) <= 1).all()


def test_settings_reach_the_units():
    (alone,), (wide,) = (
        lots(only=(f"{unit}:eq",)).values() for unit in ("nsr_redundancy_3", "nsr_scale_0.01")
    )
    assert initial_module(alone, 0).redundancy == 3
    assert initial_module(wide, 0).scale == 0.01


def test_rows_that_a_scale_leaves_out_can_be_asked_for():
    assert set(lots(scale="smoke")) == {"nsr.order", "nsr.equality"}
    assert set(lots(scale="smoke", only=("mlp:gt",))) == {"mlp.order"}


def test_has_no_ranges():
    with pytest.raises(UserError, match="has one range"):
        nsr_comparisons(RunOptions(ranges=("[1,2)",)))
