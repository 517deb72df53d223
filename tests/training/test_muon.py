import pytest
import torch
from torch import nn

from wug.models.lstm import LSTM
from wug.models.ndr import NDR
from wug.training.muon import Muon, hidden_matrices, make_optimisers, orthogonalised
from wug.training.sequence_plan import SequencePlan


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
    optimiser = Muon(ours, lr=0.0, weight_decay=0.1)
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
    first = Muon([ours], lr=0.02, weight_decay=0.5)
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
    Muon([weight], lr=1.0, weight_decay=0.5).step()
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
@pytest.mark.parametrize("optimiser", ["muon", "adamw", "adam"])
def test_every_parameter_has_one_optimiser(optimiser, model):
    model = model()
    plan = SequencePlan(steps=1, optimiser=optimiser, weight_decay=0.1)
    groups = [group for one in make_optimisers(model, plan) for group in one.param_groups]
    trained = [id(weight) for group in groups for weight in group["params"]]
    assert sorted(trained) == sorted(map(id, model.parameters()))
    assert all(group["weight_decay"] == 0.1 for group in groups)
