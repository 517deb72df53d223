import pytest
import torch

from wug.core import index
from wug.experiments.wug.memory import best_rates, observe, state_size
from wug.models.causal_stack import CausalStack
from wug.models.step_lstm import StepLSTM
from wug.records import Record
from wug.study.experiment import RunOptions
from wug.tasks.memory.copy import Copy
from wug.training.engine import initial_module

TASK = Copy(bits=2, train_lengths=(1, 1), repeats=(1, 1), ood_validation_lengths=(2, 2),
            test_lengths=(3, 3))  # fmt: skip


def test_networks_have_about_as_many_parameters():
    experiment = index.get("experiment", "wug.memory")(RunOptions(scale="laptop"))
    sizes = [
        sum(parameter.numel() for parameter in initial_module(lot, 0).parameters())
        for lot in experiment.lots
    ]
    assert len(sizes) == 5 and max(sizes) < 1.2 * min(sizes)


def test_the_state_of_attention_grows_and_that_of_an_lstm_does_not():
    lstm = observe(StepLSTM(3, 2, features=4), TASK)
    assert lstm["state_size"] == 8  # hidden and cell
    attention = CausalStack(3, 2, features=4, num_heads=2, num_layers=1)
    steps = 3 + 1 + 3
    assert observe(attention, TASK)["state_size"] >= 2 * 4 * steps  # keys and values
    assert state_size([torch.zeros(2, 3)]) == 6


def record(rate, seed, ood, test):
    outcome = {
        "solved": False, "solved_at": None,
        "selected": {"ood_validation": {"error": ood}, "test": {"accuracy": test}},
    }  # fmt: skip
    key = {"model": "lstm", "rate": rate, "task": "copy", "seed": seed}
    return Record(experiment="test", key=key, config={}, seed=seed, outcome=outcome)


def test_the_rate_is_chosen_on_ood_validation_not_on_the_test():
    records = [record("0.001", 0, 0.5, 0.9), record("0.003", 0, 0.4, 0.2)]
    (cell,) = best_rates(records).values()
    assert cell["accuracy"].value == pytest.approx(0.2)
    assert list(best_rates(records)) == [("lstm", "best", "copy")]
