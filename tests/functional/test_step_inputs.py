import pytest
import torch

from wug.core.errors import UserError
from wug.functional.step_inputs import step_inputs


def test_vectors_pass_and_tokens_are_embedded():
    x, table = torch.ones(2, 3, 4), torch.arange(10.0).view(5, 2)
    assert step_inputs("Net", x, 4, None) is x
    tokens = torch.tensor([[4, 0]])
    assert torch.equal(step_inputs("Net", tokens, 5, table), table[tokens])


@pytest.mark.parametrize(
    ("x", "embedding", "message"),
    [
        (torch.ones(2, 3, 5), None, "Net: x must have 4 features in its last axis; got 5"),
        (torch.ones(2, 3).long(), None, r"vectors \(batch, seq, 4\).*build it with tokens=True"),
        (torch.ones(2, 3), torch.ones(4, 2), r"tokens \(batch, seq\), int64; got \(2, 3\)"),
        (torch.ones(2, 0, 4), None, "at least 1 step"),
    ],
)
def test_other_inputs_are_refused(x, embedding, message):
    with pytest.raises(UserError, match=message):
        step_inputs("Net", x, 4, embedding)
