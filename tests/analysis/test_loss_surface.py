import numpy as np
import pytest
import torch

from wug.analysis.loss_surface import EXAMPLE, nac_surface, nmu_surface
from wug.core.errors import UserError
from wug.models.arithmetic_stack import ArithmeticStack

WEIGHTS = np.array([-1.3, -0.4, 0.0, 0.6, 1.0])
ROWS = np.array([EXAMPLE, (0.5, -0.7, 1.1, 0.2), (-2.0, 0.3, 0.4, 3.0)])


def loss_of_network(second_unit, options, w1, w2, rows):
    """Build the two layers with the constrained weights of figure 2, and measure."""
    network = ArithmeticStack(
        4, 1, units=("nau", second_unit), options=({}, options), dtype=torch.float64
    )
    selected = torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], dtype=torch.float64)
    below, above = network.parameters()
    below.data, above.data = w1 * selected, torch.full_like(above, w2)
    x = torch.tensor(np.atleast_2d(rows))
    target = x[:, :2].sum(1) * x.sum(1)
    return (network(x)[:, 0] - target).square().mean().sqrt().item()


@pytest.mark.parametrize("rows", [EXAMPLE, ROWS], ids=["one", "three"])
@pytest.mark.parametrize("epsilon", [1e-7, 0.1, 1.0])
def test_nac_surface_is_the_loss_of_the_network(rows, epsilon):
    surface = nac_surface(WEIGHTS, WEIGHTS[1:], epsilon=epsilon, x=rows)
    options = {"weight": "linear", "epsilon": epsilon}
    expected = [
        [loss_of_network("nac_mul", options, w1, w2, rows) for w1 in WEIGHTS] for w2 in WEIGHTS[1:]
    ]
    np.testing.assert_allclose(surface, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [EXAMPLE, ROWS], ids=["one", "three"])
def test_nmu_surface_is_the_loss_of_the_network(rows):
    surface = nmu_surface(WEIGHTS, WEIGHTS[1:], x=rows)
    expected = [
        [loss_of_network("nmu", {"clamp": "none"}, w1, w2, rows) for w1 in WEIGHTS]
        for w2 in WEIGHTS[1:]
    ]
    np.testing.assert_allclose(surface, expected, rtol=1e-9, atol=1e-12)


def test_by_hand():
    # The sums are 2.2 and 6, the target 13.2; without epsilon, NAC• is right at w1 = w2 = 1.
    assert nac_surface([1.0], [1.0], epsilon=0.0) == pytest.approx(0.0, abs=1e-12)
    assert nac_surface([1.0], [1.0], epsilon=1.0) == pytest.approx(3.2 * 7 - 13.2)
    assert nmu_surface([1.0], [1.0]) == pytest.approx(0.0, abs=1e-12)
    # Where nothing is added, NAC• predicts epsilon^(2 w2).
    assert nac_surface([0.0], [-1.0], epsilon=0.1) == pytest.approx(100 - 13.2)


def test_nac_explodes_near_zero_and_nmu_does_not():
    near, negative = [-0.01, 0.01], [-1.0]
    assert nac_surface(near, negative).min() > 700
    assert nmu_surface(near, negative).max() < 13.2
    assert nac_surface([0.0], negative, epsilon=0.0).item() == np.inf


def test_bad_input():
    with pytest.raises(UserError, match=r"x must be rows of four numbers; got shape \(1, 3\)"):
        nmu_surface([1.0], [1.0], x=(1.0, 2.0, 3.0))
    with pytest.raises(UserError, match="epsilon must be at least 0"):
        nac_surface([1.0], [1.0], epsilon=-0.1)
