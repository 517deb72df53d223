"""Which weights are masked, and which share a gate."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.analysis.masks.gates import Blocks, chosen_parameters, make_gates
from wug.core.errors import UserError
from wug.layers.relative_attention import RelativeAttention
from wug.layers.sigma_moe import SigmaMoE


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.first = nn.Linear(4, 6)
        self.last = nn.Linear(6, 3)


def test_parameters_are_chosen_by_pattern():
    model = Small()
    assert chosen_parameters(model) == ["first.weight", "last.weight"]
    assert chosen_parameters(model, biases=True, skip="last.*") == ["first.weight", "first.bias"]
    assert "table.weight" in chosen_parameters(model, embeddings=True)
    with pytest.raises(UserError, match="no parameter is left"):
        chosen_parameters(model, parameters="nothing")


def test_every_weight_has_a_gate():
    model = Small()
    gates = make_gates(model, chosen_parameters(model))
    assert gates.total == 24 + 18
    flat = torch.arange(42.0)
    expanded = gates.expand(flat)
    assert_close(expanded["last.weight"], flat[24:].view(3, 6))


@pytest.mark.parametrize(("granularity", "total"), [("neuron", 6 + 3), ("layer", 2)])
def test_neurons_and_layers(granularity, total):
    model = Small()
    gates = make_gates(model, chosen_parameters(model, biases=True), granularity)
    assert gates.total == total
    flat = torch.zeros(total)
    flat[0] = 1
    first = gates.expand(flat)["first.weight"]
    assert_close(first[0], torch.ones(4))
    assert first.sum().item() == (4 if granularity == "neuron" else 24)
    assert gates.expand(flat)["first.bias"][0] == 1


def test_heads_of_torch():
    model = nn.MultiheadAttention(8, 2)
    gates = make_gates(model, chosen_parameters(model, biases=True), "head")
    assert gates.total == 2
    kept = gates.expand(torch.tensor([1.0, 0.0]))
    rows = kept["in_proj_weight"].view(3, 2, 4, 8)
    assert rows[:, 0].all() and not rows[:, 1].any()
    columns = kept["out_proj.weight"].view(8, 2, 4)
    assert columns[:, 0].all() and not columns[:, 1].any()


def test_a_head_without_gate_does_nothing():
    attention = RelativeAttention(8, num_heads=2)
    gates = make_gates(attention, chosen_parameters(attention), "head")
    assert gates.total == 2 and "weight_out" in gates.shapes


def test_experts():
    model = SigmaMoE(8, num_experts=4, expert_features=2)
    gates = make_gates(model, chosen_parameters(model), "expert")
    assert gates.total == 4
    kept = gates.expand(torch.tensor([1.0, 0.0, 0.0, 0.0]))
    assert kept["weight_in"][0].all() and not kept["weight_in"][1:].any()


def test_gather_is_the_transpose_of_spread():
    generator = torch.Generator().manual_seed(0)
    for block, shape in (
        (Blocks(2, stretches=3), (12, 5)), (Blocks(3, axis=1), (4, 6)), (Blocks(7), (7,)),
    ):  # fmt: skip
        gates = torch.randn(2, block.number, generator=generator)
        values = torch.randn(2, *shape, generator=generator)
        assert_close(
            (block.spread(gates, shape) * values).sum(),
            (gates * block.gather(values, 1)).sum(),
        )


def test_what_does_not_fit_is_told():
    with pytest.raises(UserError, match="blocks"):
        make_gates(Small(), ["first.weight"], "head")
    with pytest.raises(UserError, match="can't be divided"):
        make_gates(Small(), ["first.weight"], "weight", {"first.*": Blocks(4)})
    with pytest.raises(UserError, match="must have as many"):
        blocks = {"first.*": Blocks(3, group="a"), "last.*": Blocks(1, group="a")}
        make_gates(Small(), ["first.weight", "last.weight"], "weight", blocks)
