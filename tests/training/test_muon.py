import pytest
import torch
from torch import nn

from wug.layers.sigma_moe import SigmaMoE
from wug.models.lstm import LSTM
from wug.models.ndr import NDR
from wug.training.muon import TorchMuon, hidden_matrices, orthogonalised
from wug.training.optimisers import Adam, AdamW, Muon


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (16, 64), (1, 5)])
def test_orthogonalised_keeps_singular_vectors_and_levels_singular_values(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    inner = left.mT @ orthogonalised(matrix.unsqueeze(0))[0] @ right.mT
    values = inner.diagonal()
    assert (inner - values.diag()).abs().max() < 1e-12
    assert values.min() > 0.6 and values.max() < 1.3


def test_orthogonalised_leaves_nothing_of_nothing():
    assert torch.equal(orthogonalised(torch.zeros(2, 3, 4)), torch.zeros(2, 3, 4))


def test_muon_is_a_plain_loop():
    generator = torch.Generator().manual_seed(0)
    shapes = [(4, 6), (6, 4), (4, 6), (5, 5)]
    start = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    ours = [nn.Parameter(one.clone()) for one in start]
    optimiser = TorchMuon(ours, lr=0.0, weight_decay=0.1)
    weights, momenta = [one.clone() for one in start], [torch.zeros_like(one) for one in start]
    for rate in (0.1, 0.05, 0.02):
        optimiser.param_groups[0]["lr"] = rate
        for place, weight in enumerate(ours):
            gradient = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            weight.grad = gradient
            momenta[place] = 0.95 * momenta[place] + 0.05 * gradient
            update = 0.95 * momenta[place] + 0.05 * gradient
            update = update / update.norm()
            for _ in range(5):
                gram = update @ update.T
                update = 3.4445 * update + (-4.7750 * gram + 2.0315 * gram @ gram) @ update
            weights[place] *= 1 - 0.1 * rate
            weights[place] -= rate * max(weight.shape) ** 0.5 * update
        optimiser.step()
    for mine, other in zip(ours, weights, strict=True):
        torch.testing.assert_close(mine.data, other)


def test_muon_is_torchs_but_for_its_precision():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(8, 12, generator=generator)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    first = TorchMuon([ours], lr=0.02, weight_decay=0.5)
    second = torch.optim.Muon(
        [theirs], lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw", ns_steps=5
    )
    for _ in range(5):
        ours.grad = torch.randn(8, 12, generator=generator)
        theirs.grad = ours.grad.clone()
        first.step()
        second.step()
    moved = (theirs - start).norm()
    assert (ours - theirs).norm() < 0.05 * moved


def test_weights_without_a_gradient_stay():
    weight = nn.Parameter(torch.ones(2, 2))
    TorchMuon([weight], lr=1.0, weight_decay=0.5).step()
    assert torch.equal(weight.data, torch.ones(2, 2))


def test_embeddings_and_readouts_are_not_hidden():
    router = NDR(5, 3, features=8, hidden_features=16)
    names = {id(weight): name for name, weight in router.named_parameters()}
    assert {names[id(weight)] for weight in hidden_matrices(router)} == {
        "attention.weight_in", "attention.weight_out", "attention.weight_direction",
        "feed_forward.weight_in", "feed_forward.weight_out", "gate.weight_in", "gate.weight_out",
    }  # fmt: skip
    recurrent = LSTM(5, 3, features=8)
    assert {tuple(weight.shape) for weight in hidden_matrices(recurrent)} == {(32, 8)}
    plain = nn.Sequential(nn.Embedding(4, 4), nn.Linear(4, 4))
    assert [tuple(weight.shape) for weight in hidden_matrices(plain)] == [(4, 4)]


def test_the_last_layer_with_an_output_per_class_is_a_read_out():
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 3), nn.GELU())
    assert [id(w) for w in hidden_matrices(model, 3)] == [id(model[0].weight)]
    assert len(hidden_matrices(model, 5)) == 2


class Bare(nn.Module):
    """All of its weights are its own."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 3))


def tied():
    """A network whose read-out is its embedding."""
    model = nn.Sequential(nn.Embedding(4, 6), nn.Linear(6, 6), nn.Linear(6, 4, bias=False))
    model[2].weight = model[0].weight
    return model


MODELS = {
    "router": lambda: NDR(5, 3, features=8, hidden_features=16),
    "no matrix of a layer": Bare,
    "nothing else": lambda: nn.Sequential(nn.Linear(2, 2, bias=False)),
    "tied": tied,
}


def test_a_read_out_that_is_the_embedding_is_not_hidden():
    model = tied()
    assert [id(weight) for weight in hidden_matrices(model)] == [id(model[1].weight)]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    ("optimiser", "decay"), [(Muon(weight_decay=0.1), 0.1), (AdamW(0.1), 0.1), (Adam(), 0)]
)
def test_every_parameter_has_one_optimiser(optimiser, decay, model):
    model = model()
    groups = [group for one in optimiser.make(model, None) for group in one.param_groups]
    trained = [id(weight) for group in groups for weight in group["params"]]
    assert sorted(trained) == sorted(map(id, model.parameters()))
    assert all(group["weight_decay"] == decay for group in groups)


def test_experts_move_as_matrices_of_their_own():
    generator = torch.Generator().manual_seed(0)
    for shape in ((3, 4, 6), (3, 6, 4), (2, 5, 5)):
        start = torch.randn(shape, generator=generator)
        together = nn.Parameter(start.clone())
        alone = [nn.Parameter(one.clone()) for one in start]
        first, second = TorchMuon([together], lr=0.1), TorchMuon(alone, lr=0.1)
        for _ in range(3):
            together.grad = torch.randn(shape, generator=generator)
            for weight, gradient in zip(alone, together.grad, strict=True):
                weight.grad = gradient
            first.step()
            second.step()
        torch.testing.assert_close(together.data, torch.stack([w.data for w in alone]))


def test_matrices_of_experts_are_hidden_matrices():
    layer = SigmaMoE(8, num_experts=3, expert_features=4, top_k=2)
    found = {id(weight) for weight in hidden_matrices(nn.Sequential(layer))}
    assert found == {id(weight) for weight in layer.parameters()}
