"""What one pass with the right answers says of greedy answers, with and without an oracle."""

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from wug.core.errors import UserError
from wug.core.schedules import Constant
from wug.functional.transduction import oracle_match, outcomes
from wug.interfaces.transduction import TRANSDUCTION
from wug.models.encoder_decoder import EncoderDecoder
from wug.sources.pairs import Pair, PairTask
from wug.training.objective import objective
from wug.training.train import train


@dataclass(frozen=True)
class Echo(PairTask):
    """Write a sequence again."""

    teach_end: bool = True

    source_tokens = target_tokens = ("a", "b", "c")

    def pairs(self, split):
        texts = [f"{x} {y}" for x in "abc" for y in "abc"] + ["a", "b", "c"]
        return [Pair(text, text, str(len(text.split()))) for text in texts]


def network(bias=0.0):
    """Return a network that writes nonsense, and ends more often the higher the bias."""
    made = EncoderDecoder(3, 3, features=8, hidden_features=8, num_heads=2, num_layers=1,
                          generator=torch.Generator().manual_seed(5)).eval()  # fmt: skip
    with torch.no_grad():
        made.bias[-1] += bias
    return made


@pytest.mark.parametrize("bias", [-1.0, 0.0, 1.0])
def test_one_pass_says_what_decoding_does(bias):
    task, model = Echo(), network(bias)
    batch = task.examples("test").to_batch()
    with torch.no_grad():
        found = TRANSDUCTION.each(task, model, batch)
    width = batch["target"].shape[1] + 1
    given = batch["target"], batch["target_lengths"]
    kind = outcomes(model.decode(batch["source"], batch["source_lengths"], width), *given, 3)
    assert found["accuracy"].equal(kind == 0)
    assert found["stopped_wrongly"].equal((kind == 1) | (kind == 2))
    cut = model.decode(batch["source"], batch["source_lengths"], width, oracle="forbidden")
    assert found["oracle_accuracy"].equal(oracle_match(cut, *given))


def test_without_the_end_answers_are_cut_at_the_true_length():
    batch = Echo().examples("test").to_batch()
    with torch.no_grad():
        taught, cut = (TRANSDUCTION.each(Echo(teach_end=end), network(9.0), batch)
                       for end in (True, False))  # fmt: skip
    assert taught["stopped_wrongly"].all() and not cut["stopped_wrongly"].any()
    assert cut["accuracy"].equal(cut["oracle_accuracy"])
    assert cut["accuracy"].equal(taught["oracle_accuracy"])
    # The end is not in the loss, so how likely it is at the end does not matter.
    assert TRANSDUCTION.weights(Echo(), batch)["loss"] == 12 + 21
    assert TRANSDUCTION.weights(Echo(teach_end=False), batch)["loss"] == 21


def test_parts_of_similar_lengths_hold_every_pair_once():
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 9, (2, 50), generator=generator)
    wide = {
        side: torch.randint(1, 5, (50, 8), generator=generator) for side in ("source", "target")
    }
    batch = {"number": torch.arange(50)}
    for row, (side, ids) in enumerate(wide.items()):
        batch[side] = ids * (torch.arange(8) < lengths[row, :, None])
        batch[f"{side}_lengths"] = lengths[row]
    parts = TRANSDUCTION.split(batch, 4)
    assert torch.cat([part["number"] for part in parts]).sort().values.equal(batch["number"])
    assert all(a["target_lengths"].max() <= b["target_lengths"].min() for a, b in pairwise(parts))
    for part in parts:
        for side in ("source", "target"):
            width = int(part[f"{side}_lengths"].max())
            assert part[side].equal(batch[side][part["number"], :width])
    assert TRANSDUCTION.split(batch, 1) == [batch]
    few = TRANSDUCTION.split({name: value[:2] for name, value in batch.items()}, 3)
    assert [len(part["target"]) for part in few] == [1, 1, 0]


def test_training_in_parts_is_training_on_the_whole():
    options = {"features": 8, "hidden_features": 8, "num_heads": 2, "num_layers": 1, "dropout": 0}
    curves = [
        train("encoder_decoder", Echo(), steps=9, options=options, batch_size=12, evaluate_every=3,
              engine="single", accumulation=parts)[0].curves
        for parts in (1, 4)
    ]  # fmt: skip
    assert curves[1]["train"] == pytest.approx(curves[0]["train"], rel=1e-5)
    assert len(set(curves[0]["train"])) == 3


def test_label_smoothing_is_that_of_torch():
    task, model = Echo(), network()
    batch = task.examples("test").to_batch()
    terms, output = TRANSDUCTION.terms(task, model, batch, None)
    found = objective(model, {}, terms, output, {"label_smoothing": 0.1})
    logits, wanted = TRANSDUCTION.call(task, model, batch)
    taught = TRANSDUCTION.taught(task, batch, wanted.shape[1])
    rows = logits.answer[taught], wanted[taught]
    torch.testing.assert_close(found, F.cross_entropy(*rows, label_smoothing=0.1))
    torch.testing.assert_close(objective(model, {}, terms, output, {}), F.cross_entropy(*rows))


def test_a_plan_may_smooth():
    options = {"features": 8, "hidden_features": 8, "num_heads": 2, "num_layers": 1}
    smooth = {"label_smoothing": Constant(0.5)}
    losses = [
        train("encoder_decoder", Echo(), steps=2, options=options, terms=terms)[0].curves["train"]
        for terms in ({}, smooth)
    ]
    assert losses[0] != losses[1]


@pytest.mark.parametrize(("text", "truth"), [("a b", "a b"), ("a", None)])
def test_the_right_answer_is_told_where_the_task_knows_it(text, truth, monkeypatch):
    monkeypatch.setattr(Echo, "true_target", lambda self, source: truth)
    answer = TRANSDUCTION.ask(replace(Echo()), network(9.0), f" {text} ")
    assert (answer["problem"], answer["prediction"], answer["answer"]) == (text, "", truth)
    assert answer["tokens"] == Echo().encode_source(text)


@dataclass(frozen=True)
class AnyOrder(PairTask):
    """Write the letters of a sequence in any order."""

    source_tokens = target_tokens = ("a", "b", "c")

    def pairs(self, split):
        return [Pair(text, text, "all") for text in ("a b", "a c c", "b", "c a")]

    def same(self, answer, target):
        return sorted(answer.split()) == sorted(target.split())


class Backwards(nn.Module):
    """Writes a source backwards, whatever it was fed, and a letter more where it begins with c."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, source, source_lengths, fed):
        rows = []
        for ids, length in zip(source.tolist(), source_lengths.tolist(), strict=True):
            said = [*reversed(ids[:length]), *([1] if ids[0] == 2 else [])]
            rows.append((said + [3] * fed.shape[1])[: fed.shape[1]])
        return F.one_hot(torch.tensor(rows), 4) * self.scale


def test_what_means_the_same_is_right_where_the_task_says_so():
    task = AnyOrder()
    assert not task.literal and Echo().literal
    found = TRANSDUCTION.each(task, Backwards(), task.examples("test").to_batch())
    assert found["accuracy"].tolist() == [True, True, True, False]
    assert found["oracle_accuracy"].tolist() == [True, True, True, False]
    assert found["wrote_wrongly"].tolist() == [False, False, False, True]
    literal = TRANSDUCTION.each(Echo(), Backwards(), task.examples("test").to_batch())
    assert literal["accuracy"].tolist() == [False, False, True, False]


def test_tasks_that_judge_whole_answers_are_trained_one_by_one():
    options = {"features": 8, "hidden_features": 8, "num_heads": 2, "num_layers": 1}
    found = train("encoder_decoder", AnyOrder(), steps=2, options=options, seeds=2)
    assert [result.outcome["engine"] for result in found] == ["single", "single"]
    with pytest.raises(UserError, match="judges whole answers; name the single engine"):
        train("encoder_decoder", AnyOrder(), steps=2, options=options, engine="stacked")


def test_a_network_without_decode_answers_by_repeated_passes():
    answer = TRANSDUCTION.ask(Echo(), Backwards(), "a b")
    assert (answer["prediction"], answer["problem"]) == ("b a", "a b")


@dataclass(frozen=True)
class Sentences(PairTask):
    """Sentences with a full stop."""

    source_tokens = target_tokens = ("The", "cat", "slept", ".", "-1")

    def pairs(self, split):
        return [Pair("The cat slept .", "slept", "all")]


@pytest.mark.parametrize(
    "text", ["The cat slept .", "The cat slept.", "  The  cat\tslept .\n", "The cat slept ."]
)
def test_what_a_person_types_is_cut_into_tokens(text):
    assert Sentences().typed(text) == "The cat slept ."


def test_what_is_unknown_is_named_as_it_was_typed():
    with pytest.raises(UserError, match="unknown token 'dog'"):
        Sentences().encode_source(Sentences().typed("The dog."))
    with pytest.raises(UserError, match="an empty source"):
        TRANSDUCTION.ask(Sentences(), Backwards(), "  ")
    assert Sentences().typed("-1 . cat!") == "-1 . cat!"
