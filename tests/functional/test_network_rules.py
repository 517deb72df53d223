"""Rules of the modules inside a network; what merely has the name of a rule is none."""

import pytest
import torch
from torch import nn

from wug.functional.network_rules import has_rule, penalties, project, update
from wug.units.nmu import NMU


class Chooses(nn.Module):
    """A network with options that are called as rules are."""

    def __init__(self):
        super().__init__()
        self.update, self.penalty, self.project = "select", 0.5, True
        self.unit = NMU(2, 1)


class Averages(nn.Module):
    """A module whose buffer is the sum of its last batch."""

    def update(self, buffers, statistics):
        """Take the sums as they are."""
        return {"sum": statistics["sum"]}


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


def test_buffers_are_updated_under_the_path_of_their_module():
    network = nn.Sequential(nn.Identity(), Averages())
    found = update(network, {"1.sum": torch.zeros(1)}, {"1.sum": torch.ones(1)})
    assert found["1.sum"].item() == 1.0
