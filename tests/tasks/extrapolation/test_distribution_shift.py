import operator

import numpy as np
import pytest
import torch
from scipy import stats

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.distribution_shift import (
    OPERATIONS,
    DistributionShift,
    parse_distribution,
)

FUNCTIONS = dict(
    zip(OPERATIONS, (operator.add, operator.sub, operator.mul, operator.truediv), strict=True)
)
SCIPY = {
    "U(-3,3)": stats.uniform(-3, 6),
    "N(-2,4)": stats.truncnorm(-3, 3, loc=1, scale=1),
    "N(3,4)": stats.truncnorm(-3, 3, loc=3.5, scale=1 / 6),
    "E(0.2)": stats.expon(scale=0.2),
}


@pytest.mark.parametrize("text", SCIPY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_distributions_are_those_of_scipy(text, dtype):
    task = DistributionShift(train=text, dtype=dtype)
    x, _ = task.batch("train", torch.Generator().manual_seed(0), size=4_000)
    for numbers in (x, task.evaluation_inputs("validation", size=4_000)):
        assert numbers.dtype == dtype
        assert stats.kstest(numbers.double().flatten().numpy(), SCIPY[text].cdf).pvalue > 1e-3


def test_ood_sets_have_the_other_distribution():
    task = DistributionShift(train="N(-3,3)", test="N(3,4)")
    for split in ("ood_validation", "test"):
        x, _ = task.batch(split, torch.Generator().manual_seed(0), size=1_000)
        assert x.min() >= 3 and x.max() <= 4
        assert stats.kstest(x.flatten().numpy(), SCIPY["N(3,4)"].cdf).pvalue > 1e-3


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("num_inputs", [2, 10])
def test_targets_of_the_first_two_inputs(operation, num_inputs):
    task = DistributionShift(operation=operation, num_inputs=num_inputs, dtype=torch.float64)
    x, y = task.batch("train", torch.Generator().manual_seed(1), size=9, seed=4)
    for row, target in zip(x.tolist(), y.tolist(), strict=True):
        assert target == [pytest.approx(FUNCTIONS[operation](row[0], row[1]), rel=1e-12)]


def test_targets_of_subsets():
    task = DistributionShift(
        operation="mul", num_inputs=30, operands="subsets", dtype=torch.float64
    )
    first, second = task.target_values(seed=7)["masks"]
    assert not (first * second).any()
    x, y = task.batch("train", torch.Generator().manual_seed(1), size=9, seed=7)
    for row, target in zip(x.tolist(), y.tolist(), strict=True):
        a = sum(value for value, chosen in zip(row, first, strict=True) if chosen)
        b = sum(value for value, chosen in zip(row, second, strict=True) if chosen)
        assert target == [pytest.approx(a * b, rel=1e-12)]


def test_shares_of_subsets():
    task = DistributionShift(num_inputs=10_000, operands="subsets")
    shares = task.target_values(seed=0)["masks"].mean(1)
    # Within four standard deviations of a binomial share.
    np.testing.assert_allclose(shares, [0.5, 0.25], atol=4 * 0.005)
    assert not torch.equal(task.target_values(0)["masks"], task.target_values(1)["masks"])


def test_every_epoch_has_the_same_rows():
    task = DistributionShift(num_rows=96)
    values, key = task.input_values(), torch.tensor(stream_key("x"))
    batches = [task.inputs(values, key, torch.tensor(step), 32) for step in range(6)]
    assert all(map(torch.equal, batches[:3], batches[3:]))
    assert not torch.equal(batches[0], batches[1])


@pytest.mark.parametrize("text", ["U(3)", "N(1,2", "E(-1)", "X(0,1)", ""])
def test_unknown_distributions(text):
    with pytest.raises(UserError, match=r"must be such as U\(-3,3\)"):
        parse_distribution(text)


def test_bad_input():
    with pytest.raises(UserError, match="lower end must be below"):
        DistributionShift(test="U(-5,-5)")
    with pytest.raises(UserError, match="operation must be one of"):
        DistributionShift(operation="pow")
    with pytest.raises(UserError, match="num_inputs must be at least 2; got 1"):
        DistributionShift(num_inputs=1)
