"""One call that trains anything."""

import pytest
import torch
from torch import nn

import wug
from wug.core.errors import UserError
from wug.core.schedules import Constant
from wug.tasks.extrapolation.single_module import SingleModule
from wug.tasks.productivity.ctl import CTL

TASK = SingleModule(operation="add")
CHAINS = CTL(num_train=200, num_evaluation=40)
SMALL = {"features": 8, "hidden_features": 8, "num_steps": 2}


def test_a_class_a_function_and_a_key():
    by_class = wug.train(wug.units.NAU, TASK, steps=10, seeds=2)
    by_function = wug.train(
        lambda generator: wug.units.NAU(2, 1, generator=generator), TASK, steps=10, seeds=(0, 1)
    )
    assert by_class == by_function and [r.seed for r in by_class] == [0, 1]
    (router,) = wug.train("ndr", CHAINS, steps=2, options=SMALL, evaluate_every=1)
    assert router.outcome["engine"] == "single" and router.outcome["steps"] == 2


def test_parts_of_the_plan():
    penalised = {"terms": {"penalty": Constant(100.0)}, "learning_rate": Constant(0.01)}
    free, bound = (wug.train(wug.units.NAU, TASK, steps=50, **p)[0] for p in ({}, penalised))
    assert free.outcome["observed"]["sparsity"] != bound.outcome["observed"]["sparsity"]


class OfYours(nn.Module):
    """A model without a generator."""

    def __init__(self, num_tokens, num_classes):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, num_classes)

    def forward(self, tokens, lengths):
        return self.embedding(tokens).sum(1)


def test_a_model_of_yours():
    results = wug.train(OfYours, CHAINS, steps=2, seeds=2, evaluate_every=1, engine="single")
    assert [result.seed for result in results] == [0, 1]


def test_what_does_not_fit_is_a_sentence():
    with pytest.raises(UserError, match="train: Linear does not fit SingleModule: RuntimeError"):
        wug.train(lambda generator: nn.Linear(5, 1), TASK, steps=1)
    assert torch.initial_seed() is not None
