import math

import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.signed_power import SignedPower


def reference_of(epsilon=0.0):
    """One power at a time; at 0 the slope of a root counts as 0."""

    def power(x, w):
        sign = -1.0 if x < 0 and (w + 0.5) // 1 % 2 else 1.0
        if x == 0 and w < 1 and not epsilon:
            return 0.0 * w
        size = -x if x < 0 else x
        return sign * (size if size >= epsilon else epsilon) ** w

    def reference(functions, x, params):
        return [
            math.prod(power(x_i, w) for w, x_i in zip(row, x, strict=True))
            for row in params["weight"]
        ]

    return reference


def unit_of(*rows, **options):
    unit = SignedPower(len(rows[0]), len(rows), dtype=torch.float64, **options)
    unit.load_state_dict({"weight": torch.tensor(rows)})
    return unit


def number(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_equals_the_reference(size, randomise, matches):
    matches(randomise(SignedPower(*size), 0.0, 2.5), reference_of())


def test_without_a_pole(size, randomise, matches):
    matches(randomise(SignedPower(*size, epsilon=0.01), -2.5, 2.5), reference_of(0.01))


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=6),
    st.data(),
)
def test_whole_powers(exponents, data):
    """They are those of Python, and x^a x^b = x^(a + b)."""
    bases = st.integers(-9, 9).filter(bool)
    x = data.draw(st.lists(bases, min_size=len(exponents), max_size=len(exponents)))
    first, second = zip(*exponents, strict=True)
    both = [float(a + b) for a, b in exponents]
    for strict in (False, True):
        unit = unit_of([*map(float, first)], [*map(float, second)], both, strict=strict)
        y = unit(number(*x))
        assert y[0].item() == pytest.approx(math.prod(map(pow, map(float, x), first)))
        assert_close(y[0] * y[1], y[2])


def test_a_fractional_power_of_a_negative_number():
    x = number([-4.0], [4.0])
    weight = [[0.5], [0.75], [-0.5], [-1.5], [2.0]]
    sizes = number(2.0, 4**0.75, 0.5, 0.125, 16.0)
    # The nearest whole numbers are 0, 1, 0, -2 and 2.
    signs = number([1.0, -1.0, 1.0, 1.0, 1.0], [1.0] * 5)
    assert_close(unit_of(*weight)(x), signs * sizes)
    strict = unit_of(*weight, strict=True)(x)
    assert strict[0].isnan().tolist() == [True, True, True, True, False]
    assert_close(strict[1], sizes)


@pytest.mark.parametrize("strict", [False, True])
def test_at_zero(strict):
    weight = number([1.0, 1.0], [0.0, 2.0], [0.5, 1.0], [0.0, 0.0])
    unit = unit_of(*weight.tolist(), strict=strict)
    x = number([0.0, 3.0], [0.0, 0.0], [5.0, 0.0]).requires_grad_()
    y = unit(x)
    assert_close(y, number([0.0, 9.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]))
    for output in y.flatten():
        for gradient in torch.autograd.grad(output, [x, unit.weight], retain_graph=True):
            assert gradient.isfinite().all()
    (slope,) = torch.autograd.grad(y[:, 0].sum(), x)
    assert_close(slope, number([3.0, 0.0], [0.0, 0.0], [0.0, 5.0]))


def test_the_pole():
    assert unit_of([-1.0])(number(0.0)).item() == math.inf
    assert unit_of([-2.0], epsilon=0.1)(number(0.0)).item() == pytest.approx(100.0)
    assert unit_of([-1.0], epsilon=0.1)(number(-0.01)).item() == pytest.approx(-10.0)


def test_formula(size, randomise, spells):
    spells(randomise(SignedPower(*size), 0.0, 2.5))
    spells(randomise(SignedPower(*size, epsilon=0.01)))


def test_whole_powers_are_spelled_plainly():
    a, b, c = sympy.symbols("a b c", real=True)
    weight = [[2.0, -1.0, 0.0], [0.0, 3.0, -2.0]]
    expected = [a**2 / b, b**3 / c**2]
    assert unit_of(*weight).formula(["a", "b", "c"]) == expected
    assert unit_of(*weight, strict=True).formula(["a", "b", "c"]) == expected
    assert unit_of([0.5, 1.0], strict=True).formula(["a", "b"]) == [sympy.sqrt(a) * b]
    assert unit_of([0.5, 1.0]).formula(["a", "b"]) == [sympy.sqrt(abs(a)) * b]


@pytest.mark.parametrize(("sizes", "largest"), [((1, 3), 1.0), ((2, 1), 1.0), ((10, 1), 0.2)])
def test_initial_weights(sizes, largest, starts_uniform):
    starts_uniform(SignedPower(*sizes), "weight", 0.0, largest)


def test_penalty_by_hand():
    weight = torch.tensor([[-1.0, 0.25, 1.75], [2.5, 7.0, -3.25]])
    expected = torch.tensor((0.25 + 0.25 + 0.5 + 0.25) / 6)
    assert_close(SignedPower(3, 2).penalty({"weight": weight}), expected)


def test_trace():
    trace = unit_of([2.0, -1.0]).trace(number([-4.0, 2.0]))
    assert set(trace) == {"factors", "output"}
    assert_close(trace["factors"], number([[16.0, 0.5]]))
    assert_close(trace["output"], number([8.0]))


def test_bad_arguments():
    with pytest.raises(UserError, match="SignedPower: in_features must be at least 1; got 0"):
        SignedPower(0, 1)
    with pytest.raises(UserError, match="SignedPower: epsilon must be at least 0; got -1"):
        SignedPower(1, 1, epsilon=-1)
    with pytest.raises(UserError, match=r"SignedPower: epsilon must be 0 if strict; got 0\.1"):
        SignedPower(1, 1, strict=True, epsilon=0.1)


@pytest.mark.parametrize("exponents", [(1.0, -1.0), (2.0, 1.0)], ids=["x1/x2", "x1^2*x2"])
def test_learns(exponents, generator):
    unit = SignedPower(2, 1, generator=generator)
    steps = 400
    optimiser = torch.optim.Adam(unit.parameters(), 0.1)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
    for _ in range(steps):
        x = 1 + torch.rand(128, 2, generator=generator)
        target = x[:, :1] ** exponents[0] * x[:, 1:] ** exponents[1]
        loss = (unit(x) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        decay.step()
    assert_close(unit.weight, torch.tensor([exponents]), atol=1e-3, rtol=0)
