import math

import pytest
import torch
from torch.quasirandom import SobolEngine
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.large_scale_arithmetic import (
    OPERATIONS,
    RANGES,
    SPLITS,
    LargeScaleArithmetic,
    direction_numbers,
    sobol_bits,
)

FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "inverse": lambda a, b: 1 / a,
    "sqrt": lambda a, b: math.sqrt(a),
}
KEY = torch.tensor(stream_key("x"))


@pytest.mark.parametrize("first", [0, 1, 1000, 12_345_678])
def test_points_are_those_of_torchs_engine(first):
    engine = SobolEngine(7)
    engine.fast_forward(first)
    points = sobol_bits(direction_numbers(7), torch.tensor(first), 9).double() * 2.0**-30
    assert torch.equal(points, engine.draw(9, dtype=torch.float64))


def test_batches_continue_one_sequence():
    task = LargeScaleArithmetic(dtype=torch.float64)
    values = task.input_values()
    whole = task.inputs(values, KEY, torch.tensor(0), 96)
    parts = [task.inputs(values, KEY, torch.tensor(step), 32) for step in range(3)]
    assert torch.equal(whole, torch.cat(parts))


def test_a_shift_keeps_every_stretch_evenly_spread():
    # Each of 64 equal intervals has one point of 64 aligned ones, for every input.
    task = LargeScaleArithmetic(num_inputs=8, dtype=torch.float64)
    for step in range(4):
        x = task.inputs(task.input_values(), KEY, torch.tensor(step), 64)
        places = torch.floor((x + 1) * 32)
        assert torch.equal(places.sort(0).values, torch.arange(64.0).double().expand(8, 64).T)


def test_streams_differ():
    task = LargeScaleArithmetic()
    other = torch.tensor(stream_key("y"))
    batches = [task.inputs(task.input_values(), key, torch.tensor(3), 4) for key in (KEY, other)]
    assert not torch.equal(*batches)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_targets_are_the_operation_on_two_sums(operation):
    task = LargeScaleArithmetic(operation=operation, num_inputs=8, dtype=torch.float64)
    assert task.slices == ((0, 4), (3, 7))
    x, y = task.batch("train", torch.Generator().manual_seed(1), size=9)
    for row, target in zip(x.tolist(), y.tolist(), strict=True):
        expected = FUNCTIONS[operation](sum(row[0:4]), sum(row[3:7]))
        assert target == [pytest.approx(expected, rel=1e-12)]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("split", SPLITS)
def test_ranges(operation, split):
    task = LargeScaleArithmetic(operation=operation)
    low, high = RANGES[operation][split in ("ood_validation", "test")]
    x, _ = task.batch(split, torch.Generator().manual_seed(0), size=500)
    assert low <= x.min() and x.max() <= high
    if split != "train":
        x = task.evaluation_inputs(split, size=500)
        assert low <= x.min() and x.max() <= high
        assert torch.equal(x, task.evaluation_inputs(split, size=500))
        assert_close(x.mean(), torch.tensor((low + high) / 2), atol=0.01, rtol=0)


@pytest.mark.parametrize("operation", ["add", "sub"])
def test_threshold_of_sums_by_formula(operation):
    # Both sums are off: where the slices overlap twice, and so on; inputs have variance 4 / 3.
    signs = {"add": 1, "sub": -1}[operation]
    task = LargeScaleArithmetic(operation=operation)
    (a0, a1), (b0, b1) = task.slices
    off = [(-1 if a0 <= i < a1 else 1) + signs * (-1 if b0 <= i < b1 else 1) for i in range(100)]
    expected = 1e-10 * 4 / 3 * sum(value**2 for value in off)
    assert task.threshold() == pytest.approx(expected, rel=0.1)


def test_bad_input():
    with pytest.raises(UserError, match="operation must be one of"):
        LargeScaleArithmetic(operation="div")
    with pytest.raises(UserError, match="num_inputs must be at least 4; got 3"):
        LargeScaleArithmetic(num_inputs=3)
    with pytest.raises(UserError, match="split must be one of"):
        LargeScaleArithmetic().evaluation_inputs("train")
