import itertools
import math
from collections import Counter

import pytest
import torch
from scipy.stats import chisquare
from torch.func import vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.positions import (
    chosen_positions,
    random_positions,
    rotated,
    sinusoidal_encoding,
)


@pytest.mark.parametrize("features", [1, 2, 5, 8])
def test_sinusoids_equal_the_formula(features):
    positions = torch.tensor([[-300, -1, 0], [1, 17, 5000]])
    actual = sinusoidal_encoding(positions, features, torch.float64)
    for place, position in enumerate(positions.flatten().tolist()):
        for channel in range(features):
            wave = math.sin if channel % 2 == 0 else math.cos
            expected = wave(position / 10000 ** (2 * (channel // 2) / features))
            assert actual.view(-1, features)[place, channel].item() == pytest.approx(expected)


def test_half_precision_rounds_only_the_result():
    exact = sinusoidal_encoding(torch.arange(3000), 6)
    assert_close(sinusoidal_encoding(torch.arange(3000), 6, torch.bfloat16), exact.bfloat16())


def test_distances_rotate_positions():
    """p_{i+j} is a rotation of p_i that only depends on j: what makes sinusoids relative."""
    p = sinusoidal_encoding(torch.arange(20), 2, torch.float64)
    rotation = torch.tensor([[math.cos(3), math.sin(3)], [-math.sin(3), math.cos(3)]]).double()
    assert_close(p[3:], p[:-3] @ rotation.T)


def test_random_positions_are_uniform_over_ordered_subsets():
    generator = torch.Generator().manual_seed(0)
    drawn = Counter(
        tuple(random_positions(2, 5, generator=generator).tolist()) for _ in range(3000)
    )
    assert set(drawn) == set(itertools.combinations(range(5), 2))
    assert chisquare(list(drawn.values())).pvalue > 1e-3


def test_chosen_positions_of_a_batch():
    priorities = torch.rand(7, 11, generator=torch.Generator().manual_seed(0))
    for row, chosen in zip(priorities, chosen_positions(priorities, 4), strict=True):
        assert chosen.tolist() == sorted(row.argsort(descending=True)[:4].tolist())


def test_replicas_draw_their_own():
    drawn = vmap(lambda _: random_positions(10, 1000), randomness="different")(torch.zeros(3))
    assert drawn.shape == (3, 10) and len(set(map(tuple, drawn.tolist()))) == 3


def test_too_short_a_range():
    with pytest.raises(UserError, match="the range of random positions must be at least 4; got 3"):
        random_positions(4, 3)


def test_rotation_is_a_product_of_complex_numbers():
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    positions = torch.tensor([0, 3, 7, 100, 2])
    rates = torch.tensor([1.0, 10_000 ** (-1 / 3), 10_000 ** (-2 / 3)], dtype=torch.float64)
    turns = torch.polar(torch.ones(5, 3).double(), positions[:, None] * rates)
    expected = torch.view_as_real(torch.view_as_complex(x.view(5, 3, 2)) * turns).flatten(1)
    assert_close(rotated(x, positions), expected)


def test_products_of_rotated_vectors_depend_on_the_distance():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 1, 8, generator=generator, dtype=torch.float64)

    def product(target, source):
        turned = rotated(query, torch.tensor([target])), rotated(key, torch.tensor([source]))
        return (turned[0] * turned[1]).sum()

    assert_close(product(9, 4), product(105, 100))
    assert not torch.isclose(product(9, 4), product(9, 5))


def test_rotated_products_depend_on_distance_alone():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 16, generator=generator, dtype=torch.float64)
    positions = torch.arange(7)
    queries, keys = (rotated(one.expand(7, 16), positions, share=0.5) for one in (query, key))
    products = queries @ keys.T
    for distance in range(-6, 7):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    assert torch.equal(queries[:, 8:], query[8:].expand(7, 8))
    assert_close(queries.norm(dim=1), query.norm().expand(7))
