"""Recurrent networks that are stacked learn what each learns alone, whatever the lengths."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from wug.core.schedules import Constant
from wug.functional.streams import stream_key
from wug.interfaces.steps import STEPS
from wug.models.dnc import DNC
from wug.models.step_lstm import StepLSTM
from wug.tasks.memory.copy import Copy
from wug.tasks.memory.multi_query_recall import MultiQueryRecall
from wug.training.engine import initial_module
from wug.training.loop import Training
from wug.training.plan import Clip, Lot, Plan, Variant
from wug.training.stacked_steps import StackedSteps

CPU = torch.device("cpu")
STEPS_TAKEN = 3
COPY = Copy(
    bits=2, train_lengths=(1, 2), ood_validation_lengths=(3, 3), test_lengths=(4, 4), repeats=(1, 2)
)
RECALL = MultiQueryRecall(
    vocabulary=12, train_sizes=((8, 2), (12, 3)), ood_validation_sizes=((16, 4),),
    test_sizes=((16, 4),),
)  # fmt: skip


def dnc(generator):
    return DNC(
        3, 2, controller_features=4, num_cells=3, word_features=4, generator=generator,
        dtype=torch.float64,
    )  # fmt: skip


def lstm(generator):
    return StepLSTM(
        12, 12, features=4, tokens=True, embedding_features=3, generator=generator,
        dtype=torch.float64,
    )  # fmt: skip


CASES = {"dnc": (dnc, COPY), "lstm": (lstm, RECALL)}


def make_lot(case, streams):
    build, task = CASES[case]
    variants = tuple(
        Variant(labels={"rate": str(rate)}, task=task, learning_rate=Constant(rate))
        for rate in (1e-2, 1e-3)
    )
    plan = Plan(steps=STEPS_TAKEN, batch_size=4, evaluate_every=STEPS_TAKEN, clip=Clip(norm=1.0))
    return Lot(name=case, build=build, variants=variants, seeds=(0, 2), plan=plan, streams=streams)


def as_double(batch):
    return {n: v.double() if v.is_floating_point() else v for n, v in batch.items()}


def alone(lot, variant, seed):
    """Train one replica by torch's own means, one eager time step after the other."""
    network = initial_module(lot, seed)
    optimiser = torch.optim.Adam(network.parameters(), variant.learning_rate(torch.zeros(1)).item())
    own = () if lot.streams == "shared" else (seed,)
    number, _ = stream_key("generated", *map(str, lot.stream(variant, *own)))
    for step in range(STEPS_TAKEN):
        made = variant.task.batch("train", seed=number, step=step, size=lot.plan.batch_size)
        batch = as_double(made._asdict() | {"asked": made.asked.float()})
        optimiser.zero_grad()
        loss = STEPS.losses(network(batch["inputs"]).answer, batch).sum() / batch["asked"].sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    return network


@pytest.mark.parametrize("streams", ["shared", "independent"])
@pytest.mark.parametrize("case", CASES)
def test_a_replica_equals_the_same_network_alone(case, streams, monkeypatch):
    lot = make_lot(case, streams)
    training = Training(lot, device=CPU, compiled=False)
    assert isinstance(training.engine, StackedSteps)
    draw = training.engine._batch
    monkeypatch.setattr(training.engine, "_batch", lambda *when: as_double(draw(*when)))
    training.advance(STEPS_TAKEN)
    for g, variant in enumerate(lot.variants):
        for s, seed in enumerate(lot.seeds):
            expected = dict(alone(lot, variant, seed).named_parameters())
            found = {n: v[g, s] for n, v in training.engine.tensors["params"].items()}
            assert_close(found, {n: expected[n].detach() for n in found}, rtol=1e-8, atol=1e-10)


def test_evaluations_are_those_of_the_network_alone():
    lot = replace(make_lot("dnc", "shared"), build=lambda g: dnc(g).float())
    training = Training(lot, device=CPU, compiled=False)
    found = training.engine.evaluate(["test"])["test"]
    network, source = initial_module(lot, 2), COPY.source(4)
    with torch.no_grad():
        expected, _ = STEPS.counts(COPY, network, source.part("test", 0), None, 1)
    for measure, counts in expected.items():
        assert_close(torch.tensor(found[measure][1]), counts)


def test_it_trains_judges_and_resumes_as_undisturbed(tmp_path):
    lot = replace(make_lot("dnc", "shared"), build=lambda g: dnc(g).float())
    lot = replace(lot, plan=replace(lot.plan, steps=4, evaluate_every=2))
    whole = Training(lot, device=CPU, compiled=False).train()
    first = Training(lot, device=CPU, compiled=False)
    first.evaluate(first.advance(2))
    first._save(tmp_path / "checkpoint")
    again = Training(lot, device=CPU, compiled=False).train(checkpoint=tmp_path / "checkpoint")
    for one, other in zip(whole, again, strict=True):
        assert one.outcome == other.outcome and one.curves == other.curves
    groups = whole[0].outcome["groups"]["selected"]
    assert set(groups["validation"]["error"]) == {"1", "2"}
