import numpy as np
import pytest
import sympy
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.analysis.formula.reading import read_formula
from wug.core.errors import UserError
from wug.estimators.candidate import Candidate
from wug.estimators.network import network_of

NAMES = ["a", "b", "c", "d", "e"]
# Both signs, zeros, tiny and large.
VALUES = (0.0, 1.0, -1.0, 0.5, -2.0, 3.0, -0.7, 1e-3, 1e3)


def make(exponents, coefficients, powers):
    return Candidate(
        exponents=np.array(exponents, dtype=np.float64),
        coefficients=np.array(coefficients, dtype=np.float64),
        powers=np.array(powers, dtype=np.float64),
    )


def many(values, number, **options):
    return st.lists(values, min_size=number, max_size=number, **options)


@st.composite
def candidates(draw):
    """Sums, products, quotients, powers and roots; whole exponents alone half of the time."""
    num_inputs, num_terms, num_sums = (draw(st.integers(1, most)) for most in (5, 4, 3))
    exponent, power = st.sampled_from((0, 0, 1, 1, 2, -1, 3, -2)), st.sampled_from((1, -1, 2, -2))
    if draw(st.booleans()):
        exponent |= st.sampled_from((0.5, -0.5, 1 / 3, 1.7))
        power |= st.sampled_from((0.5, -0.5, 1 / 3))
    number = st.sampled_from((0, 1, 1, -1, 2, 0.25, 1 / 3, -7.5, 3.14159265, 1e-3))
    return make(
        draw(many(many(exponent, num_inputs), num_terms, unique_by=tuple)),
        draw(many(many(number, num_terms).filter(any), num_sums)),
        draw(many(power, num_sums)),
    )


def is_clear(candidate, rows):
    """Say for which rows no term is infinite and no sum is what rounding leaves of 0."""
    candidate = candidate.used_terms()
    terms = candidate.terms(rows)
    with np.errstate(all="ignore"):
        sums = terms @ candidate.coefficients.T
        sizes = np.abs(terms) @ np.abs(candidate.coefficients).T
    return ~np.isinf(terms).any(1) & ~(np.abs(sums) < 1e-6 * sizes).any(1)


@given(candidates(), st.data())
def test_computes_what_the_candidate_predicts(candidate, data):
    row = many(st.sampled_from(VALUES), candidate.exponents.shape[1])
    rows = np.array(data.draw(st.lists(row, min_size=1, max_size=8)))
    output = network_of([candidate])(torch.from_numpy(rows)).detach()
    assert output.shape == (len(rows), 1) and output.dtype == torch.float64
    clear = is_clear(candidate, rows)
    actual, expected = output[clear, 0].numpy(), candidate.predict(rows)[clear]
    poles = np.isinf(expected)  # where the sign is that of a zero
    np.testing.assert_array_equal(np.isinf(actual), poles)
    np.testing.assert_allclose(actual[~poles], expected[~poles], rtol=1e-9, atol=1e-200)


def is_rounding(difference):
    """Say whether nothing is left but what floats lose when numbers are added in another order."""
    parts = sympy.Add.make_args(sympy.expand(difference))
    return all(abs(part.as_coeff_Mul()[0]) < 1e-12 for part in parts)


@settings(max_examples=50)
@given(candidates())
@example(make([[0]], [[1 / 3], [1 / 3], [np.pi]], [1, -1, 1]))
def test_spells_what_the_candidate_spells(candidate):
    names = NAMES[: candidate.exponents.shape[1]]
    network = network_of([candidate])
    expected = candidate.expression(names)
    for spelled in (network.formula(names)[0], read_formula(network, names).expressions[0]):
        assert is_rounding(spelled - expected) or is_rounding(sympy.simplify(spelled - expected))


@pytest.mark.parametrize(
    ("candidate", "units", "formula"),
    [
        (make([[1, -2]], [[1]], [1]), ["SignedPower"], "a/b**2"),
        (make([[1, -2]], [[3]], [1]), ["SignedPower", "Linear"], "3*a/b**2"),
        (make([[1, 0], [0, 1]], [[1, 2]], [1]), ["Linear"], "a + 2*b"),
        (make([[0, 1], [1, 0], [0, 0]], [[1, 2, 5]], [1]), ["Linear"], "2*a + b + 5"),
        (make([[1, 0]], [[1]], [1]), ["Linear"], "a"),
        (make([[1]], [[1]], [1]), ["Linear"], "a"),
        (make([[0, 0]], [[1 / 3]], [1]), ["Linear"], "1/3"),
        (make([[0, 0]], [[0]], [1]), ["Linear"], "0"),
        (make([[1, 1], [0, 0]], [[1, 3]], [1]), ["SignedPower", "Linear"], "a*b + 3"),
        (make(np.eye(2), [[1, 1], [1, -1]], [1, -1]), ["Linear", "SignedPower"], "(a+b)/(a-b)"),
        (make(np.eye(2), [[1, 0], [0, 1]], [1, 0.5]), ["SignedPower"], "a*sqrt(b)"),
        (
            make([[2, 0], [0, 2]], [[1, 1]], [0.5]),
            ["SignedPower", "Linear", "SignedPower"],
            "sqrt(a**2 + b**2)",
        ),
        (make([[2, 0]], [[1]], [0.5]), ["SignedPower", "SignedPower"], "Abs(a)"),
        (make([[1, 1], [0, -1]], [[1, 0]], [1]), ["SignedPower"], "a*b"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_layers_that_do_nothing_are_left_out(candidate, units, formula):
    network = network_of([candidate])
    assert [type(unit).__name__ for unit in network.stacks[0].layers] == units
    symbols = {name: sympy.Symbol(name, real=True) for name in NAMES}
    assert network.formula(NAMES[: network.in_features]) == [sympy.sympify(formula, symbols)]


def test_several_outputs():
    found = [make([[1, -1]], [[1]], [1]), make(np.eye(2), [[1, 1]], [0.5])]
    network = network_of(found)
    rows = torch.tensor([[3.0, 1.0], [-6.0, 2.0], [0.0, 4.0]], dtype=torch.float64)
    expected = torch.tensor([[3.0, 2.0], [-3.0, torch.nan], [0.0, 2.0]], dtype=torch.float64)
    assert_close(network(rows), expected, equal_nan=True)
    assert (network.in_features, network.out_features) == (2, 2)
    assert list(map(str, network.formula())) == ["x1/x2", "sqrt(x1 + x2)"]
    trace = network.trace(rows)
    assert_close(trace["output"], expected, equal_nan=True)
    assert_close(trace["stacks.1.layer_0"], rows.sum(1, keepdim=True))
    single = network.float()(rows.float())
    assert_close(single, expected.float(), equal_nan=True)


def test_gradients_at_zero():
    network = network_of([make([[1, 1], [0, 2]], [[2, 1]], [1])])
    x = torch.tensor([[0.0, 3.0], [0.0, 0.0], [-5.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(network(x).sum(), x)
    expected = [[6.0, 6.0], [0.0, 0.0], [0.0, -10.0]]  # of 2 a b + b^2
    assert_close(slope, torch.tensor(expected, dtype=torch.float64))


def test_draws_nothing():
    before = torch.get_rng_state()
    network_of([make([[1, 1]], [[2]], [1])])
    assert torch.equal(torch.get_rng_state(), before)


def test_no_formula():
    with pytest.raises(UserError, match="network_of: the number of formulas must be at least 1"):
        network_of([])
