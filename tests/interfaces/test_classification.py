"""What is counted of networks that name the class of a sequence."""

import pytest
import torch

from wug.interfaces.classification import CLASSIFICATION
from wug.models.transformer import Transformer

GROUPS = torch.tensor([0, 2, 2, 0, 2])
LENGTHS = torch.tensor([3, 7, 1, 5, 7])


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    return {
        "tokens": torch.randint(11, (5, 7), generator=generator), "lengths": LENGTHS,
        "labels": torch.randint(3, (5,), generator=generator), "group": GROUPS,
    }  # fmt: skip


def network(halting):
    options = {"features": 16, "hidden_features": 32, "num_heads": 2, "num_layers": 4}
    made = Transformer(
        11, 3, **options, halting=halting, generator=torch.Generator().manual_seed(1)
    )
    return made.eval()


@torch.no_grad()
def test_what_does_not_halt_is_right_or_wrong(batch):
    model = network(None)
    counts, state = CLASSIFICATION.counts(None, model, batch, None, 3)
    assert set(counts) == {"accuracy", "error"} and state is None
    right = model(batch["tokens"], LENGTHS).argmax(-1) == batch["labels"]
    for group in range(3):
        mine = right[group == GROUPS]
        expected = [mine.sum().item(), len(mine)]
        assert counts["accuracy"][group].tolist() == expected
        assert counts["error"][group].tolist() == [len(mine) - expected[0], len(mine)]


@pytest.mark.parametrize("halting", ["graves", "universal"])
@torch.no_grad()
def test_steps_of_columns_that_halt_are_counted_row_by_row(batch, halting):
    model = network(halting)
    # Columns halt at once, later or never, so that they differ.
    torch.nn.init.normal_(model.halting.weight, std=3.0, generator=torch.Generator().manual_seed(2))
    counts, _ = CLASSIFICATION.counts(None, model, batch, None, 3)
    assert set(counts) == {"accuracy", "error", "halting_steps"}
    expected = torch.zeros(3, 2, dtype=torch.float64)
    for row, (length, group) in enumerate(zip(LENGTHS.tolist(), GROUPS.tolist(), strict=True)):
        # Alone, a row has no padding, so every column ran.
        tokens = batch["tokens"][row : row + 1, :length]
        steps = model.trace(tokens, LENGTHS[row : row + 1])["halting_steps"]
        assert (steps > 0).all()
        expected[group] += torch.tensor([steps.double().mean().item(), 1.0])
    torch.testing.assert_close(counts["halting_steps"], expected)
    right = (model(batch["tokens"], LENGTHS).argmax(-1) == batch["labels"]).sum().item()
    assert counts["accuracy"][:, 0].sum().item() == right
