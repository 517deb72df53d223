import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.models.moeut import MoEUT, entropy_per_sequence


def make(**options):
    sizes = {"features": 8, "num_experts": 4, "expert_features": 6, "top_k": 2, "num_repeats": 2}
    generator = torch.Generator().manual_seed(0)
    return MoEUT(13, generator=generator, **(sizes | options)).double()


def draw(rows=2, length=6):
    return torch.randint(13, (rows, length), generator=torch.Generator().manual_seed(1))


def test_equals_the_equations():
    """Norms make queries, keys and choices; values and experts see the stream as it is."""
    model, tokens = make(), draw()
    x = model.embedding[tokens]
    for _ in range(2):
        for layer in model.layers:
            x = x + layer.attention(x, read_by=layer.attention_norm(x)).answer
            x = x + layer.feed_forward(x, chosen_by=layer.feed_forward_norm(x)).answer
    assert_close(model(tokens).answer, model.norm(x) @ model.weight_out.T)


def test_layers_are_shared():
    """Parameters don't grow with the repeats, and all repeats use them."""
    count = [sum(one.numel() for one in make(num_repeats=n).parameters()) for n in (1, 4)]
    assert count[0] == count[1]
    assert len(make(group_size=3).layers) == 3


def test_entropy_is_of_each_sequence_over_tokens_and_repeats():
    certain = 200 * torch.eye(3, dtype=torch.float64)
    # Each repeat uses one expert for all tokens of a sequence, together they use all three.
    repeats = [certain[i].expand(2, 5, 3) for i in range(3)]
    assert_close(entropy_per_sequence(repeats, None), -torch.tensor(3.0).double().log())
    # Sequences that use one expert each are uneven, even if together they are not.
    rows = certain.unsqueeze(1).expand(3, 5, 3)
    assert_close(entropy_per_sequence([rows], None), torch.zeros((), dtype=torch.float64))
    valid = torch.tensor([[True] * 3, [False] * 3]).T.reshape(1, 6)[:, :6]
    logits = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert_close(
        entropy_per_sequence([logits], valid), entropy_per_sequence([logits[valid][None]], None)
    )


def test_terms():
    model, tokens = make(), draw()
    terms = model(tokens).terms
    assert set(terms) == {"entropy", "attention_entropy"}
    low, high = -2 * torch.tensor(4.0).double().log(), 0
    assert all(low <= term <= high for term in terms.values())
    sum(terms.values()).backward()
    assert model.layers[0].feed_forward.router.weight.grad.any()
    assert model.layers[1].attention.select_out.grad.any()


def test_the_future_is_not_seen():
    model, tokens = make().eval(), draw()
    other = tokens.clone()
    other[:, 4:] = (other[:, 4:] + 1) % 13
    assert_close(model(tokens).answer[:, :4], model(other).answer[:, :4])


def test_learns_by_heart():
    model, tokens = make(dropout=0.05), draw()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    torch.manual_seed(0)
    for _ in range(60):
        loss = F.cross_entropy(model(tokens[:, :-1]).answer.flatten(0, 1), tokens[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss < 0.5
