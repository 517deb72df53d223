import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wug.functional import transduction as t

END = 3
tokens = st.lists(st.integers(0, END - 1), max_size=5)


def kind(written, target):
    """The first error of two lists, one after the other; both end with END."""
    for one, other in zip([*written, END], [*target, END], strict=False):
        if one != other:
            if one == END:
                return t.STOPPED_EARLY
            return t.STOPPED_LATE if other == END else t.WROTE_WRONG
    return t.RIGHT


def padded(rows, width, fill):
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=5))
def test_outcomes(pairs):
    written = padded([one for one, _ in pairs], 6, END)
    targets = padded([other for _, other in pairs], 5, 0)
    lengths = torch.tensor([len(other) for _, other in pairs])
    found = t.outcomes(written, targets, lengths, END)
    assert found.tolist() == [kind(one, other) for one, other in pairs]
    # The most likely tokens of a teacher-forced pass, and what is fed and asked for.
    logits = torch.nn.functional.one_hot(written, END + 1).float()
    assert torch.equal(t.exact_match(logits, targets, lengths), found == t.RIGHT)
    cut = [one[: len(other)] + [END] * (len(other) - len(one)) == other for one, other in pairs]
    assert t.oracle_match(written, targets, lengths).tolist() == cut


@given(st.lists(tokens, min_size=1, max_size=5))
def test_what_is_fed_is_what_is_asked_for_one_later(rows):
    targets, lengths = padded(rows, 5, 0), torch.tensor([len(row) for row in rows])
    fed, asked = t.decoder_inputs(targets, END), t.decoder_targets(targets, lengths, END)
    inside = t.counted(lengths, 6)
    for number, row in enumerate(rows):
        assert fed[number, : len(row) + 1].tolist() == [END, *row]
        assert asked[number][inside[number]].tolist() == [*row, END]
        without = t.counted(lengths, 6, end=False)[number]
        assert asked[number][without].tolist() == row


@pytest.mark.parametrize(
    ("oracle", "written", "fed"), [(None, 2, 2), ("forbidden", 1, 1), ("afterwards", 1, 2)]
)
def test_oracles(oracle, written, fed):
    shown, following = t.next_tokens(torch.tensor([[0.0, 1.0, 2.0]]), oracle)
    assert (shown.item(), following.item()) == (written, fed)
