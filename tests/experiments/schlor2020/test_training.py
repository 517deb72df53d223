"""How the networks of schlor2020 start, start again, are penalised and trained."""

import pytest
import torch
from scipy.stats import kstest
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.core.schedules import After
from wug.experiments.schlor2020._training import Network, by_name, training
from wug.experiments.schlor2020.magnitude import magnitude
from wug.study.experiment import RunOptions
from wug.study.trainings import Run, make_lots
from wug.tasks.extrapolation.distribution_shift import DistributionShift
from wug.training.engine import initial_module
from wug.training.optimisers import RMSprop
from wug.training.plan import Clip, Restart

PAPER = Run(scale="paper", steps=100_000, streams="independent")
MEANS = {"w_hat": 1.0, "m_hat": -1.0, "gate": 0.0}


def lot_of(unit, **changes):
    """Return the lot of one unit that multiplies."""
    cell = training(PAPER, unit, unit, DistributionShift(operation="mul"), **changes)
    names = {"labels": ("unit", "operation"), "stream": ("operation",)}
    (lot,) = make_lots({("inalu", "mul"): cell}, seeds=2, streams="independent", **names)
    return lot


@pytest.mark.parametrize("unit", ["nalu", "inalu"])
def test_start(unit):
    values = {start: [] for start in MEANS}
    lot = lot_of(unit)
    for seed in range(200):
        for name, parameter in initial_module(lot, seed).named_parameters():
            (start,) = (start for start in MEANS if name.split(".")[-1].startswith(start))
            values[start].append(parameter.detach().flatten())
    for start, drawn in values.items():
        assert kstest(torch.cat(drawn).numpy(), "norm", (MEANS[start], 0.1)).pvalue > 1e-3


def test_restart():
    lot = lot_of("inalu")
    drawn = [
        parameter.detach().flatten()
        for seed in range(100)
        for parameter in initial_module(lot, seed, restarts=1).parameters()
    ]
    assert kstest(torch.cat(drawn).numpy(), "uniform", (-2, 4)).pvalue > 1e-3


def test_penalty_by_hand():
    network = Network(2, 1, units=["nalu"])
    params = {"a": torch.tensor([[-5.0, 30.0]]), "b": torch.tensor([0.0])}
    # Shortfalls of 15 and 0, and of 20, over 20.
    assert_close(network.penalty(params), torch.tensor((7.5 + 20) / 20))


def test_plan():
    lot = lot_of("inalu", num_layers=2)
    plan = lot.plan
    assert (plan.batch_size, plan.optimiser, plan.evaluate_every) == (64, RMSprop(), 1_000)
    assert (plan.clip, plan.terms_below) == (Clip(value=0.1), 1.0)
    assert plan.restart == Restart(check_every=10_000, min_stored=9_999)
    assert lot.variants[0].terms == {"penalty": After(1.0, 10_999)}
    names = [name for name, _ in initial_module(lot, 0).named_parameters()]
    for name in names:
        phases = [p for prefix, p in plan.alternate.items() if name.startswith(prefix)]
        assert phases == [(8, 9) if name.endswith("gate") else tuple(range(8))]
    assert {name.split(".")[1] for name in names} == {"0", "1"}
    assert [layer.recipe for layer in initial_module(lot, 0).layers] == ["tensorflow"] * 2


def test_lookup_by_name():
    assert by_name(MEANS, "layers.1.m_hat_add") == -1.0


def test_columns():
    (lot,) = magnitude(RunOptions(scale="smoke", only=("nalu:add",), ranges=("10",))).lots
    assert [variant.labels["magnitude"] for variant in lot.variants] == ["10"]
    with pytest.raises(UserError, match="ranges must be one of .*; got 'd'"):
        magnitude(RunOptions(ranges=("d",)))
