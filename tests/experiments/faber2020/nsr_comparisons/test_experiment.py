import pytest
import torch

from wug.core.errors import UserError
from wug.experiments.faber2020.nsr_comparisons.experiment import ROWS, nsr_comparisons
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module


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
