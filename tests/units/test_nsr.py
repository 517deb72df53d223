import operator

import pytest
import sympy
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nsr import NSR

LARGE = 40.0
# Weights of the bits and the shift that turn them into each comparison.
COMPARISONS = {
    operator.gt: (2, 0, -1),
    operator.lt: (-2, 0, -1),
    operator.ge: (2, 0, 1),
    operator.le: (-2, 0, 1),
    operator.eq: (0, 1, 0),
    operator.ne: (0, -1, 0),
}


def make_reference(scale=1.0, negation=False):
    """mistry2022, Eq. 30-37, summed over redundant paths before the sigmoid."""

    def reference(functions, x, params):
        def select(logits):
            exponentials = [functions.exp(v) for v in logits]
            return sum(e / sum(exponentials) * x_i for e, x_i in zip(exponentials, x, strict=True))

        outputs = []
        for o, shifts in enumerate(params["shift"]):
            z = sum(shifts)
            for r, first in enumerate(params["first"][o]):
                difference = scale * (select(first) - select(params["second"][o][r]))
                sign = functions.tanh(difference)
                zero = 1 - 2 * functions.tanh(difference) ** 2
                z = z + sign * params["sign"][o][r] + zero * params["zero"][o][r]
            outputs.append(1 / (1 + functions.exp(-z)))
        return [*outputs, *(1 - y for y in outputs)] if negation else outputs

    return reference


@pytest.mark.parametrize("redundancy", [1, 3])
@pytest.mark.parametrize("shift", ["separate", "shared"])
def test_equals_the_reference(size, redundancy, shift, randomise, matches):
    unit = NSR(*size, redundancy=redundancy, shift=shift, scale=0.3)
    matches(randomise(unit), make_reference(scale=0.3))


def test_negations_follow(size, randomise, matches):
    unit = randomise(NSR(*size, negation=True))
    assert unit(torch.ones(4, size[0], dtype=torch.float64)).shape == (4, 2 * size[1])
    matches(unit, make_reference(negation=True))


@pytest.mark.parametrize("redundancy", [1, 3])
def test_formula(size, redundancy, randomise, spells):
    spells(randomise(NSR(*size, redundancy=redundancy, scale=0.3)))


def test_formula_of_negations(randomise):
    unit = randomise(NSR(2, 3, negation=True))
    values = sympy.lambdify(sympy.symbols("a b", real=True), unit.formula(["a", "b"]))
    x = torch.tensor([0.4, -0.2], dtype=torch.float64)
    assert values(*x.tolist()) == pytest.approx(unit(x).tolist())


def comparator(comparison, in_features=3, **options):
    """Compare the first input with the last."""
    unit = NSR(in_features, 1, redundancy=1, dtype=torch.float64, **options)
    sign, zero, shift = COMPARISONS[comparison]
    first, second = torch.full((2, 1, 1, in_features), -10 * LARGE, dtype=torch.float64)
    first[..., 0] = second[..., -1] = 10 * LARGE
    bits = {"sign": sign, "zero": zero, "shift": shift}
    unit.load_state_dict(
        {"first": first, "second": second}
        | {name: torch.full((1, 1), LARGE * value).double() for name, value in bits.items()}
    )
    return unit


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("size", [1.0, 1e3, 1e9])
def test_comparisons(comparison, size):
    unit = comparator(comparison, scale=20.0, negation=True)
    numbers = torch.tensor([-size - 1, -size, -1, 0, 1, size, size + 1], dtype=torch.float64)
    a, b = (part.flatten() for part in torch.meshgrid(numbers, numbers, indexing="ij"))
    truth = comparison(a, b).double()
    outputs = unit(torch.stack((a, torch.full_like(a, 77.0), b), -1))
    assert_close(outputs, torch.stack((truth, 1 - truth), -1), rtol=0, atol=1e-12)


def test_scale_sets_what_counts_as_equal():
    x = torch.tensor([0.0, 0.01], dtype=torch.float64)
    assert comparator(operator.eq, 2, scale=1.0)(x) > 0.999
    assert comparator(operator.eq, 2, scale=1000.0)(x) < 0.001


def test_shared_shift_is_the_sum_of_separate_ones(randomise):
    separate = randomise(NSR(3, 2, redundancy=4))
    shared = NSR(3, 2, redundancy=4, shift="shared", dtype=torch.float64)
    params = {name: p.detach() for name, p in separate.named_parameters()}
    shared.load_state_dict(params | {"shift": params["shift"].sum(-1, keepdim=True)})
    x = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    assert_close(shared(x), separate(x))


@pytest.mark.parametrize(("in_features", "redundancy"), [(2, 10), (5, 1), (9, 3)])
def test_initial_weights(in_features, redundancy, starts_normal):
    unit = NSR(in_features, 2, redundancy=redundancy)
    for name in ("first", "second"):
        starts_normal(unit, name, 0.0, (2 / (in_features + redundancy)) ** 0.5)
    for name in ("sign", "zero"):
        starts_normal(unit, name, 0.0, (2 / (redundancy + 1)) ** 0.5)
    assert not unit.shift.any()


def test_weights_are_distributions(generator):
    unit = NSR(3, 2, redundancy=4, generator=generator)
    weights = unit.weights(dict(unit.named_parameters()))
    assert set(weights) == {"first", "second"}
    for weight in weights.values():
        assert weight.shape == (8, 3)
        assert_close(weight.sum(-1), torch.ones(8))


def test_trace():
    unit = comparator(operator.gt, scale=20.0)
    trace = unit.trace(torch.tensor([[5.0, 7.0, 4.0], [4.0, 7.0, 4.0]], dtype=torch.float64))
    assert set(trace) == {"first", "second", "sign", "zero", "output"}
    assert trace["first"].flatten().tolist() == [5.0, 4.0]
    assert trace["second"].flatten().tolist() == [4.0, 4.0]
    assert_close(trace["sign"].flatten(), torch.tensor([1.0, 0.0]).double())
    assert_close(trace["zero"].flatten(), torch.tensor([-1.0, 1.0]).double())


def test_one_input_is_constant(generator):
    outputs = NSR(1, 1, generator=generator)(torch.tensor([[-3.0], [0.0], [1e6]]))
    assert (outputs == outputs[0]).all()


def test_bad_arguments():
    with pytest.raises(UserError, match="NSR: redundancy must be at least 1; got 0"):
        NSR(2, 1, redundancy=0)
    with pytest.raises(UserError, match="NSR: scale must be above 0; got 0.0"):
        NSR(2, 1, scale=0.0)
    with pytest.raises(UserError, match="shift must be one of separate, shared; got 'none'"):
        NSR(2, 1, shift="none")


@pytest.mark.slow
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda function: function.__name__)
def test_learns_and_extrapolates(comparison, generator):
    """Trained on pairs of digits, tested around 10,000."""
    unit = NSR(2, 1, generator=generator, dtype=torch.float64)
    digits = torch.arange(1, 10, dtype=torch.float64)
    pairs, equal = torch.cartesian_prod(digits, digits), torch.stack((digits, digits), -1)
    # As many equal pairs as others.
    x = torch.cat((pairs, equal.repeat(7, 1)))
    y = comparison(x[:, 0], x[:, 1]).double()
    optimiser = torch.optim.Adam(unit.parameters(), 0.05)
    for _ in range(2_000):
        optimiser.zero_grad()
        (unit(x)[:, 0] - y).abs().mean().backward()
        optimiser.step()
    test = pairs + 10_000
    assert torch.equal(unit(test)[:, 0] > 0.5, comparison(test[:, 0], test[:, 1]))
