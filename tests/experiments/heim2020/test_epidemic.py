"""The equations of an epidemic: what recovered means, and how they are written."""

import torch

from wug.experiments.heim2020.epidemic import read_equations, spelled, terms_of, true_terms
from wug.models.flow import Flow
from wug.tasks.extrapolation.epidemic import Epidemic


def flow(exponents, coefficients):
    network = Flow(3, 3, num_terms=len(exponents), dtype=torch.float64)
    network.load_state_dict({
        "powers.weight": torch.tensor(exponents, dtype=torch.float64),
        "sums.weight": torch.tensor(coefficients, dtype=torch.float64),
    })  # fmt: skip
    return network


def test_rounded_terms_that_are_equal_are_one():
    network = flow(
        [[1.02, 0.98, 0.01], [0.99, 1.01, 0.0], [-0.01, 1.0, 0.02], [0.3, 0.4, 0.5]],
        [[-0.3, -0.21, 0.0, 0.01], [0.25, 0.26, -0.21, -0.02], [0.0, 0.01, 0.19, 0.0]],
    )
    assert terms_of(network) == true_terms(Epidemic())
    found = read_equations(network, Epidemic())
    assert found["recovered"] == 1
    assert found["formula"] == "S' = -0.5 S I, I' = 0.5 S I - 0.2 I, R' = 0.2 I"


def test_a_wrong_exponent_or_a_further_term_is_no_recovery():
    network = flow([[1, 1, 0], [0, 1, 0]], [[-0.5, 0], [0.5, -0.2], [0, 0.2]])
    assert read_equations(network, Epidemic())["recovered"] == 1
    assert read_equations(network, Epidemic(kind="fractional"))["recovered"] == 0
    more = flow([[1, 1, 0], [0, 1, 0], [0, 0, 1]], [[-0.5, 0, 0.1], [0.5, -0.2, 0], [0, 0.2, 0]])
    assert read_equations(more, Epidemic())["recovered"] == 0


def test_nothing_is_written_as_zero():
    assert spelled({}) == "S' = 0, I' = 0, R' = 0"
