import pytest
import torch

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.boolean import FUNCTIONS, Boolean

RULES = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a, b: not a,
    "xor": lambda a, b: a != b,
    "implies": lambda a, b: b or not a,
    "equivalent": lambda a, b: a == b,
    "identity": lambda a, b: a,
    "constant": lambda a, b: True,
}


def as_set(rows):
    return {tuple(row) for row in rows.tolist()}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("num_inputs", [2, 4])
def test_targets_are_the_function_of_the_first_two(function, num_inputs):
    task = Boolean(function=function, num_inputs=num_inputs)
    x, y = task.batch("test", torch.Generator().manual_seed(1), size=40)
    rows = [[bool(value) for value in row] for row in x.tolist()]
    assert y.flatten().tolist() == [float(RULES[function](*row[:2])) for row in rows]


def test_splits_share_out_the_truth_table():
    task = Boolean(num_inputs=5, train_share=0.5)
    parts = {s: as_set(task.evaluation_inputs(s)) for s in ("validation", "ood_validation", "test")}
    assert [len(part) for part in parts.values()] == [16, 8, 8]
    assert len(set.union(*parts.values())) == 32


def test_a_full_batch_is_all_rows_for_training():
    task = Boolean(num_inputs=3, train_share=0.75)
    key = torch.tensor(stream_key("rows"))
    first, later = (
        task.inputs(task.input_values(), key, torch.tensor(step), task.num_rows) for step in (0, 9)
    )
    assert torch.equal(first, later) and task.num_rows == 6
    assert as_set(first) == as_set(task.evaluation_inputs("validation"))


def test_without_rows_left_the_whole_table_is_the_test():
    assert as_set(Boolean().evaluation_inputs("test")) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_one_wrong_answer_is_an_error():
    task = Boolean()
    assert task.error(torch.tensor([0.0, 0.25, 1.0]), torch.tensor([0.0, 1.0, 1.0])) == 0.75


def test_bad_input():
    with pytest.raises(UserError, match="function must be one of and, or, not"):
        Boolean(function="nand")
    with pytest.raises(UserError, match="num_inputs must be at least 2; got 1"):
        Boolean(num_inputs=1)
    with pytest.raises(UserError, match="train_share must be above 0 and at most 1; got 0"):
        Boolean(train_share=0.0)
