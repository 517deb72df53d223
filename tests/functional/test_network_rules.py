"""Penalties, projections and updates of networks with units inside."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.functional.network_rules import (
    has_rule,
    named_penalty,
    penalties,
    penalty,
    project,
    project_,
    update,
)
from wug.units.nau import NAU
from wug.units.nmu import NMU


def network():
    generator = torch.Generator().manual_seed(0)
    units = NAU(3, 2, generator=generator), NMU(2, 1, generator=generator)
    return nn.Sequential(nn.Linear(4, 3), *units)


def test_penalties_have_the_paths_of_their_modules_and_add_up():
    model = network()
    params = dict(model.named_parameters())
    found = penalties(model, params)
    assert set(found) == {"1.penalty", "2.penalty"}
    assert_close(found["1.penalty"], model[1].penalty(dict(model[1].named_parameters())))
    assert_close(named_penalty(found, "penalty"), sum(found.values()))
    assert_close(named_penalty(found, "2.penalty"), found["2.penalty"])
    assert named_penalty(found, "other") is None
    assert_close(penalty(model), sum(found.values()))
    assert float(penalty(nn.Linear(1, 1))) == 0


class Outer(nn.Module):
    """Speaks for what is inside it."""

    def __init__(self):
        super().__init__()
        self.inner = NMU(2, 1)

    def penalties(self, params):
        return {"mine": params["inner.weight"].sum(), "yours": params["inner.weight"].max()}


def test_the_outermost_module_speaks_for_all_inside():
    model = nn.Sequential(Outer(), NAU(1, 1))
    found = penalties(model, dict(model.named_parameters()))
    assert set(found) == {"0.mine", "0.yours", "1.penalty"}


def test_projection_clamps_units_and_leaves_the_rest():
    model = network()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7.0)
    params = {name: value.detach() for name, value in model.named_parameters()}
    projected = project(model, params)
    assert projected["0.weight"].max() == 7 and projected["2.weight"].max() == 1
    project_(model)
    assert model[0].weight.max() == 7 and model[1].weight.max() == 1 == model[2].weight.max()


class Counting(nn.Module):
    """Has a buffer that steps change."""

    def update(self, buffers, statistics):
        return {"seen": buffers["seen"] + statistics["rows"]}


def test_updates_find_their_buffers_and_statistics():
    model = nn.Sequential(nn.Linear(1, 1), Counting())
    buffers, rows = {"1.seen": torch.zeros(())}, {"1.rows": torch.tensor(3.0)}
    assert update(model, buffers, rows) == {"1.seen": torch.tensor(3.0)}
    assert has_rule(model, "update") and not has_rule(model, "project")


@pytest.mark.parametrize("rule", ["penalty", "project"])
def test_rules_of_units(rule):
    assert has_rule(network(), rule) and not has_rule(nn.Linear(1, 1), rule)


class Chooses(nn.Module):
    """A network with options that are called as rules are."""

    def __init__(self):
        super().__init__()
        self.update, self.penalty, self.project = "select", 0.5, True
        self.unit = NMU(2, 1)


@pytest.mark.parametrize(
    ("method", "expected"), [("update", False), ("penalty", True), ("project", True)]
)
def test_an_option_with_the_name_of_a_rule_is_no_rule(method, expected):
    assert has_rule(Chooses(), method) is expected


def test_the_unit_inside_speaks_for_itself():
    network = Chooses()
    params = {"unit.weight": torch.tensor([[1.5, 0.25]])}
    assert project(network, params)["unit.weight"].tolist() == [[1.0, 0.25]]
    assert set(penalties(network, params)) == {"unit.penalty"}
    assert update(network, {}, {}) == {}


def test_methods_of_torchs_containers_are_no_rules():
    holder = nn.Module()
    holder.weights = nn.ParameterDict({"a": nn.Parameter(torch.ones(1))})
    holder.parts = nn.ModuleDict({"b": nn.Linear(1, 1)})
    assert not has_rule(holder, "update")
    assert update(holder, {}, {}) == {}
