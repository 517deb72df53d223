import pytest
import torch
from torch.func import functional_call, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.sequence_fold import SequenceFold

FAR = 99.0


def sequences(*shape):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x.view(-1)[:2] = torch.tensor([0.0, 1e-9])
    return x


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return SequenceFold(**{"in_features": 2, "out_features": 1, **options},
                        generator=generator, dtype=torch.float64)  # fmt: skip


@pytest.mark.parametrize("length", [1, 4])
def test_selects_step_by_step(length):
    fold = make(in_features=1, update="select")
    x = sequences(5, length, 1)
    for row, output in zip(x, fold(x), strict=True):
        state = row[0]
        for element in row:
            share = fold.cell.unit(torch.cat((element, state)))
            state = share * element + (1 - share) * state
        assert_close(output, state)


def test_accumulates_step_by_step():
    fold = make(update="accumulate")
    x = sequences(5, 4, 2)
    expected = torch.stack([sum(fold.cell.unit(step) for step in row) for row in x])
    assert_close(fold(x), expected)
    fold(x).sum().backward()
    assert all(parameter.grad is not None for parameter in fold.parameters())


def test_counts_equal_numbers_of_any_length():
    fold = make(redundancy=1, scale=20.0)
    fold.load_state_dict(
        {
            "cell.unit.first": torch.tensor([[[FAR, -FAR]]]),
            "cell.unit.second": torch.tensor([[[-FAR, FAR]]]),
            "cell.unit.sign": torch.zeros(1, 1),
            "cell.unit.zero": torch.full((1, 1), FAR),
            "cell.unit.shift": torch.zeros(1, 1),
        }
    )
    elements = torch.arange(1_000) % 7
    x = torch.stack((elements, torch.full_like(elements, 3)), -1).double()
    assert_close(fold(x), torch.tensor([float((elements == 3).sum())], dtype=torch.float64))


def test_is_the_same_in_a_fleet():
    x = sequences(6, 3, 2)
    folds = [make(seed) for seed in range(3)]
    params = {
        name: torch.stack([dict(fold.named_parameters())[name].detach() for fold in folds])
        for name, _ in folds[0].named_parameters()
    }
    stacked = vmap(lambda p, x: functional_call(folds[0], p, (x,)), in_dims=(0, None))(params, x)
    for fold, outputs in zip(folds, stacked, strict=True):
        assert_close(outputs, fold(x))


def test_penalty_projection_and_weights_are_those_of_the_unit():
    fold = make(unit="nau", update="replace")
    params = {name: 9 * value.detach() for name, value in fold.named_parameters()}
    own = {"weight": params["cell.unit.weight"]}
    assert_close(fold.penalty(params), fold.cell.unit.penalty(own))
    assert_close(fold.project(params)["cell.unit.weight"], own["weight"].clamp(-1, 1))
    assert_close(fold.weights(params)["weight"], own["weight"])


def test_trace_shows_the_states():
    fold, x = make(), sequences(5, 4, 2)
    trace = fold.trace(x)
    assert trace["state"].shape == (5, 4, 1)
    assert_close(trace["state"][:, -1], trace["output"])


def test_redraws_its_weights():
    fold, other = make(0), make(1)
    fold.reset_parameters(torch.Generator().manual_seed(1))
    assert torch.equal(fold.cell.unit.first, other.cell.unit.first)


def test_bad_input():
    with pytest.raises(UserError, match="to select, in_features must be out_features; got 2 and 1"):
        SequenceFold(2, 1, update="select")
    with pytest.raises(UserError, match="the number of steps must be at least 1; got 0"):
        make()(torch.ones(4, 0, 2, dtype=torch.float64))
