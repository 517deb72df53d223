import os
import time
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_lots import sequence_lot, train_and_keep
from torch import nn

from wug.models.transformer_xl import TransformerXL
from wug.records import read_traces
from wug.sources.pairs import Pair, PairTask
from wug.study.traces import telling_pairs, telling_problems, write_traces, writing_traces
from wug.tasks.language.wug_test import WugTest
from wug.tasks.productivity.ctl import CTL
from wug.tasks.systematicity.ctlpp import CTLpp
from wug.training.kept_networks import keep_network, load

SMALL = {"features": 8, "hidden_features": 8}
CHAINS = CTL(train_lengths=(1, 2), ood_validation_lengths=(3, 3), test_lengths=(4, 5),
             num_train=200, num_evaluation=40)  # fmt: skip
GROUPS = CTLpp(num_functions=4, num_train=100, num_evaluation=20, longest=3)


def keep(folder, name, model, task, **options):
    """Train a network for one step, as `wug run` does, and keep it."""
    lot = sequence_lot(name, task, model, options, seed=3, steps=1, evaluate_every=1)
    engine = train_and_keep(lot, folder).engine
    engine.network.load_state_dict(engine.selected)
    return engine.network.eval()


@pytest.fixture
def ndr(tmp_path):
    return keep(tmp_path, "ndr-3", "ndr", CHAINS, **SMALL, num_steps=2, num_heads=2)


def test_a_kept_network_is_the_network_that_was_trained(tmp_path, ndr):
    network, task = load(tmp_path / "models" / "ndr-3.safetensors")
    assert task == CHAINS
    tokens, lengths = torch.tensor([CHAINS.encode("b a 101")]), torch.tensor([3])
    torch.testing.assert_close(network(tokens, lengths), ndr(tokens, lengths))


def test_traces_of_a_router(tmp_path, ndr):
    paths, problems = write_traces(tmp_path)
    assert problems == []
    assert [path.name for path in paths] == [f"ndr-3.routing-{i}.safetensors" for i in (1, 2, 3)]
    traces, damaged = read_traces(tmp_path)
    assert damaged == [] and {trace.kind for trace in traces} == {"routing"}
    about, arrays = traces[0].about, traces[0].arrays
    assert about["lot"] == "ndr-3" and about["labels"] == {"model": "ndr"} and about["seed"] == 3
    tokens = CHAINS.encode(about["problem"])
    assert len(tokens) == 6  # the longest: five functions and a symbol
    trace = ndr.trace(torch.tensor([tokens]), torch.tensor([6]))
    assert arrays["attention"].shape == (2, 2, 8, 8) and arrays["attention"].dtype == np.float16
    expected = trace["attention"][:, 0].detach().numpy()
    np.testing.assert_allclose(arrays["attention"], expected, atol=1e-3)
    np.testing.assert_allclose(
        arrays["openness"], trace["gates"][:, 0].mean(-1).detach(), atol=1e-3
    )


def test_networks_are_traced_once_and_again_when_they_change(tmp_path, ndr):
    assert len(write_traces(tmp_path)[0]) == 3
    assert write_traces(tmp_path) == ([], [])
    model = tmp_path / "models" / "ndr-3.safetensors"
    os.utime(model, (time.time() + 60, time.time() + 60))
    assert len(write_traces(tmp_path)[0]) == 3


@pytest.mark.parametrize("right", [0, 1, 2, 5])
def test_right_and_wrong_problems_are_chosen(right):
    examples = CHAINS.examples("test")
    hardest = examples[examples.levels == 5]
    known = {tuple(row) for row in hardest.tokens[:right, :6].tolist()}

    class Partly(torch.nn.Module):
        def forward(self, tokens, lengths):
            labels = [CHAINS.answer(row) for row in tokens.tolist()]
            wrong = [tuple(row) not in known for row in tokens.tolist()]
            classes = (torch.tensor(labels) + torch.tensor(wrong)) % CHAINS.num_classes
            return torch.nn.functional.one_hot(classes, CHAINS.num_classes).float()

    chosen = telling_problems(Partly(), CHAINS)
    assert len({tuple(tokens) for tokens in chosen}) == 3
    assert sum(tuple(tokens) in known for tokens in chosen) == min(right, 2)
    assert telling_problems(Partly(), CHAINS) == chosen


def test_symbols_of_ctlpp_with_and_without_attention(tmp_path):
    keep(tmp_path, "ndr-0", "ndr", GROUPS, **SMALL, num_steps=2)
    keep(tmp_path, "lstm-0", "lstm", GROUPS, features=8)
    names = {path.stem for path in write_traces(tmp_path)[0]}
    assert names == {"lstm-0.symbols", "ndr-0.symbols", *(f"ndr-0.routing-{i}" for i in (1, 2, 3))}
    traces = [trace for trace in read_traces(tmp_path)[0] if trace.kind == "symbols"]
    for trace in traces:
        assert trace.arrays["similarities"].shape == (8, 4, 4)
        diagonal = trace.arrays["similarities"].diagonal(axis1=1, axis2=2)
        np.testing.assert_allclose(diagonal, 1, atol=1e-3)
        assert trace.arrays["compatibility"].shape == (8, trace.arrays["clusters"].max() + 1, 2)
        assert trace.about["functions"] == ["a", "b", "c", "d"]
        assert trace.about["symbols"] == list("01234567")
        assert trace.about["group_names"] == list(GROUPS.groups)


def test_damage_and_foreign_classes_are_named(tmp_path, ndr):
    model = tmp_path / "models" / "ndr-3.safetensors"
    (tmp_path / "models" / "torn.safetensors").write_bytes(model.read_bytes()[:-9])
    keep(tmp_path, "mine", "wug.models.ndr:NDR", CHAINS, **SMALL)
    paths, problems = write_traces(tmp_path)
    assert len(paths) == 3
    assert len(problems) == 2 and "torn" in problems[1] and "wug.models.ndr:NDR" in problems[0]
    assert write_traces(tmp_path / "nowhere") == ([], [])


def test_a_language_model_leaves_the_use_of_its_experts(tmp_path):
    task = WugTest(length=8, num_blocks=2, train_bytes=1_000, held_out_bytes=200)
    sizes = {"features": 8, "num_layers": 2, "num_heads": 2, "memory_length": 8}
    kinds = {"sparse": {"feed_forward": "sigma_moe", "num_experts": 4, "expert_features": 4,
                        "top_k": 2}, "dense": {}}  # fmt: skip
    for name, options in kinds.items():
        model = TransformerXL(256, **sizes, **options, generator=torch.Generator().manual_seed(0))
        keep_network(tmp_path / "models" / f"{name}.safetensors", model.state_dict(),
                     model="transformer_xl", options={**sizes, **options}, task=task)  # fmt: skip
    written, problems = write_traces(tmp_path)
    assert not problems and len(written) == 2
    traces = {trace.about["lot"]: trace for trace in read_traces(tmp_path)[0]}
    assert traces["sparse"].about["kind"] == "experts"
    assert traces["sparse"].arrays["weights"].shape == (2, 4)
    assert traces["sparse"].arrays["weights"].sum() == pytest.approx(2)
    assert traces["sparse"].arrays["together"].shape == (2, 4, 4)
    assert set(traces["dense"].arrays) == {"active", "active_deviation", "units"}


def test_of_several_problems_of_a_size_the_shortest_is_shown():
    from wug.models.dnc import DNC
    from wug.study.traces import NUM_DRAWN, memory_traces
    from wug.tasks.memory.copy import Copy

    task = Copy(bits=2, train_lengths=(1, 2), repeats=(1, 6), ood_validation_lengths=(3, 3),
                test_lengths=(4, 4))  # fmt: skip
    lengths = {
        task.batch("validation", step=step, size=1, level=2).inputs.shape[1]
        for step in range(NUM_DRAWN)
    }
    assert len(lengths) > 1
    network = DNC(task.in_features, task.out_features, num_cells=2, word_features=2)
    _, arrays, _ = next(memory_traces(network, task))
    assert len(arrays["usage"]) == min(lengths)


def test_of_babi_a_short_story_of_some_tasks_is_shown(tmp_path):
    from wug.models.dnc import DNC
    from wug.study.traces import memory_traces
    from wug.tasks.memory.babi import Babi

    (tmp_path / "en-10k").mkdir()
    story = "1 Al went home.\n2 Bo is here.\n3 Where is Al?\thome\t1\n"
    short = "1 Al went out.\n2 Where is Al?\tout\t1\n"
    for task in (2, 3):
        for part in ("train", "test"):
            path = tmp_path / "en-10k" / f"qa{task}_stories_{part}.txt"
            path.write_text(story + short, encoding="utf-8")
    task = Babi(folder=tmp_path, tasks=(2, 3))
    network = DNC(
        task.in_features, task.out_features, num_cells=2, word_features=2, tokens=True,
        embedding_features=4,
    )  # fmt: skip
    ((name, arrays, about),) = memory_traces(network, task)
    words = ["al", "went", "out", ".", "where", "is", "al", "?", "-", "-", "-", "-"]
    assert (name, about["group"], about["words"]) == ("memory-2", "task 2", words)
    assert about["due"] == [""] * 11 + ["out"] and about["num_asked"] == 1
    assert (about["said"][-1] == "out") == about["num_right"] and arrays["writes"].shape == (12, 2)
    assert list(memory_traces(torch.nn.Linear(1, 1), task)) == []


def test_a_story_ends_with_an_answer_and_is_not_long():
    from wug.sources.step_batch import StepBatch
    from wug.study.traces import MOST_TOLD, first_answers

    def ends(*answers):
        asked = torch.zeros(1, 200, dtype=torch.bool)
        asked[0, list(answers)] = True
        batch = first_answers(StepBatch(asked.long(), asked.long(), asked, torch.tensor([1])))
        assert {part.shape[1] for part in batch[:3]} == {batch.asked.shape[1]}
        return batch.asked.shape[1], int(batch.asked.sum())

    assert ends(10, MOST_TOLD - 1, MOST_TOLD) == (MOST_TOLD, 2)
    assert ends(100, 150) == (101, 1)


@dataclass(frozen=True)
class Runs(PairTask):
    """Write as many letters as there are, one pair of each length from 1 to 100."""

    source_tokens = target_tokens = ("a",)

    def pairs(self, split):
        return [Pair(text, text, "all") for text in (" ".join("a" * n) for n in range(1, 101))]


class RightFrom(nn.Module):
    """Writes sequences of some length or more as they are, and nothing for others."""

    def __init__(self, least):
        super().__init__()
        self.least = nn.Parameter(torch.tensor(float(least)))

    def forward(self, source, source_lengths, fed):
        place = torch.arange(fed.shape[1])
        long = (source_lengths >= self.least)[:, None]
        return F.one_hot(((place >= source_lengths[:, None]) | ~long).long(), 2).float()


@pytest.mark.parametrize(("least", "kinds"), [(1, [True]), (20, [True, False]), (90, [True, False]),
                                              (1_000, [False])])  # fmt: skip
def test_of_each_group_a_right_and_a_wrong_answer_are_found(least, kinds):
    chosen = telling_pairs(RightFrom(least), Runs())
    assert [int(pair.source_lengths[0]) >= least for pair, _ in chosen] == kinds
    written = list(writing_traces(RightFrom(least), Runs()))[0][2]
    assert [one["outcome"] == "right" for one in written["examples"]] == kinds
