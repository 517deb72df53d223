"""The sequence trainer against a plain loop, and what it promises beside training."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open

from wug.core.errors import UserError
from wug.core.schedules import Constant, WarmUp
from wug.models.ndr import NDR
from wug.tasks.productivity.ctl import CTL
from wug.training.sequence_plan import SequenceLot, SequencePlan
from wug.training.sequence_trainer import SequenceFleet, widths_below

TASK = CTL(num_train=400, num_evaluation=60)
OPTIONS = {"features": 16, "hidden_features": 32, "num_steps": 3, "test_steps": 5}
PLAN = {
    "steps": 12,
    "batch_size": 32,
    "evaluate_every": 4,
    "learning_rate": WarmUp(1e-2, 4, 12),
    "weight_decay": 0.1,
    "clip_norm": 0.5,
}
DEVICE = torch.device("cpu")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def make_lot(seed=0, model_options=OPTIONS, model="ndr", **plan):
    plan = PLAN | plan
    return SequenceLot(
        name="lot", labels={"model": "ndr", "order": "backward"}, seed=seed, model=model,
        model_options=model_options, task=TASK, plan=SequencePlan(**plan), config={"a": 1},
    )  # fmt: skip


def make_fleet(**options):
    keep = options.pop("keep", None)
    return SequenceFleet(make_lot(**options), device=DEVICE, compiled=False, keep=keep)


def equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def test_is_a_plain_loop():
    fleet = make_fleet()
    fleet.train()
    torch.manual_seed(0)
    model = NDR(TASK.num_tokens, 8, generator=torch.Generator().manual_seed(0), **OPTIONS)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    for step in range(12):
        (rate,) = WarmUp(1e-2, 4, 12)(np.array([step]))
        optimiser.param_groups[0]["lr"] = rate
        batch = fleet.batches.at(step)
        loss = F.cross_entropy(model(batch.tokens.long(), batch.lengths), batch.labels)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
    for ours, theirs in zip(fleet.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_averages_of_the_latest_weights_are_judged():
    plain, fleet = make_fleet(), make_fleet(averaging=0.7)
    expected = None
    for step in range(1, 4):
        plain.advance(step)
        weights = plain._weights()
        expected = expected or weights
        expected = {name: 0.7 * expected[name] + 0.3 * weights[name] for name in weights}
    fleet.advance(3)
    for name, value in fleet._weights().items():
        torch.testing.assert_close(value, expected[name])
    assert equal(plain.model.state_dict(), fleet.model.state_dict())


def test_errors_are_counted_by_level():
    fleet = make_fleet()
    test = TASK.examples("test")
    counted = fleet.errors(test)
    wrong = {9: 0, 10: 0}
    for i in range(len(test)):
        logits = fleet.model(test.tokens[i : i + 1].long(), test.lengths[i : i + 1])
        wrong[int(test.levels[i])] += int(logits.argmax() != test.labels[i])
    sizes = {level: int((test.levels == level).sum()) for level in wrong}
    assert counted == {level: (wrong[level], sizes[level]) for level in wrong}


def test_outcome_and_curves():
    (result,) = make_fleet().train()
    assert result.curves["step"] == [4, 8, 12] and set(result.curves) == {
        "step", "train", "validation", "ood_validation"
    }  # fmt: skip
    outcome = result.outcome
    assert outcome["steps"] == 12 and outcome["status"] == "unsolved"
    assert outcome["validation_error"] == result.curves["validation"][-1]
    lowest = min(result.curves["ood_validation"])
    assert outcome["ood_validation_error"] == lowest
    rows = [i for i, error in enumerate(result.curves["ood_validation"]) if error == lowest]
    assert outcome["selected_step"] == 4 * (rows[-1] + 1)  # the last of the best
    assert set(outcome["levels"]["test"]) == {"9", "10"}
    assert 1 - np.mean(list(outcome["levels"]["test"].values())) == pytest.approx(
        outcome["test_error"]
    )


def test_records_when_levels_were_added():
    fleet = make_fleet(mastery=0.0)
    assert set(fleet.batches.examples.levels.tolist()) == {1, 2}
    (result,) = fleet.train()
    assert result.outcome["promoted"] == [4, 8, 12]
    assert set(fleet.batches.examples.levels.tolist()) == {1, 2, 3, 4, 5}
    # Three levels to come in the first six of twelve steps.
    (result,) = make_fleet(mastery=1.1, evaluate_every=1).train()
    assert result.outcome["promoted"] == [2, 4, 6]
    (result,) = make_fleet().train()
    assert "promoted" not in result.outcome


def test_seeds_differ_and_repeat():
    first, again, other = (make_fleet(seed=seed) for seed in (0, 0, 1))
    for fleet in (first, again, other):
        fleet.train()
    assert equal(first._weights(), again._weights())
    assert not equal(first._weights(), other._weights())


@pytest.mark.parametrize(
    ("dropout", "plan"),
    [
        (0.0, {}), (0.3, {}), (0.0, {"optimiser": "muon"}), (0.0, {"averaging": 0.7}),
        (0.0, {"mastery": 0.0}),
    ],
)  # fmt: skip
def test_resumes_as_if_nothing_had_happened(tmp_path, dropout, plan):
    changes = {"model_options": {**OPTIONS, "dropout": dropout, "gate_dropout": dropout}, **plan}
    whole = make_fleet(**changes)
    (expected,) = whole.train()
    path = tmp_path / "checkpoint.safetensors"
    killed = make_fleet(**changes)

    def stop(news):
        if news["step"] == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        killed.train(checkpoint=path, checkpoint_seconds=0, on_progress=stop)
    resumed = make_fleet(**changes)
    (result,) = resumed.train(checkpoint=path)
    assert equal(whole._weights(), resumed._weights())
    assert result.curves == expected.curves
    ignored = {"training_seconds"}
    assert {k: v for k, v in result.outcome.items() if k not in ignored} == {
        k: v for k, v in expected.outcome.items() if k not in ignored
    }


def test_a_checkpoint_of_another_training_is_left_alone(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    first = make_fleet()
    first.advance(4)
    first._save(path)
    assert not make_fleet(seed=1)._load(path)
    assert not make_fleet(steps=13)._load(path)
    path.write_bytes(b"torn")
    assert not make_fleet()._load(path)


def test_stops_once_solved_for_a_while(monkeypatch):
    fleet = make_fleet(steps=400, patience=2)
    monkeypatch.setattr(type(fleet.lot.task), "threshold", lambda self: 1.0)
    (result,) = fleet.train()
    assert result.outcome["steps"] == 8 and result.outcome["solved"]
    assert result.outcome["solved_at"] == 4


def test_is_judged_when_its_time_is_over(monkeypatch):
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    fleet = make_fleet(steps=10_000, evaluate_every=10, seconds=60.0)
    loss, errors = fleet._loss, fleet.errors

    def takes(seconds, work):
        def work_slowly(what):
            nonlocal now
            now += seconds
            return work(what)

        return work_slowly

    monkeypatch.setattr(fleet, "_loss", takes(0.5, loss))
    monkeypatch.setattr(fleet, "errors", takes(1.0, errors))
    (result,) = fleet.train()
    # Evaluations take 2 seconds each and the result 6; the rest is for steps of half a second.
    assert 58.0 <= now <= 60.0
    assert result.outcome["steps"] == 2 * (now - 6 - 2 * len(result.curves["step"]))
    assert result.outcome["training_seconds"] == result.outcome["steps"] / 2


def test_takes_a_step_even_if_making_the_data_took_all_the_time():
    fleet = make_fleet(seconds=5.0)
    fleet.progress.around = 60.0
    (result,) = fleet.train()
    assert result.outcome["steps"] == 1 and result.curves["step"] == [1]


def test_widths_are_few_and_wide_enough():
    assert widths_below(6) == [1, 2, 3, 4, 5, 6]
    widths = widths_below(1_000)
    assert widths[-1] == 1_000 and len(widths) < 30
    assert all(low < high <= low / 0.75 + 1 for low, high in pairwise(widths))


def test_keeps_the_selected_weights_for_the_lab(tmp_path):
    path = tmp_path / "models" / "lot.safetensors"
    fleet = make_fleet(keep=path)
    fleet.train()
    with safe_open(path, framework="pt") as file:
        about = json.loads(file.metadata()["about"])
        saved = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert equal(saved, fleet.best)
    assert about["model"] == "ndr" and about["task"] == "ctl"
    assert CTL(**{**about["task_options"], **{
        name: tuple(about["task_options"][name])
        for name in ("train_lengths", "ood_validation_lengths", "test_lengths")
    }}) == TASK  # fmt: skip


def test_halting_costs():
    options = {"features": 16, "hidden_features": 32, "num_heads": 2, "num_layers": 3,
               "halting": "graves"}  # fmt: skip
    lots = [make_lot(model="transformer", model_options=options, halting_weight=weight)
            for weight in (0.0, 10.0)]  # fmt: skip
    free, costly = (SequenceFleet(lot, device=DEVICE, compiled=False) for lot in lots)
    batch = free.batches.at(0)
    with free._training():
        costs = [float(fleet._loss(batch).detach()) for fleet in (free, costly)]
    assert costs[1] > costs[0]
    (result,) = costly.train()
    steps = result.outcome["halting_steps"]
    assert set(steps["test"]) == {"9", "10"} and 1 <= steps["test"]["9"] <= 3


def test_lower_precision_trains():
    fleet = make_fleet(precision="bfloat16")
    assert np.isfinite(fleet.advance(4))


class Counter(torch.nn.Module):
    """A user's own model, with weights from torch's global state."""

    def __init__(self, num_tokens, num_classes):
        super().__init__()
        self.embedding = torch.nn.Embedding(num_tokens, num_classes)

    def forward(self, tokens, lengths):
        inside = torch.arange(tokens.shape[1]) < lengths[:, None]
        return (self.embedding(tokens) * inside[..., None]).sum(1)


def test_a_model_of_a_user():
    lots = [
        make_lot(seed=seed, model=f"{__name__}:Counter", model_options={}) for seed in (0, 0, 1)
    ]
    before = torch.get_rng_state()
    first, again, other = (lot.build().state_dict() for lot in lots)
    assert torch.equal(before, torch.get_rng_state())
    assert equal(first, again) and not equal(first, other)
    (result,) = SequenceFleet(lots[0], device=DEVICE, compiled=False).train()
    assert result.outcome["num_parameters"] == TASK.num_tokens * 8


def test_bad_plans():
    with pytest.raises(UserError, match="steps must be at least 1"):
        SequencePlan(steps=0)
    with pytest.raises(UserError, match="optimiser must be one of"):
        SequencePlan(steps=1, optimiser="sgd")


@pytest.mark.parametrize("rate", [1e38, 1e300, math.inf])
@pytest.mark.parametrize("optimiser", ["adam", "adamw", "muon"])
def test_a_rate_beyond_all_bounds_is_an_outcome(rate, optimiser):
    fleet = make_fleet(learning_rate=Constant(rate), optimiser=optimiser, clip_norm=None)
    (result,) = fleet.train()
    assert result.outcome["status"] == "diverged" and result.outcome["diverged"]
