"""What is read off routers at the end of a training, and the claims that it decides."""

import pytest
import torch
from torch import nn

from wug.experiments.csordas2023 import _routes
from wug.experiments.csordas2023._routes import by_success, observe
from wug.models.lstm import LSTM
from wug.models.ndr import NDR
from wug.records import Record
from wug.study.claims import Table
from wug.study.undecided import why_undecided
from wug.tasks.productivity.ctl import CTL
from wug.tasks.productivity.listops import ListOps
from wug.tasks.systematicity.ctlpp import CTLpp

FEW = {"num_train": 200, "num_evaluation": 20}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def test_a_router_is_looked_into():
    for task, names in (
        (CTL(**FEW), {"routing_score", "in_turn", "operand_attention"}),
        (ListOps(**FEW), {"routing_score", "in_turn", "operand_attention", "at_once"}),
    ):
        network = NDR(task.num_tokens, task.num_classes, features=8, hidden_features=8)
        nn.init.constant_(network.gate.bias_out, 3.0)  # all gates open
        found = observe(network, task)
        assert set(found) == names
        assert all(0 <= value <= 1 for value in found.values())
        assert found["in_turn"] == 0.0  # everything at once


def test_a_network_without_gates_has_nothing_to_show():
    task = CTL(**FEW)
    assert observe(LSTM(task.num_tokens, task.num_classes, features=8), task) == {}


class Writer(nn.Module):
    """Writes a symbol in one way, or in a way of each group."""

    def __init__(self, task, *, ways):
        super().__init__()
        self.task, self.ways = task, ways
        self.read_out = nn.Linear(2 * task.num_classes, task.num_classes)

    def forward(self, tokens, lengths):
        symbol, function = tokens[:, 1], tokens[:, 0]
        if (tokens[:, 0] < self.task.num_classes).all():
            symbol, function = function, symbol
        number = function - self.task.num_classes
        made = torch.as_tensor(self.task.tables)[number, symbol]
        group = (number >= len(self.task.tables) // 2).long() * (self.ways > 1)
        place = made + group * self.task.num_classes
        return self.read_out(torch.eye(2 * self.task.num_classes)[place])


@pytest.mark.parametrize(("ways", "share"), [(1, 0.0), (2, 1.0)])
def test_symbols_that_are_written_in_two_ways_are_counted(ways, share):
    task = CTLpp(num_functions=6, **FEW)
    assert observe(Writer(task, ways=ways), task) == {"clustered_symbols": share}


def record(seed, accuracy, clustered, iid_accuracy=1.0):
    outcome = {
        "schema": 2, "solved": False, "selected": {"test": {"accuracy": accuracy}},
        "final": {"validation": {"accuracy": iid_accuracy}},
        "observed": {"clustered_symbols": clustered},
    }  # fmt: skip
    key = {"model": "ndr", "variant": "R"}
    return Record(experiment="e", key=key, config={}, seed=seed, outcome=outcome)


def test_claims_on_clusters_look_at_failed_and_successful_seeds_apart():
    records = [record(seed, *at) for seed, at in enumerate(
        [(0.7, 0.75), (0.6, 0.5), (0.8, 0.625), (0.99, 0.0), (1.0, 0.0), (0.97, 0.0)])]  # fmt: skip
    table = Table(by_success(records))
    failed, successful = (
        claim("ndr", "R").evaluate(table).verdict.value
        for claim in (_routes.clusters_where_it_failed, _routes.no_clusters_where_it_succeeded)
    )
    assert (failed, successful) == ("held", "held")
    alone = Table(by_success(records[3:]))
    assert _routes.clusters_where_it_failed("ndr", "R").evaluate(alone).verdict.value == "undecided"


def test_seeds_that_did_not_learn_the_training_set_tell_nothing_of_clusters():
    table = Table(by_success([record(seed, 0.2, 0.5, 0.3) for seed in range(3)]))
    claim = _routes.clusters_where_it_failed("ndr", "R")
    assert claim.evaluate(table).verdict.value == "undecided"
    assert "(30 % in distribution)" in why_undecided(claim, table)
