import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.core.schedules import Constant, Growth, Ramp
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.loop import Training
from wug.training.plan import Lot, Plan, Variant
from wug.units.modified_real_npu import ModifiedRealNPU

MACHINE_EPSILON = 2.0**-23


def reference(functions, x, params, epsilon=MACHINE_EPSILON):
    """mistry2022, Eq. 18-21; what is modified is the training."""
    outputs = []
    for row in params["weight"]:
        size = turn = 0.0
        for w, g, x_i in zip(row, params["gate"], x, strict=True):
            gate = min(max(g, 0.0), 1.0)
            size = size + w * functions.log(gate * (abs(x_i) + epsilon) + (1 - gate))
            turn = turn + w * (math.pi * gate if x_i < 0 else 0.0)
        outputs.append(functions.exp(size) * functions.cos(turn))
    return outputs


def test_equals_the_reference(size, randomise, matches):
    # Gates on both sides of 0 and 1; clipped ones have no gradient.
    matches(randomise(ModifiedRealNPU(*size), gate=(-0.5, 1.5)), reference)


def test_another_epsilon(randomise, matches):
    unit = randomise(ModifiedRealNPU(2, 1, epsilon=0.5), gate=(0.1, 0.9))
    matches(unit, lambda functions, x, params: reference(functions, x, params, epsilon=0.5))


def test_formula(size, randomise, spells):
    spells(randomise(ModifiedRealNPU(*size), gate=(-0.5, 1.5)))


@pytest.mark.parametrize("sizes", [(2, 1), (100, 2)])
def test_initial_weights_are_those_of_the_nau(sizes, starts_uniform):
    npu = ModifiedRealNPU(*sizes)
    radius = min(0.5, (6 / sum(sizes)) ** 0.5)
    starts_uniform(npu, "weight", -radius, radius)
    assert (npu.gate == 0.5).all()


def test_penalties_by_hand():
    params = {
        "weight": torch.tensor([[1.0, -0.25], [0.0, -1.0]], dtype=torch.float64),
        "gate": torch.tensor([0.125, 0.75], dtype=torch.float64),
    }
    magnitude, discrete = ModifiedRealNPU(2, 2).penalties(params).values()
    assert magnitude == 1 + 0.25 + 1 + 0.125 + 0.75
    # A weight of 0 is as far from 1 and -1 as can be: only gates are to ignore inputs.
    assert discrete == (0.75 + 1) / 4 + (0.125 + 0.25) / 2


def test_discrete_values_have_no_discrete_penalty_and_rest_there():
    params = {"weight": torch.tensor([[1.0, -1.0]]), "gate": torch.tensor([0.0, 1.0])}
    unit = ModifiedRealNPU(2, 1)
    assert unit.penalties(params)["discrete"] == 0
    assert all(torch.equal(value, params[name]) for name, value in unit.project(params).items())


def test_clamps_by_hand():
    params = {"weight": torch.tensor([[-3.0, 0.5, 1.5]]), "gate": torch.tensor([-0.5, 0.5, 2.0])}
    clamped = ModifiedRealNPU(3, 1).project(params)
    assert clamped["weight"].tolist() == [[-1.0, 0.5, 1.0]]
    assert clamped["gate"].tolist() == [0.0, 0.5, 1.0]


def test_a_gate_at_its_bounds_can_still_move():
    unit = ModifiedRealNPU(2, 1)
    unit.load_state_dict({"weight": torch.ones(1, 2), "gate": torch.tensor([0.0, 1.0])})
    unit(torch.tensor([3.0, 4.0])).backward()
    assert unit.gate.grad.all()


def test_trace():
    npu = ModifiedRealNPU(2, 3, generator=torch.Generator().manual_seed(0))
    trace = npu.trace(torch.tensor([[2.0, -3.0]]))
    size = torch.exp(trace["log_size"] @ npu.weight.T)
    assert_close(size * torch.cos(trace["angle"] @ npu.weight.T), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="ModifiedRealNPU: epsilon must be at least 0; got -1"):
        ModifiedRealNPU(1, 1, epsilon=-1.0)


def test_learns_to_divide():
    """With both penalties on schedules of their own, as the authors do, in less time."""
    steps = 1_500
    variant = Variant(
        labels={},
        task=SingleModule(operation="div"),
        learning_rate=Constant(5e-3),
        terms={
            "magnitude": Growth(1e-9, 1e-7, 10, steps // 5),
            "discrete": Ramp(1.0, 4 * steps // 5, steps),
        },
    )
    lot = Lot(
        name="modified_real_npu",
        build=lambda generator: ModifiedRealNPU(2, 1, generator=generator),
        variants=(variant,),
        seeds=(0, 1),
        plan=Plan(steps=steps, watched=("validation", "test")),
    )
    for result in Training(lot, device=torch.device("cpu"), compiled=False).train():
        assert result.outcome["solved"]
        assert result.outcome["weights"] == {"weight": [[1.0, -1.0]], "gate": [1.0, 1.0]}
