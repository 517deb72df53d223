"""What all mixtures of experts promise, each compared with all experts computed and masked."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.layers._mixture import MixtureOfExperts, Routing
from wug.layers.loss_free_moe import LossFreeMoE
from wug.layers.sigma_moe import SigmaMoE
from wug.layers.sinkhorn_moe import SinkhornMoE
from wug.layers.softmax_moe import SoftmaxMoE
from wug.layers.sparsely_gated_moe import SparselyGatedMoE
from wug.layers.switch_moe import SwitchMoE

FEATURES, HIDDEN = 6, 5


def kept(scores, chosen):
    return torch.where(chosen, scores, 0.0)


def normalised(scores, chosen):
    return kept(scores, chosen) / kept(scores, chosen).sum(-1, keepdim=True)


# name -> class, options, scores of all experts from logits, weights from scores and chosen ones.
ROUTERS = {
    "sigma": (SigmaMoE, {}, torch.sigmoid, kept),
    "softmax": (SoftmaxMoE, {}, lambda z: z.softmax(-1), kept),
    "softmax renormalised": (
        SoftmaxMoE, {"route_norm": True}, lambda z: z.softmax(-1), normalised,
    ),
    "softmax after": (SoftmaxMoE, {"softmax": "after"}, torch.exp, normalised),
    "sparsely gated": (SparselyGatedMoE, {}, lambda z: z.softmax(-1), normalised),
    "switch": (SwitchMoE, {"dropout": 0.0}, lambda z: z.softmax(-1), kept),
    "sinkhorn": (SinkhornMoE, {}, torch.sigmoid, kept),
    "loss-free": (LossFreeMoE, {}, torch.sigmoid, kept),
    "loss-free softmax": (
        LossFreeMoE, {"score_func": "softmax", "route_norm": True, "route_scale": 2.5},
        lambda z: z.softmax(-1), lambda s, chosen: 2.5 * normalised(s, chosen),
    ),
}  # fmt: skip
# name -> rows, columns, experts, choices.
CASES = {
    "usual": (3, 5, 4, 2), "one token": (1, 1, 4, 2), "all experts": (2, 3, 3, 3),
    "one choice": (2, 5, 4, 1), "empty experts": (1, 2, 16, 2),
}  # fmt: skip


def make(router, num_experts=4, top_k=2, **options):
    build, own, _, _ = ROUTERS[router]
    layer = build(
        FEATURES, num_experts=num_experts, expert_features=HIDDEN, top_k=top_k,
        generator=torch.Generator().manual_seed(0), **own, **options,
    )  # fmt: skip
    return layer.double().eval()


def draw(rows, columns, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((rows, columns, FEATURES), generator=generator, dtype=torch.float64)


def dense(router, layer, x, index, units=None):
    """Eq. 7.11 of csordas2023 for every expert, those that were not chosen masked out."""
    logits = torch.einsum("btd,ed->bte", x, layer.router.weight)
    chosen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, index, True)
    scores, weights = ROUTERS[router][2](logits), ROUTERS[router][3]
    least, most = scores.masked_fill(~chosen, 1e9).amin(-1), scores.masked_fill(chosen, -1).amax(-1)
    assert (least >= most).all()
    hidden = torch.einsum("btd,edh->bteh", x, layer.weight_in)
    hidden = F.relu(hidden) * weights(scores, chosen).unsqueeze(-1)
    if units is not None:
        flat = hidden.flatten(-2)
        hidden = (flat * (flat >= flat.sort(-1).values[..., -units, None])).view_as(hidden)
    return torch.einsum("bteh,ehd->btd", hidden, layer.weight_out)


def assert_same(layer, x, output, expected):
    assert_close(output, expected)
    leaves = [x, layer.weight_in, layer.weight_out, layer.router.weight]
    factors = torch.linspace(-1, 2, x.numel(), dtype=x.dtype).view_as(x)
    own, reference = (
        torch.autograd.grad((one * factors).sum(), leaves, allow_unused=True)
        for one in (output, expected)
    )
    assert_close(own, reference)


@pytest.mark.parametrize("backend", ["loop", "blockwise", "auto"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("router", ROUTERS)
def test_equals_the_dense_reference(router, case, backend):
    rows, columns, num_experts, top_k = CASES[case]
    layer = make(router, num_experts, top_k, backend=backend)
    x = draw(rows, columns).requires_grad_()
    output = layer(x)
    assert isinstance(output, Output) and output.state is None
    index = layer.route(x).index
    assert all(len(set(row)) == top_k for row in index.flatten(0, 1).tolist())
    assert_same(layer, x, output.answer, dense(router, layer, x, index))


@pytest.mark.parametrize("router", ROUTERS)
def test_ties(router):
    """Experts with the same scores: some K of them are chosen, each once."""
    layer, x = make(router), draw(2, 3).requires_grad_()
    with torch.no_grad():
        layer.router.weight[:] = layer.router.weight[0]
    output, index = layer(x).answer, layer.route(x).index
    assert all(len(set(row)) == 2 for row in index.flatten(0, 1).tolist())
    assert_same(layer, x, output, dense(router, layer, x, index))


@pytest.mark.parametrize("router", ROUTERS)
def test_experts_that_are_ruled_out(router):
    """With logits of -inf an expert counts for nothing, and nothing is NaN."""
    layer, x = make(router, num_experts=3), draw(2, 3).abs()
    with torch.no_grad():
        layer.router.weight[1] = -torch.inf
    output = layer(x)
    two = make(router, num_experts=2)
    left = [0, 2]
    two.load_state_dict(
        {name: value[left] for name, value in layer.state_dict().items()}, strict=False
    )
    assert_close(output.answer, two(x).answer)
    for term in output.terms.values():
        assert term.isfinite()
    own, reference = (
        torch.autograd.grad(one.square().sum(), [of.weight_in, of.weight_out, of.router.weight])
        for one, of in ((output.answer, layer), (two(x).answer, two))
    )
    assert_close([one[left] for one in own], [*reference])
    assert not any(one[1].any() for one in own[:2])


@pytest.mark.parametrize("backend", ["loop", "blockwise"])
@pytest.mark.parametrize("units", [1, 4, 10])
def test_top_units_of_the_chosen_experts(units, backend):
    layer, x = make("sigma", top_units=units, backend=backend), draw(2, 5).requires_grad_()
    expected = dense("sigma", layer, x, layer.route(x).index, units)
    assert_same(layer, x, layer(x).answer, expected)


def test_activation():
    layer, x = make("sigma", num_experts=1, top_k=1, activation="gelu"), draw(2, 3)
    score = torch.sigmoid(x @ layer.router.weight.T)
    expected = score * (F.gelu(x @ layer.weight_in[0]) @ layer.weight_out[0])
    assert_close(layer(x).answer, expected)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_dropout_of_hidden_units(activation):
    """Half of the units are dropped and the others doubled: on average nothing changes."""
    layer = make("sigma", activation=activation, dropout=0.5)
    x = draw(1, 1)
    expected = layer(x).answer
    torch.manual_seed(0)
    outputs = layer.train()(x.expand(1, 2000, FEATURES)).answer
    assert len(outputs[0].unique(dim=0)) > 3
    assert_close(
        outputs.mean(1, keepdim=True), expected, rtol=0, atol=0.1 * expected.abs().max().item()
    )
    everything = make("sigma", activation=activation, dropout=1.0).train()
    assert not everything(x).answer.any()


def test_a_router_of_one_s_own():
    class First(torch.nn.Module):
        top_k = 1

        def reset_parameters(self, generator=None):
            pass

        def forward(self, x, valid):
            index = torch.zeros(*x.shape[:-1], 1, dtype=torch.int64)
            return Routing(index, torch.ones_like(index, dtype=x.dtype), x)

    layer = MixtureOfExperts(
        FEATURES, router=First(), num_experts=3, expert_features=HIDDEN, deviations=(1.0, 1.0)
    ).double()
    x = draw(2, 3)
    assert_close(layer(x).answer, F.relu(x @ layer.weight_in[0]) @ layer.weight_out[0])


def test_experts_chosen_by_something_else():
    layer, x, other = make("sigma"), draw(2, 3), draw(2, 3, seed=2)
    routing = layer.route(other)
    assert_close(layer(x, chosen_by=other).answer, layer.mix(x, routing))
    assert not torch.equal(routing.index, layer.route(x).index)


def test_trace():
    layer, x = make("sigma"), draw(2, 3)
    trace = layer.trace(x)
    assert {name: tuple(value.shape) for name, value in trace.items()} == {
        "logits": (2, 3, 4), "experts": (2, 3, 2), "weights": (2, 3, 2), "output": (2, 3, 6),
    }  # fmt: skip
    assert_close(trace["output"], layer(x).answer)
    assert_close(trace["weights"], trace["logits"].sigmoid().gather(-1, trace["experts"]))


@pytest.mark.parametrize("router", ROUTERS)
def test_terms_leave_out_padding(router):
    layer, x = make(router), draw(2, 4)
    valid = torch.tensor([[True, True, True, False], [True, False, False, False]])
    terms = layer(x, valid).terms
    assert_close(terms, layer(x[valid].unsqueeze(0)).terms)
    assert_close(terms, layer(torch.where(valid.unsqueeze(-1), x, 99.0), valid).terms)


@pytest.mark.parametrize("router", ROUTERS)
def test_autocast(router):
    layer, x = make(router).float(), draw(2, 3).float()
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(x)
    index = layer.route(x).index
    same = (index.sort(-1).values == layer.route(x.bfloat16().float()).index.sort(-1).values).all(
        -1
    )
    assert_close(output.answer.float()[same], layer(x).answer[same], rtol=0.1, atol=0.05)
    output.answer.float().square().sum().backward()
    assert all(
        one.grad.dtype == torch.float32 for one in layer.parameters() if one.grad is not None
    )


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
@pytest.mark.parametrize("router", ROUTERS)
def test_compiles_in_one_piece(router):
    torch.compiler.reset()
    layer, x = make(router).float(), draw(2, 3).float().requires_grad_()

    def run(x):
        output = layer(x)
        return output.answer, output.terms

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    (own, own_terms), (expected, terms) = compiled(x), run(x)
    assert_close(own, expected)
    assert_close(own_terms, terms)
    gradient, reference = (
        torch.autograd.grad(one.square().sum(), [x, layer.weight_in]) for one in (own, expected)
    )
    assert_close(gradient, reference)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # by torch
def test_the_loop_compiles_in_pieces():
    torch.compiler.reset()
    layer, x = make("sigma", backend="loop").float(), draw(2, 3).float()
    assert_close(torch.compile(layer, backend="eager")(x).answer, layer(x).answer)


def test_multiplications():
    """2 K G d for the experts and N_E d for the choice."""
    assert make("sigma").multiplications == 2 * 2 * HIDDEN * FEATURES + 4 * FEATURES
    twice = make("sparsely gated").multiplications
    assert twice == 2 * 2 * HIDDEN * FEATURES + 2 * 4 * FEATURES


@pytest.mark.parametrize("router", ROUTERS)
def test_sizes(router):
    build = ROUTERS[router][0]
    for name in ("features", "num_experts", "expert_features", "top_k"):
        sizes = {"features": 4, "num_experts": 3, "expert_features": 2, "top_k": 1} | {name: 0}
        with pytest.raises(UserError, match=f"{build.__name__}: {name} must be at least 1; got 0"):
            build(**sizes)


def test_bad_arguments():
    with pytest.raises(UserError, match="SigmaMoE: top_k must be at most num_experts; got 5 of 4"):
        make("sigma", top_k=5)
    with pytest.raises(UserError, match="SigmaMoE: top_units must be at least 1; got 0"):
        make("sigma", top_units=0)
    with pytest.raises(
        UserError, match="SoftmaxMoE: x must have 6 features in its last axis; got 7"
    ):
        make("softmax")(torch.ones(1, 7))
    with pytest.raises(UserError, match="backend must be one of auto, loop"):
        make("sigma", backend="fast")(draw(1, 1))
