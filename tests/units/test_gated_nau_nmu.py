import pytest
import torch

from wug.units.gated_nau_nmu import GatedNAUNMU


def reference(functions, x, params):
    """madsen2020, section C.5."""
    outputs = []
    rows = zip(params["weight_add"], params["weight_mul"], params["gate"], strict=True)
    for add, mul, gate_row in rows:
        score = total = 0.0
        product = 1.0
        for w_add, w_mul, g, x_i in zip(add, mul, gate_row, x, strict=True):
            score = score + g * x_i
            total = total + w_add * x_i
            product = product * (w_mul * x_i + 1 - w_mul)
        gate = 1 / (1 + functions.exp(-score))
        outputs.append(gate * total + (1 - gate) * product)
    return outputs


def test_equals_the_reference(size, randomise, matches):
    # A closed gate leaves 1 - g of a huge product, which no two roundings agree on.
    matches(randomise(GatedNAUNMU(*size), gate=(-0.1, 0.1)), reference)


def test_formula(size, randomise, spells):
    spells(randomise(GatedNAUNMU(*size)))


def test_initial_weights(starts_uniform):
    unit = GatedNAUNMU(2, 1)
    starts_uniform(unit, "weight_add", -0.5, 0.5)
    starts_uniform(unit, "weight_mul", 0.25, 0.75)
    starts_uniform(unit, "gate", -(2**0.5), 2**0.5)


def test_penalty_and_projection():
    unit = GatedNAUNMU(2, 1)
    params = {
        "weight_add": torch.tensor([[-1.2, 0.5]]),
        "weight_mul": torch.tensor([[-0.2, 0.75]]),
        "gate": torch.tensor([[9.0, 9.0]]),
    }
    assert unit.penalty(params).item() == pytest.approx((0.2 + 0.5) / 2 + (0.2 + 0.25) / 2)
    projected = unit.project(params)
    assert projected["weight_add"].tolist() == [[-1.0, 0.5]]
    assert projected["weight_mul"].tolist() == [[0.0, 0.75]]
    assert projected["gate"] is params["gate"]
