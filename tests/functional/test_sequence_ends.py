import pytest
import torch
from torch.func import vmap
from torch.testing import assert_close

from wug.functional.sequence_ends import BEGIN, END, NUM_ENDS, add_ends, column_at

NUM_TOKENS = 9


def draw(lengths, seq=6):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(NUM_TOKENS, (len(lengths), seq), generator=generator)


def test_ends_are_the_last_ids_of_the_embedding():
    """The end token's id follows the vocabulary, and the begin token's follows the end's."""
    assert (END, BEGIN, NUM_ENDS) == (0, 1, 2)


@pytest.mark.parametrize("seq", [6, 9])
def test_sequences_between_their_ends(seq):
    lengths = [6, 0, 3, 1, 5]
    tokens = draw(lengths, seq)
    columns, valid = add_ends(tokens, torch.tensor(lengths), NUM_TOKENS)
    assert columns.shape == valid.shape == (5, seq + 2)
    for row, column, mask, length in zip(tokens, columns, valid, lengths, strict=True):
        expected = [NUM_TOKENS + 1, *row[:length].tolist(), NUM_TOKENS]
        padding = seq - length
        assert column.tolist() == expected + [0] * padding
        assert mask.tolist() == [True] * len(expected) + [False] * padding


def test_one_column_of_every_sequence():
    columns = torch.arange(60.0).view(4, 5, 3).requires_grad_()
    places = torch.tensor([4, 0, 2, 2])
    read = column_at(columns, places)
    expected = torch.stack([columns[b, place] for b, place in enumerate(places.tolist())])
    assert torch.equal(read, expected)
    gradients = [torch.autograd.grad(x.square().sum(), columns)[0] for x in (read, expected)]
    assert_close(*gradients)


def test_the_end_is_where_the_length_says():
    lengths = torch.tensor([6, 2, 4])
    columns, _ = add_ends(draw(lengths), lengths, NUM_TOKENS)
    assert column_at(columns.unsqueeze(-1), lengths + 1).tolist() == [[NUM_TOKENS]] * 3


def test_run_under_vmap():
    tokens, lengths = torch.stack([draw([1, 2, 3]), draw([1, 2, 3]) + 1]), torch.tensor([6, 2, 4])
    columns, valid = vmap(add_ends, in_dims=(0, None, None))(tokens, lengths, 20)
    for one, columns_of_one, valid_of_one in zip(tokens, columns, valid, strict=True):
        assert_close((columns_of_one, valid_of_one), add_ends(one, lengths, 20))
    states = torch.arange(192.0).view(2, 3, 8, 4)
    read = vmap(column_at, in_dims=(0, None))(states, lengths + 1)
    assert_close(read, torch.stack([column_at(one, lengths + 1) for one in states]))
