import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nac_mul import NACMul

LARGE = 40.0


def reference(functions, x, params, epsilon=1e-7):
    """mistry2022, Eq. 1 and 3."""
    outputs = []
    for w_row, m_row in zip(params["w_hat"], params["m_hat"], strict=True):
        total = 0.0
        for w_hat, m_hat, x_i in zip(w_row, m_row, x, strict=True):
            weight = functions.tanh(w_hat) * (1 / (1 + functions.exp(-m_hat)))
            total = total + weight * functions.log(abs(x_i) + epsilon)
        outputs.append(functions.exp(total))
    return outputs


def test_equals_the_reference(size, randomise, matches):
    matches(randomise(NACMul(*size), -3, 3), reference)


def test_another_epsilon(randomise, matches):
    unit = randomise(NACMul(2, 1, epsilon=0.5))
    matches(unit, lambda functions, x, params: reference(functions, x, params, epsilon=0.5))


def test_formula(size, randomise, spells):
    spells(randomise(NACMul(*size)))


@pytest.mark.parametrize(("sizes", "radius"), [((2, 1), 9.47), ((4, 2), 5.43), ((100, 2), 0.504)])
def test_initial_weights(sizes, radius, starts_uniform):
    nac = NACMul(*sizes)
    assert float(f"{nac.radius:.3g}") == radius
    for name in ("w_hat", "m_hat"):
        starts_uniform(nac, name, -nac.radius, nac.radius)


def test_given_radius(starts_uniform):
    starts_uniform(NACMul(2, 1, radius=1.0), "m_hat", -1.0, 1.0)


def test_signs_are_lost(generator):
    nac = NACMul(2, 3, generator=generator)
    x = torch.tensor([[2.0, 3.0], [-2.0, 3.0], [-2.0, -3.0]])
    assert_close(nac(x), nac(x.abs()))
    assert (nac(x) >= 0).all()


def divider(epsilon):
    nac = NACMul(2, 1, epsilon=epsilon, dtype=torch.float64)
    w_hat = torch.tensor([[LARGE, -LARGE]], dtype=torch.float64)
    nac.load_state_dict({"w_hat": w_hat, "m_hat": torch.full_like(w_hat, LARGE)})
    return nac


def test_epsilon_bounds_the_pole():
    x = torch.tensor([2.0, 0.0], dtype=torch.float64)
    assert_close(divider(1e-7)(x).item(), (2 + 1e-7) / 1e-7)
    assert divider(0.0)(x).isposinf()


def test_trace(generator):
    nac = NACMul(2, 3, generator=generator)
    trace = nac.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"weight", "logs", "output"}
    assert_close(torch.exp(trace["logs"] @ trace["weight"].T), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NACMul: in_features must be at least 1; got 0"):
        NACMul(0, 1)
    with pytest.raises(UserError, match="NACMul: epsilon must be at least 0; got -1.0"):
        NACMul(1, 1, epsilon=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv])
def test_learns(operation, generator, learns):
    # Its weights approach 1 and -1 and never get there.
    unit = NACMul(2, 1, radius=1.0, generator=generator)
    learns(unit, operation, learning_rate=0.1, largest_error=0.05)


def variant_reference(kind):
    """madsen2020, table 4: NAC•,σ and NAC•,NMU."""

    def compute(functions, x, params):
        outputs = []
        for row in params["w_hat"]:
            total = 0.0
            for w_hat, x_i in zip(row, x, strict=True):
                weight = 1 / (1 + functions.exp(-w_hat)) if kind == "sigmoid" else w_hat
                total = total + weight * functions.log(abs(x_i) + 1e-7)
            outputs.append(functions.exp(total))
        return outputs

    return compute


@pytest.mark.parametrize("kind", ["sigmoid", "linear"])
def test_variants_equal_their_reference(kind, size, randomise, matches, spells):
    unit = randomise(NACMul(*size, weight=kind), 0, 1)
    assert set(dict(unit.named_parameters())) == {"w_hat"}
    matches(unit, variant_reference(kind))
    spells(unit)


def test_linear_variant_is_regular_as_an_nmu(starts_uniform):
    unit = NACMul(2, 1, weight="linear")
    starts_uniform(unit, "w_hat", 0.25, 0.75)
    params = {"w_hat": torch.tensor([[1.5, 0.25]])}
    assert unit.penalty(params).item() == pytest.approx((0.5 + 0.25) / 2)
    assert unit.project(params)["w_hat"].tolist() == [[1.0, 0.25]]


def test_sigmoid_variant_starts_normal(generator):
    unit = NACMul(200, 100, weight="sigmoid", generator=generator)
    assert unit.w_hat.std().item() == pytest.approx((2 / 300) ** 0.5, rel=0.02)
    assert unit.penalty(dict(unit.named_parameters())) == 0


def test_unknown_weight():
    with pytest.raises(UserError, match="one of nac, sigmoid, linear; got 'tanh'"):
        NACMul(2, 1, weight="tanh")
