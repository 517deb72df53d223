import json
import math

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import nn

from wug.analysis.routing import (
    judge_openness,
    measure_routing,
    operand_columns,
    operand_masks,
    routing_record,
    written_on_time,
)
from wug.core.errors import UserError
from wug.models.lstm import LSTM
from wug.models.ndr import NDR
from wug.models.transformer import Transformer
from wug.records import Record
from wug.sources.sequence_set import SequenceSet
from wug.tasks.productivity.ctl import CTL
from wug.tasks.productivity.listops import ListOps
from wug.tasks.productivity.simple_arithmetic import SimpleArithmetic

SMALL = {"features": 8, "hidden_features": 8}
# Columns 0 and 1 are inputs, 2 and 3 need them, 4 needs 2 and 3, 5 needs 4.
TREE = {2: (0,), 3: (0, 1), 4: (2, 3), 5: (4,)}


def mask_of(needs, num_columns=6):
    mask = np.zeros((1, num_columns, num_columns), dtype=bool)
    for target, sources in needs.items():
        mask[0, target, list(sources)] = True
    return mask


def openness_of(*steps, num_columns=6):
    """Return the gates of one problem from the columns that are open in each step."""
    openness = np.full((len(steps), 1, num_columns), 0.1, dtype=np.float32)
    for step, columns in enumerate(steps):
        openness[step, 0, list(columns)] = 0.9
    return openness


def problem_set(task, *problems):
    sequences = [task.encode(problem) for problem in problems]
    return SequenceSet.from_lists(
        sequences, [task.answer(tokens) for tokens in sequences], [1] * len(sequences)
    )


class Router(nn.Module):
    """Opens a column as many steps late as its result is deep, or in the opposite order."""

    def __init__(self, task, *, reverse=False, num_steps=9):
        super().__init__()
        self.task, self.reverse, self.num_steps = task, reverse, num_steps

    def trace(self, tokens, lengths):
        assert not self.training
        gates = torch.zeros(self.num_steps, len(tokens), tokens.shape[1] + 2, 3)
        for row, (ids, length) in enumerate(zip(tokens.tolist(), lengths.tolist(), strict=True)):
            needed = self.task.dependencies(ids[:length])

            def depth(place, needed=needed):
                return 1 + max(map(depth, needed[place])) if needed[place] else 0

            deepest = max(map(depth, range(length)))
            for place in range(length):
                if depth(place):
                    step = deepest - depth(place) if self.reverse else depth(place) - 1
                    gates[step, row, place + 1] = torch.tensor([0.3, 0.9, 1.0])
            gates[:, row, length + 2 :] = 1.0  # whatever padding does
        return {"gates": gates}


@pytest.mark.parametrize(
    ("steps", "score"),
    [
        ([(2, 3), (4,), (5,)], 1.0),
        ([(3,), (2,), (), (4,), (5,)], 1.0),  # branches in any order
        ([(2, 3), (2, 3, 4), (0, 4, 5), (5,)], 1.0),  # gates that stay open
        ([(5,), (4,), (2, 3)], 0.0),
        ([(2, 3, 4, 5)] * 5, 0.0),  # always open
        ([(2,), (4,), (5,)], 0.0),  # one operand is never written
        ([(2, 3, 4, 5)], 0.0),  # all in one step
        ([(2, 4), (3,), (4,), (5,)], 2 / 3),  # once too early, then on time
        ([(2, 4), (3, 4), (4,), (5,)], 1 / 2),  # opened too early, though ready in the end
        ([(2, 3), (4,), (), (4, 5)], 1.0),  # a second time
    ],
)
def test_score_by_hand(steps, score):
    routing = judge_openness(openness_of(*steps), mask_of(TREE))
    assert routing.score == pytest.approx(score)
    assert routing.scores == pytest.approx([score])


@pytest.mark.parametrize("steps", [[()], [(0, 1, 2, 3)]], ids=["closed", "nothing to wait for"])
def test_score_of_no_openings(steps):
    routing = judge_openness(openness_of(*steps), mask_of(TREE))
    assert math.isnan(routing.score)
    assert np.isnan(routing.scores).all()


def test_steps():
    routing = judge_openness(openness_of((0, 2), (2,), (4,), (2,)), mask_of(TREE))
    assert routing.first.tolist() == [[1, 0, 1, 0, 3, 0]]
    assert routing.last.tolist() == [[1, 0, 4, 0, 3, 0]]


def test_threshold():
    openness = openness_of((2, 3), (4,), (5,))
    assert math.isnan(judge_openness(openness, mask_of(TREE), threshold=0.95).score)
    assert judge_openness(openness, mask_of(TREE), threshold=0.05).score == 0.0


def test_equals_the_recursive_definition():
    rng = np.random.default_rng(0)
    operands = np.tril(rng.random((40, 7, 7)) < 0.3, -1)
    written = rng.random((6, 40, 7)) < 0.4

    def ready(problem, column):
        """Return the step after which a column holds its result; inputs before the first."""
        sources = np.flatnonzero(operands[problem, column])
        if not sources.size:
            return -1
        latest = max(ready(problem, source) for source in sources)
        return next((t for t in range(6) if t > latest and written[t, problem, column]), 99)

    expected = np.zeros_like(written)
    for step, problem, column in zip(*written.nonzero(), strict=True):
        sources = np.flatnonzero(operands[problem, column])
        expected[step, problem, column] = all(ready(problem, one) < step for one in sources)
    np.testing.assert_array_equal(written_on_time(written, operands), expected)
    routing = judge_openness(written.astype(np.float32), operands)
    for problem in range(40):
        alone = judge_openness(written[:, [problem]].astype(np.float32), operands[[problem]])
        assert routing.scores[problem] == pytest.approx(alone.score, nan_ok=True)


def test_operands_are_shifted_by_the_begin_token():
    task = SimpleArithmetic()
    tokens = task.encode("((4*7)+2)")
    operands = operand_columns(task, tokens)
    assert len(operands) == len(tokens) + 2
    assert {target: sources for target, sources in enumerate(operands) if sources} == {
        4: (3, 5),
        7: (4, 8),
    }
    masks = operand_masks(task, problem_set(task, "((4*7)+2)", "3"))
    assert masks.shape == (2, 11, 11)
    assert np.argwhere(masks).tolist() == [[0, 4, 3], [0, 4, 5], [0, 7, 4], [0, 7, 8]]


@pytest.mark.parametrize(
    ("task", "problems"),
    [
        (CTL(order="forward"), ["101 d a b", "000 a", "111 a b"]),
        (CTL(order="backward"), ["b a d 101", "a 000", "b a 111"]),
        (SimpleArithmetic(), ["((4*7)+(2+(3*3)))", "(1+2)", "((1+2)*(3+4))"]),
        (ListOps(), ["[MED 4 [MIN 8 5] [MAX 8 [SM 4 2] 9]]", "[MAX 1 [MIN 3 4]]"]),
    ],
    ids=["forward", "backward", "arithmetic", "listops"],
)
def test_routers(task, problems):
    examples = problem_set(task, *problems)
    ordered = measure_routing(Router(task).train(), task, examples, batch_size=2)
    assert ordered.score == 1.0
    assert measure_routing(Router(task, reverse=True), task, examples).score == 0.0
    columns = examples.lengths.numpy()[:, None] + 2
    padding = np.broadcast_to(np.arange(ordered.openness.shape[-1]) >= columns, ordered.first.shape)
    assert not ordered.first[padding].any()
    assert not ordered.openness[:, padding].any()


def test_of_a_network_equals_its_trace_of_each_problem_alone():
    task = CTL()
    network = NDR(
        task.num_tokens, task.num_classes, **SMALL, num_heads=2, num_steps=3, test_steps=4,
        dropout=0.5, gate_dropout=0.5, generator=torch.Generator().manual_seed(0),
    ).train()  # fmt: skip
    nn.init.zeros_(network.gate.bias_out)
    examples = problem_set(task, "b a d 101", "a 000", "b a 111")
    routing = measure_routing(network, task, examples, batch_size=2)
    assert network.training
    assert routing.openness.shape == (4, 3, 6)
    for row in range(3):
        tokens = examples.tokens[row, : examples.lengths[row]].tolist()
        arrays, about = routing_record(network, task, tokens)
        columns = len(tokens) + 2
        assert arrays["attention"].shape == (4, 2, columns, columns)
        np.testing.assert_allclose(arrays["openness"], routing.openness[:, row, :columns], 1e-4)
        assert about["first"] == routing.first[row, :columns].tolist()
        assert about["last"] == routing.last[row, :columns].tolist()


def test_record_of_a_network(tmp_path):
    task = CTL()
    network = NDR(task.num_tokens, task.num_classes, **SMALL, num_steps=3).eval()
    nn.init.constant_(network.gate.bias_out, -9.0)
    tokens = task.encode("b a 101")
    arrays, about = routing_record(network, task, tokens)
    trace = network.trace(torch.tensor([tokens]), torch.tensor([3]))
    np.testing.assert_array_equal(arrays["attention"], trace["attention"][:, 0].detach())
    np.testing.assert_allclose(arrays["openness"], trace["gates"][:, 0].detach().mean(-1), 1e-6)
    assert about["problem"] == "b a 101"
    assert about["columns"] == ["begin", "b", "a", "101", "end"]
    assert about["operands"] == [[], [2], [3], [], []]
    assert about["answer"] == task.classes[task.answer(tokens)]
    assert about["prediction"] == task.classes[int(trace["logits"].argmax())]
    assert about["score"] is None  # all gates are closed
    save_file(arrays, tmp_path / "trace.safetensors", {"about": json.dumps(about)})
    with safe_open(tmp_path / "trace.safetensors", framework="numpy") as file:
        assert json.loads(file.metadata()["about"]) == about
        np.testing.assert_array_equal(file.get_tensor("openness"), arrays["openness"])
    Record(experiment="demo", key={"seed": 0}, kind="trace", config={}, seed=0, outcome=about)


def test_record_without_gates():
    task = CTL()
    network = Transformer(task.num_tokens, task.num_classes, **SMALL, num_layers=2)
    arrays, about = routing_record(network, task, task.encode("a 101"))
    assert set(arrays) == {"attention"}
    assert "score" not in about
    with pytest.raises(UserError, match="trace with gates.*Transformer has none"):
        measure_routing(network, task, problem_set(task, "a 101"))


def test_errors():
    task = CTL()
    lstm = LSTM(task.num_tokens, task.num_classes, features=4)
    with pytest.raises(UserError, match="trace with attention.*LSTM has none"):
        routing_record(lstm, task, task.encode("a 101"))
    with pytest.raises(UserError, match="trace with gates.*Identity has none"):
        measure_routing(nn.Identity(), task, problem_set(task, "a 101"))
    with pytest.raises(UserError, match="at least 1; got 0"):
        measure_routing(Router(task), task, problem_set(task, "a 101")[:0])


def test_results_in_turn_and_branches_at_once():
    # Columns 2 and 3 are written together, then 4, then 5.
    orderly = judge_openness(openness_of((2, 3), (4,), (5,)), mask_of(TREE))
    assert orderly.in_turn == 1.0 and orderly.at_once == 1.0
    # 4 comes before 3, which it needs, and 2 and 3 are never written in the same step.
    hasty = judge_openness(openness_of((2,), (4,), (3,), (5,)), mask_of(TREE))
    assert hasty.in_turn == pytest.approx(2 / 3)  # 2 before 4 and 4 before 5, not 3 before 4
    assert hasty.at_once == 0.0
    nothing = judge_openness(openness_of((), ()), mask_of(TREE))
    assert nothing.in_turn == 0.0 and nothing.at_once == 0.0
    chain = judge_openness(openness_of((2,)), mask_of({2: (1,), 3: (2,)}))
    assert math.isnan(chain.at_once)


def test_attention_to_operands_is_read_when_a_column_is_first_written():
    attended = np.zeros((3, 1, 6), dtype=np.float32)
    attended[1, 0, 4], attended[2, 0, 5], attended[0, 0, 5] = 0.75, 0.25, 1.0
    openness = openness_of((2, 3), (4,), (5,))
    routing = judge_openness(openness, mask_of(TREE), attended=attended)
    # 2 and 3 have nothing to wait for, and what 5 looked at before it was written does not count.
    assert routing.operand_attention == 0.5


def test_a_network_says_how_it_attends_to_operands():
    task = CTL(order="forward")
    network = NDR(task.num_tokens, task.num_classes, num_steps=4, **SMALL)
    routing = measure_routing(network, task, problem_set(task, "101 a b", "001 d"), threshold=0.0)
    assert routing.attended.shape == routing.openness.shape
    weights = network.trace(*[torch.tensor(part) for part in ([task.encode("101 a b")], [3])])
    best = weights["attention"][:, 0, :, 3, 2].max(-1).values.detach().numpy()
    assert np.allclose(routing.attended[: len(best), 0, 3], best, atol=1e-5)
