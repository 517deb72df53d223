import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.functional.sparsity import distance_to_discrete, sparsity_error

weights = st.lists(st.floats(-3, 3), min_size=1, max_size=6)


@given(weights)
@settings(deadline=None)
def test_distance_is_to_the_nearest_of_minus_one_zero_one(values):
    expected = [min(abs(value - target) for target in (-1, 0, 1)) for value in values]
    actual = distance_to_discrete(torch.tensor(values, dtype=torch.float64))
    assert actual.tolist() == pytest.approx(expected, abs=1e-12)


def test_gradient_pulls_to_the_nearest():
    weight = torch.tensor([-1.5, -0.9, -0.2, 0.3, 0.8, 1.5], requires_grad=True)
    gradient = torch.autograd.grad(distance_to_discrete(weight).sum(), weight)[0]
    assert gradient.tolist() == [-1, 1, -1, 1, -1, 1]


def test_no_pull_at_the_discrete_values():
    weight = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    assert not torch.autograd.grad(distance_to_discrete(weight).sum(), weight)[0].any()


@given(st.lists(weights, min_size=1, max_size=3))
@settings(deadline=None)
def test_error_over_matrices(matrices):
    tensors = {str(i): torch.tensor(m, dtype=torch.float64) for i, m in enumerate(matrices)}
    worst = [max(min(abs(v), abs(1 - abs(v))) for v in matrix) for matrix in matrices]
    assert sparsity_error(tensors).item() == pytest.approx(max(worst))
    assert sparsity_error(tensors, "mean").item() == pytest.approx(sum(worst) / len(worst))


def test_the_mean_halves_what_one_of_two_matrices_shows():
    # Why the published NPU is twice as sparse as RealNPU: its imaginary weights are 0.
    tensors = {"weight": torch.tensor([[1.0, 0.9]]), "weight_imaginary": torch.zeros(1, 2)}
    assert_close(sparsity_error(tensors, "mean"), sparsity_error(tensors) / 2)
