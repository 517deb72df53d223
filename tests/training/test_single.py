"""One network at a time, against a plain loop; and what the loop promises beside training."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open

from wug.core.errors import UserError
from wug.core.schedules import Constant, WarmUp
from wug.interfaces.registered import interface
from wug.models.ndr import NDR
from wug.sources.samplers import ByError, Curriculum
from wug.tasks.productivity.ctl import CTL
from wug.training.engine import initial_module
from wug.training.judging import network_of
from wug.training.loop import Training
from wug.training.optimisers import Adam, AdamW, Muon
from wug.training.plan import Clip, Lot, Plan, Registered, Stopping, Variant
from wug.units.nmu import NMU

TASK = CTL(num_train=400, num_evaluation=60)
OPTIONS = {"features": 16, "hidden_features": 32, "num_steps": 3, "test_steps": 5}
PLAN = {
    "steps": 12,
    "batch_size": 32,
    "evaluate_every": 4,
    "learning_rate": WarmUp(1e-2, 4, 12),
    "optimiser": AdamW(weight_decay=0.1),
    "clip": Clip(norm=0.5),
}
DEVICE = torch.device("cpu")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WUG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def make_lot(seed=0, model_options=OPTIONS, model="ndr", **plan):
    return Lot(
        name="lot",
        build=Registered(
            model=model, sizes=interface("classification").sizes(TASK), options=model_options
        ),
        variants=(
            Variant(labels={"model": "ndr", "order": "backward"}, task=TASK, config={"a": 1}),
        ),
        seeds=(seed,),
        plan=Plan(**(PLAN | plan)),
    )


def make_training(**options):
    keep = options.pop("keep", None)
    return Training(make_lot(**options), device=DEVICE, compiled=False, keep=keep)


def weights_of(training):
    return training.engine.weights()


def equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("model", ["ndr", "transformer"])
def test_training_goes_through_the_compiled_step(model, monkeypatch):
    """A network that calls something else would silently be trained uncompiled."""
    calls = []

    def compile_nothing(step, **options):
        def counted(*args):
            calls.append(1)
            return step(*args)

        return counted

    monkeypatch.setattr(torch, "compile", compile_nothing)
    layers = "num_steps" if model == "ndr" else "num_layers"
    options = {"features": 16, "hidden_features": 32, layers: 3}
    training = Training(make_lot(model=model, model_options=options), device=DEVICE, compiled=True)
    training.advance(2)
    assert len(calls) == 2 * 3


def test_is_a_plain_loop():
    training = make_training()
    training.train()
    torch.manual_seed(0)
    model = NDR(TASK.num_tokens, 8, generator=torch.Generator().manual_seed(0), **OPTIONS)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    for step in range(12):
        (rate,) = WarmUp(1e-2, 4, 12)(np.array([step]))
        optimiser.param_groups[0]["lr"] = rate
        batch = training.engine.batch(step, 0)
        loss = F.cross_entropy(model(batch["tokens"], batch["lengths"]), batch["labels"])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
    for ours, theirs in zip(training.engine.network.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_averages_of_the_latest_weights_are_judged():
    plain, averaged = make_training(), make_training(averaging=0.7)
    expected = None
    for step in range(1, 4):
        plain.advance(step)
        weights = weights_of(plain)
        expected = expected or weights
        expected = {name: 0.7 * expected[name] + 0.3 * weights[name] for name in weights}
    averaged.advance(3)
    for name, value in weights_of(averaged).items():
        torch.testing.assert_close(value, expected[name])
    assert equal(plain.engine.network.state_dict(), averaged.engine.network.state_dict())


def test_errors_are_counted_by_level():
    training = make_training()
    test = TASK.examples("test")
    counts = training.engine.evaluate(["test"])["test"]["error"][0]
    network = training.engine.network.eval()
    wrong = {9: 0, 10: 0}
    for i in range(len(test)):
        logits = network(test.tokens[i : i + 1].long(), test.lengths[i : i + 1])
        wrong[int(test.levels[i])] += int(logits.argmax() != test.labels[i])
    sizes = {level: int((test.levels == level).sum()) for level in wrong}
    assert counts.tolist() == [[wrong[level], sizes[level]] for level in wrong]


def test_outcome_and_curves():
    (result,) = make_training().train()
    assert result.curves["step"] == [4, 8, 12] and set(result.curves) == {
        "step", "train", "validation", "ood_validation"
    }  # fmt: skip
    outcome = result.outcome
    assert outcome["steps"] == 12 and outcome["status"] == "unsolved"
    assert (outcome["schema"], outcome["engine"]) == (2, "single")
    assert outcome["final"]["validation"]["error"] == result.curves["validation"][-1]
    lowest = min(result.curves["ood_validation"])
    assert outcome["selected"]["ood_validation"]["error"] == lowest
    rows = [i for i, error in enumerate(result.curves["ood_validation"]) if error == lowest]
    assert outcome["selected_step"] == 4 * (rows[-1] + 1)  # the last of the best
    by_level = outcome["groups"]["selected"]["test"]["accuracy"]
    assert set(by_level) == {"9", "10"}
    test = outcome["selected"]["test"]
    assert np.mean(list(by_level.values())) == pytest.approx(test["accuracy"])
    assert test["accuracy"] == pytest.approx(1 - test["error"])


def levels_at(training):
    batches = [training.engine.batch(step, training.clock.stage) for step in range(100)]
    # A problem of level n has n functions, an input and nothing else.
    return {int(length) - 1 for batch in batches for length in batch["lengths"]}


def test_records_when_levels_were_added():
    training = make_training(curriculum=Curriculum(mastery=0.0))
    assert levels_at(training) == {1, 2}
    (result,) = training.train()
    assert result.outcome["promoted"] == [4, 8, 12]
    assert levels_at(training) == {1, 2, 3, 4, 5}
    # Three levels to come in the first six of twelve steps.
    (result,) = make_training(curriculum=Curriculum(mastery=1.1), evaluate_every=1).train()
    assert result.outcome["promoted"] == [2, 4, 6]
    (result,) = make_training().train()
    assert "promoted" not in result.outcome


def test_seeds_differ_and_repeat():
    first, again, other = (make_training(seed=seed) for seed in (0, 0, 1))
    for training in (first, again, other):
        training.train()
    assert equal(weights_of(first), weights_of(again))
    assert not equal(weights_of(first), weights_of(other))


@pytest.mark.parametrize(
    ("dropout", "plan"),
    [
        (0.0, {}), (0.3, {}), (0.0, {"optimiser": Muon()}), (0.0, {"averaging": 0.7}),
        (0.0, {"curriculum": Curriculum(mastery=0.0)}), (0.0, {"accumulation": 3}),
        (0.0, {"sampler": ByError()}),
    ],
)  # fmt: skip
def test_resumes_as_if_nothing_had_happened(tmp_path, dropout, plan):
    changes = {"model_options": {**OPTIONS, "dropout": dropout, "gate_dropout": dropout}, **plan}
    whole = make_training(**changes)
    (expected,) = whole.train()
    path = tmp_path / "checkpoint.safetensors"
    killed = make_training(**changes)

    def stop(news):
        if news["step"] == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        killed.train(checkpoint=path, checkpoint_seconds=0, on_progress=stop)
    resumed = make_training(**changes)
    (result,) = resumed.train(checkpoint=path)
    assert equal(weights_of(whole), weights_of(resumed))
    assert result.curves == expected.curves
    ignored = {"training_seconds"}
    assert {k: v for k, v in result.outcome.items() if k not in ignored} == {
        k: v for k, v in expected.outcome.items() if k not in ignored
    }


def test_parts_of_a_batch_add_up_to_it():
    whole, parts = make_training(), make_training(accumulation=5)
    for training in (whole, parts):
        training.advance(3)
    for name, value in weights_of(whole).items():
        torch.testing.assert_close(weights_of(parts)[name], value, rtol=1e-4, atol=1e-5)


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    first = make_training()
    first.advance(4)
    first.evaluate({})
    first._save(path)
    for other in (make_training(seed=1), make_training(steps=13)):
        with pytest.raises(UserError, match="another configuration"):
            other._load(path)
    make_training()._load(path)


def test_stops_once_solved_for_a_while(monkeypatch):
    monkeypatch.setattr(CTL, "threshold", lambda self: 1.0)
    training = make_training(steps=400, stopping=Stopping(patience=2))
    (result,) = training.train()
    assert result.outcome["steps"] == 8 and result.outcome["solved"]
    assert result.outcome["solved_at"] == 4


@pytest.fixture
def slow_clock(monkeypatch):
    """Make a training step take half a second and the evaluation of a split one second."""
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    def slow(training):
        engine = training.engine
        backward, evaluate = engine._backward, engine.evaluate

        def slow_backward(*arguments):
            nonlocal now
            now += 0.5
            return backward(*arguments)

        def slow_evaluate(splits):
            nonlocal now
            now += len(splits)
            return evaluate(splits)

        monkeypatch.setattr(engine, "_backward", slow_backward)
        monkeypatch.setattr(engine, "evaluate", slow_evaluate)
        return lambda: now

    return slow


def spared_seconds(result):
    """Three splits are evaluated once, not twice, where the last weights are the selected ones."""
    return 3.0 if result.outcome["selected_step"] == result.outcome["steps"] else 0.0


def test_is_judged_when_its_time_is_over(slow_clock):
    training = make_training(steps=10_000, evaluate_every=10, stopping=Stopping(seconds=60.0))
    now = slow_clock(training)
    (result,) = training.train()
    # Evaluations take 2 seconds each and the result 6; the rest is for steps of half a second.
    spared = spared_seconds(result)
    assert 58.0 <= now() + spared <= 60.0
    assert result.outcome["steps"] == 2 * (now() + spared - 6 - 2 * len(result.curves["step"]))
    assert result.outcome["training_seconds"] == result.outcome["steps"] / 2


def test_a_resumed_training_keeps_to_its_time(slow_clock, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    options = {"steps": 10_000, "evaluate_every": 10, "stopping": Stopping(seconds=60.0)}

    def stop(news):
        raise KeyboardInterrupt

    first = make_training(**options)
    now = slow_clock(first)
    with pytest.raises(KeyboardInterrupt):
        first.train(checkpoint=path, checkpoint_seconds=0, on_progress=stop)
    before = now()
    resumed = make_training(**options)
    slow_clock(resumed)
    (result,) = resumed.train(checkpoint=path)
    assert before < 20 and 58.0 <= now() + spared_seconds(result) <= 60.0


@pytest.mark.parametrize("errors", [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], ids=["last", "first"])
def test_last_weights_that_are_selected_are_evaluated_once(monkeypatch, errors):
    training = make_training(steps=30, evaluate_every=10)
    calls, selection = [], training.selection
    evaluate, given = training.engine.evaluate, iter(errors)

    def evaluate_with(splits):
        calls.append(tuple(splits))
        found = evaluate(splits)
        if len(calls) <= len(errors):
            counts = found[selection.split][selection.measure]
            counts[...] = 0.0
            counts[:, 0] = [next(given), 1.0]
        return found

    monkeypatch.setattr(training.engine, "evaluate", evaluate_with)
    (result,) = training.train()
    last = errors[-1] == min(errors)
    assert len(calls) == len(errors) + (1 if last else 2)
    assert result.outcome["selected_step"] == (30 if last else 10)
    assert (result.outcome["selected"] == result.outcome["final"]) == last


def test_the_data_is_made_before_the_clock_starts(monkeypatch):
    made = []
    examples = CTL.examples

    def slow(task, split):
        made.append(split)
        return examples(task, split)

    monkeypatch.setattr(CTL, "examples", slow)
    training = make_training(stopping=Stopping(seconds=5.0))
    assert set(made) == {"train", "validation", "ood_validation", "test"}
    assert training.spent == 0
    made.clear()
    training.train()
    assert made == []


def test_progress_never_goes_back(slow_clock, monkeypatch):
    training = make_training(steps=10_000, evaluate_every=10, stopping=Stopping(seconds=60.0))
    slow_clock(training)
    told = []
    evaluate = training.evaluate

    def quicker(losses):
        evaluate(losses)
        training.clock.reserved /= 1 + len(told)  # the first evaluation is the slowest

    monkeypatch.setattr(training, "evaluate", quicker)
    training.train(on_progress=lambda news: told.append(news["step"]))
    assert told == sorted(told) and len(told) > 3


def test_takes_a_step_even_if_an_evaluation_took_all_the_time():
    training = make_training(stopping=Stopping(seconds=5.0))
    training.clock.around = 60.0
    (result,) = training.train()
    assert result.outcome["steps"] == 1 and result.curves["step"] == [1]


def test_keeps_the_selected_weights_for_the_lab(tmp_path):
    training = make_training(keep=tmp_path / "models")
    training.train()
    with safe_open(tmp_path / "models" / "lot.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["about"])
        saved = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert equal(saved, training.engine.selected)
    assert about["model"] == "ndr" and about["task"] == "ctl"
    assert CTL(**{**about["task_options"], **{
        name: tuple(about["task_options"][name])
        for name in ("train_lengths", "ood_validation_lengths", "test_lengths")
    }}) == TASK  # fmt: skip


def test_halting_costs():
    options = {"features": 16, "hidden_features": 32, "num_heads": 2, "num_layers": 3,
               "halting": "graves"}  # fmt: skip
    losses = [
        make_training(
            model="transformer", model_options=options, terms={"halting": Constant(weight)}
        ).advance(1)["train"]
        for weight in (0.0, 10.0)
    ]
    assert losses[1] > losses[0]


def test_halting_steps_are_in_the_outcome():
    options = {"features": 16, "hidden_features": 32, "num_heads": 2, "num_layers": 3,
               "halting": "graves"}  # fmt: skip
    training = make_training(model="transformer", model_options=options)
    (result,) = training.train()
    splits = result.outcome["groups"]["selected"]
    assert {s: set(found["halting_steps"]) for s, found in splits.items()} == {
        s: set(found["accuracy"]) for s, found in splits.items()
    }
    network, test = network_of(training, training.engine.selected), TASK.examples("test")
    for level, steps in splits["test"]["halting_steps"].items():
        rows = test[test.levels == int(level)]
        expected = network.trace(rows.tokens.long(), rows.lengths)["halting_steps"]
        # Problems of one level have the same length.
        assert steps == pytest.approx(expected[expected > 0].double().mean().item())


def test_lower_precision_trains():
    training = make_training(precision="bfloat16")
    assert np.isfinite(training.advance(4)["train"])


class UnitInside(torch.nn.Module):
    """A network on sequences with an arithmetic unit inside."""

    def __init__(self, num_tokens, num_classes):
        super().__init__()
        self.embedding = torch.nn.Embedding(num_tokens, 4)
        self.unit = NMU(4, num_classes)

    def forward(self, tokens, lengths):
        return self.unit(self.embedding(tokens).mean(1))


def test_units_inside_a_network_are_penalised_and_clamped():
    losses = []
    for weight in (0.0, 5.0):
        training = make_training(
            model=UnitInside, model_options={}, learning_rate=Constant(0.5),
            terms={"penalty": Constant(weight)},
        )  # fmt: skip
        losses.append(training.advance(3)["train"])
        unit = weights_of(training)["unit.weight"]
        assert unit.min() >= 0 and unit.max() <= 1
    assert losses[1] > losses[0]


class Counter(torch.nn.Module):
    """A user's own model, with weights from torch's global state."""

    def __init__(self, num_tokens, num_classes):
        super().__init__()
        self.embedding = torch.nn.Embedding(num_tokens, num_classes)

    def forward(self, tokens, lengths):
        inside = torch.arange(tokens.shape[1]) < lengths[:, None]
        return (self.embedding(tokens) * inside[..., None]).sum(1)


def test_a_model_of_a_user():
    lots = [make_lot(seed=seed, model=Counter, model_options={}) for seed in (0, 0, 1)]
    before = torch.get_rng_state()
    first, again, other = (initial_module(lot, lot.seeds[0]).state_dict() for lot in lots)
    assert torch.equal(before, torch.get_rng_state())
    assert equal(first, again) and not equal(first, other)
    (result,) = Training(lots[0], device=DEVICE, compiled=False).train()
    assert result.outcome["observed"]["num_parameters"] == TASK.num_tokens * 8


@pytest.mark.parametrize("rate", [1e38, 1e300, math.inf])
@pytest.mark.parametrize("optimiser", [Adam(), AdamW(), Muon()])
def test_a_rate_beyond_all_bounds_is_an_outcome(rate, optimiser):
    (result,) = make_training(learning_rate=Constant(rate), optimiser=optimiser, clip=None).train()
    assert result.outcome["status"] == "diverged" and result.outcome["diverged"]


@pytest.mark.parametrize("which", ["selected", "last"])
def test_what_is_observed_is_of_the_selected_or_of_the_last_weights(which):
    seen = []

    def observe(network, task):
        seen.append({name: value.clone() for name, value in network.state_dict().items()})
        return {"number": 1.0}

    training = Training(
        replace(make_lot(), observe=observe, observes=which), device=DEVICE, compiled=False
    )
    kept, keep = [], training.engine.keep

    def keep_first(better):
        if not kept:
            keep(better)
            kept.append(True)

    training.engine.keep = keep_first
    (result,) = training.train()
    selected, last = training.engine.results()[0], weights_of(training)
    assert result.outcome.get("observed_weights", "selected") == which
    assert equal(seen[0], last if which == "last" else selected)
    assert not equal(selected, last)
