import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.position_encoding import PositionEncoding


def make(**options):
    return PositionEncoding(6, dropout=0.0, generator=torch.Generator().manual_seed(0), **options)


def encoding(position):
    waves = [
        (math.sin if c % 2 == 0 else math.cos)(position / 10000 ** (2 * (c // 2) / 6))
        for c in range(6)
    ]
    return torch.tensor(waves, dtype=torch.float64)


def test_sinusoidal_places_are_added(columns):
    x, valid = columns(6)
    output = make()(x, valid)
    for place in range(x.shape[1]):
        assert_close(output[:, place], x[:, place] + encoding(place))


def test_none_adds_nothing(columns):
    x, valid = columns(6)
    assert torch.equal(make(kind="none")(x, valid), x)


def places_of(layer, length=5):
    """Read the places off the slowest pair of waves."""
    waves = layer(torch.zeros(1, length, 6, dtype=torch.float64))[0]
    return torch.atan2(waves[:, 4], waves[:, 5]) * 10000 ** (4 / 6)


def test_randomised_places_are_in_order_and_new_each_time():
    layer = make(kind="randomised", num_positions=100)
    torch.manual_seed(0)
    first, second = places_of(layer), places_of(layer)
    for places in (first, second):
        assert_close(places, places.round(), atol=1e-6, rtol=0.0)
        assert (places.diff() > 0.5).all() and places[0] > -0.5 and places[-1] < 99.5
    assert not torch.allclose(first, second)


def test_randomised_places_are_fixed_in_evaluation():
    layer = make(kind="randomised", num_positions=100).eval()
    assert torch.equal(places_of(layer), places_of(layer))
    again = PositionEncoding(6, kind="randomised", num_positions=100).eval()
    assert not torch.equal(places_of(layer), places_of(again))
    again.load_state_dict(layer.state_dict())
    assert torch.equal(places_of(layer), places_of(again))


def test_dropout(columns):
    x, _ = columns(6)
    layer = PositionEncoding(6)
    assert layer.dropout == 0.1
    torch.manual_seed(0)
    dropped = layer(x) == 0
    assert 0.02 < dropped.double().mean() < 0.25
    assert_close(layer(x)[dropped == 0].mean(), layer.eval()(x).mean(), atol=0.5, rtol=0.0)


def test_bad_arguments():
    with pytest.raises(UserError, match="kind must be one of sinusoidal, randomised, none; got"):
        PositionEncoding(6, kind="learned")
    with pytest.raises(UserError, match="the range of random positions must be at least 7; got 5"):
        make(kind="randomised", num_positions=5)(torch.zeros(1, 7, 6))
