"""Several selections side by side in one training, and whether a network crashed."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from wug.interfaces.interface import EarlyStopping, Selection
from wug.sources.pairs import Pair, PairTask
from wug.study.trainings import registered
from wug.training.loop import Training
from wug.training.optimisers import Adam
from wug.training.outcome import has_crashed
from wug.training.plan import Lot, Plan, Variant
from wug.training.policies import Policies

POLICIES = {
    "early": EarlyStopping(split="validation", measure="loss", patience=1),
    "best": Selection(split="ood_validation", measure="loss"),
}
SIZES = {"features": 8, "hidden_features": 8, "num_heads": 2, "num_layers": 1, "dropout": 0.0}


@dataclass(frozen=True)
class Echo(PairTask):
    """Write a sequence again."""

    source_tokens = target_tokens = ("a", "b", "c")

    def pairs(self, split):
        texts = [f"{x} {y}" for x in "abc" for y in "abc"] + ["a", "b", "c"]
        return [Pair(text, text, "all") for text in texts]


def training(**changes):
    plan = Plan(steps=8, batch_size=4, evaluate_every=2, optimiser=Adam(), policies=POLICIES,
                loss_curves=True, **changes)  # fmt: skip
    variant = Variant(labels={"model": "x"}, task=Echo())
    build = registered("encoder_decoder", Echo(), **SIZES)
    lot = Lot(name="echo", build=build, variants=(variant,), seeds=(0,), plan=plan)
    return Training(lot, device=torch.device("cpu"), compiled=False)


def test_a_training_says_what_each_policy_would_have_picked():
    run = training()
    (result,) = run.train()
    picked, curves = result.outcome["policies"], result.curves
    best = int(np.argmin(curves["ood_validation loss"]))
    assert picked["best"]["step"] == curves["step"][best]
    losses = curves["validation loss"]
    rises = [i for i in range(1, len(losses)) if losses[i] >= min(losses[:i])]
    stop = rises[0] if rises else len(losses)
    assert picked["early"]["step"] == curves["step"][int(np.argmin(losses[:stop]))]
    loss = picked["best"]["ood_validation"]["loss"]
    assert loss == pytest.approx(curves["ood_validation loss"][best])
    # Evaluating what policies picked leaves the last weights in place.
    assert run.engine.evaluate(["test"])["test"]["loss"].sum() == pytest.approx(
        result.outcome["final"]["test"]["loss"] * 12 + 12
    )


def test_losses_of_good_and_bad_examples_make_the_loss():
    run = training()
    (result,) = run.train()
    curves = result.curves
    right = np.array(run.loss_split._right).any(0)
    shares = {"good": right.mean(), "bad": 1 - right.mean()}
    whole = sum(share * np.nan_to_num(curves[f"loss of {name} examples"])
                for name, share in shares.items())  # fmt: skip
    np.testing.assert_allclose(whole, curves["ood_validation loss"], rtol=1e-5)


def test_a_resumed_training_picks_the_same(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    (whole,) = training().train()
    first = training()
    for _ in range(2):
        first.evaluate(first.advance(first.clock.step + 2))
    first._save(path)
    (resumed,) = training().train(checkpoint=path)
    assert resumed.outcome["policies"] == whole.outcome["policies"]
    for name, curve in whole.curves.items():
        np.testing.assert_equal(resumed.curves[name], curve)


def test_patience_counts_evaluations_that_are_not_better():
    policies = Policies({
        "first": EarlyStopping(split="validation", patience=2),
        "last": EarlyStopping(split="validation", patience=2, ties="last"),
        "any": Selection(split="validation"),
    })  # fmt: skip
    for step, value in enumerate([3.0, 2.0, 2.0, 2.0, 1.0]):
        policies.pick(step, dict.fromkeys(policies.selections, value))
    assert policies.steps == {"first": 1, "last": 3, "any": 4}
    nothing = Policies({"only": Selection(split="validation")})
    assert nothing.pick(0, {"only": float("nan")}) == ["only"]
    assert nothing.pick(1, {"only": 5.0}) == []


def test_plans_with_policies_train_one_network_at_a_time():
    assert (
        not Plan(steps=1, policies=POLICIES).stacks()
        and not Plan(steps=1, loss_curves=True).stacks()
    )
    assert "policies" not in Plan(steps=1).config and "loss_curves" not in Plan(steps=1).config


@pytest.mark.parametrize(
    ("errors", "crashed"),
    [([1.0, 0.2, 1.0, 1.0], True), ([0.5, 0.2], False), ([1.0, 1.0], False), ([0.95, 1.0], False),
     ([np.nan, 1.0], False), ([0.5, np.nan], False)],
)  # fmt: skip
def test_crashed(errors, crashed):
    assert has_crashed(np.array(errors)) == crashed


def test_a_crash_is_an_outcome(monkeypatch):
    run = training()
    errors = iter([0.5, 0.2, 1.0, 1.0])
    evaluate = run.engine.evaluate

    def worse(splits):
        found = evaluate(splits)
        if "test" not in found:
            error = next(errors)
            counts = found["validation"]["error"]
            counts[..., 0] = error * counts[..., 1]
        return found

    monkeypatch.setattr(run.engine, "evaluate", worse)
    (result,) = run.train()
    assert result.outcome["crashed"] and result.outcome["status"] == "crashed"
