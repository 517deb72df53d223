import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from wug.analysis.accuracy import accuracy_by_level, answers, function_pairs
from wug.core.errors import UserError
from wug.sources.sequences import SequenceSet
from wug.stats.wilson import wilson
from wug.tasks.productivity.ctl import CTL
from wug.tasks.systematicity.ctlpp import CTLpp


class Solver(nn.Module):
    """Answers by the task's own rule, but for problems that are chosen to be wrong."""

    def __init__(self, task, wrong):
        super().__init__()
        self.task, self.wrong = task, wrong

    def forward(self, tokens, lengths):
        assert not self.training
        assert tokens.shape[1] == lengths.max()
        problems = [
            row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)
        ]
        labels = torch.tensor([self.task.answer(one) + self.wrong(one) for one in problems])
        return F.one_hot(labels % self.task.num_classes, self.task.num_classes)


@pytest.fixture
def task():
    return CTL(num_functions=3, num_symbols=4)


@pytest.fixture
def examples(task):
    problems = ["b a 01", "a 01", "c b a 10", "b c 11", "a a 00", "c 00"]
    sequences = [task.encode(problem) for problem in problems]
    labels = [task.answer(tokens) for tokens in sequences]
    return SequenceSet.from_lists(sequences, labels, [len(one) - 1 for one in sequences])


def test_by_level(task, examples):
    # Wrong are "c b a 10" and "b c 11".
    network = Solver(task, wrong=lambda tokens: tokens[-1] >= 2).train()
    expected = {1: wilson(2, 2), 2: wilson(2, 3), 3: wilson(0, 1)}
    assert accuracy_by_level(network, examples, batch_size=2) == expected
    by_length = accuracy_by_level(network, examples, by="lengths")
    assert by_length == {level + 1: share for level, share in expected.items()}
    assert list(by_length) == [2, 3, 4]
    assert network.training


def test_answers_are_in_order(task, examples):
    network = Solver(task, wrong=lambda tokens: len(tokens) == 3)
    found = answers(network, examples, batch_size=4)
    np.testing.assert_array_equal(found == examples.labels, examples.lengths != 3)


@pytest.mark.parametrize(
    "task",
    [CTL(order="forward"), CTL(order="backward"), CTLpp(num_functions=5, num_symbols=4)],
    ids=["forward", "backward", "ctlpp"],
)
def test_function_pairs(task):
    """Wrong: function 2 applied to symbol 1 after function 0."""
    num_functions, num_symbols = task.tables.shape
    first_place, second_place = (1, 2) if getattr(task, "order", "") == "forward" else (1, 0)

    def wrong(tokens):
        assert len(tokens) == 3
        first, second = (tokens[place] - num_symbols for place in (first_place, second_place))
        symbol = tokens[2 - second_place]
        return (first, second, task.tables[first, symbol]) == (0, 2, 1)

    right = function_pairs(Solver(task, wrong), task)
    assert right.shape == (num_functions, num_functions, num_symbols)
    assert np.argwhere(~right).tolist() == [[0, 2, 1]]


def test_errors(task, examples):
    network = Solver(task, wrong=lambda tokens: False)
    with pytest.raises(UserError, match="at least 1; got 0"):
        accuracy_by_level(network, examples[:0])
    with pytest.raises(UserError, match="by must be one of levels, lengths; got 'depth'"):
        accuracy_by_level(network, examples, by="depth")
