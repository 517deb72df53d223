"""Masks as sets of weights."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from wug.analysis.masks.mask import Mask, model_hash, random_mask, union, with_weights
from wug.core.errors import UserError

bits = st.lists(st.booleans(), min_size=6, max_size=6)


def mask(values):
    kept = torch.tensor(values)
    return Mask({"a": kept[:4].view(2, 2), "b": kept[4:]})


@given(bits, bits, bits)
def test_algebra_of_sets(a, b, c):
    a, b, c = mask(a), mask(b), mask(c)
    assert ~(a & b) == (~a | ~b)
    assert (a | (b & c)) == ((a | b) & (a | c))
    assert (a - b) == (a & ~b)
    assert (a ^ b) == ((a - b) | (b - a))
    assert a & b <= a <= a | b
    assert (a | b).count + (a & b).count == a.count + b.count
    assert union([a, b, c]) == (a | b | c)
    assert ~~a == a and a.count + (~a).count == len(a)


def linear():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    return model


KEPT = Mask({"weight": torch.tensor([[True, False], [True, True]])})


def test_apply_leaves_the_network_alone():
    model = linear()
    before = {n: v.clone() for n, v in model.state_dict().items()}
    masked = KEPT.apply(model)
    assert masked.weight.tolist() == [[1, 0], [3, 4]]
    assert torch.equal(masked.bias, model.bias)
    assert all(torch.equal(v, before[n]) for n, v in model.state_dict().items())
    with with_weights(model.train(), KEPT.weights(model, "mean")) as inside:
        assert inside.weight.tolist() == [[1, 2.5], [3, 4]] and not inside.training
    assert model.training and torch.equal(model.weight, before["weight"])


def test_resampled_weights_are_of_the_same_parameter():
    values = KEPT.weights(linear(), "resampled", torch.Generator().manual_seed(0))["weight"]
    assert values[0, 1].item() in (1, 2, 3, 4) and values[1].tolist() == [3, 4]


def test_parts_of_masks():
    first = mask([True, False, False, False, True, False])
    assert first.only("a").count == 1 + 2
    assert first.replaced(~first, "b").counts == {"a": 1, "b": 1}
    assert dict(first.per_parameter())["a"].share == 0.25


def test_random_masks_have_the_same_sizes():
    first = mask([True, False, True, False, True, False])
    assert random_mask(first, torch.Generator().manual_seed(0)).counts == first.counts


def test_masks_of_other_networks_are_refused():
    model = linear()
    own = Mask(KEPT.kept, model_hash(model))
    own.require(model)
    with torch.no_grad():
        model.weight.mul_(2)
    with pytest.raises(UserError, match="hash"):
        own.require(model)
    with pytest.raises(UserError, match="one network"):
        _ = own & Mask(KEPT.kept, "another")
    with pytest.raises(UserError, match="no parameter"):
        Mask({"weight": torch.ones(3, dtype=torch.bool)}).apply(model)
    with pytest.raises(UserError, match="boolean"):
        Mask({"weight": torch.ones(3)})
