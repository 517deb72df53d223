import math
from functools import cache, partial

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.transduction import (
    RIGHT,
    counted,
    decoder_inputs,
    decoder_targets,
    exact_match,
    outcomes,
)
from wug.models.encoder_decoder import EncoderDecoder

SIZES = {"features": 8, "hidden_features": 12, "num_heads": 2, "num_layers": 2}
KINDS = [
    (positions, shared, norm)
    for positions in ("relative", "absolute")
    for shared in (True, False)
    for norm in ("post", "pre")
]
every_kind = pytest.mark.parametrize(("positions", "shared", "norm"), KINDS)
# Table C.1 of csordas2023, and the sizes of the vocabularies (shared by COGS and by PCFG).
SCAN = (13, 6, {"features": 128, "hidden_features": 256, "num_heads": 8, "num_layers": 3})
COGS = (871, 871, {"features": 512, "hidden_features": 512, "num_heads": 4, "num_layers": 2})
PCFG = (535, 535, {"features": 512, "hidden_features": 2048, "num_heads": 8, "num_layers": 6})


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    model = EncoderDecoder(7, 4, generator=generator, dtype=torch.float64, **(SIZES | options))
    for parameter in model.parameters():  # off special values such as 0
        torch.nn.init.normal_(parameter, 0.1, 0.5, generator=generator)
    return model.eval()


def problems(lengths=(5, 1, 3), steps=4, seed=1):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(7, (len(lengths), max(lengths)), generator=generator)
    targets = torch.randint(4, (len(lengths), steps), generator=generator)
    targets[:, 0] = 4
    return source, torch.tensor(lengths), targets


@cache
def trained(**options):
    """A network that has half learnt to copy: some answers are right, others stop or go wrong."""
    model = EncoderDecoder(4, 4, **(SIZES | {"features": 16} | options), dropout=0.0,
                           generator=torch.Generator().manual_seed(0))  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for step in range(70):
        source, lengths = copies(step)
        logits = model(source, lengths, decoder_inputs(source, 4))
        wanted = decoder_targets(source, lengths, 4)
        inside = counted(lengths, wanted.shape[1])
        loss = torch.nn.functional.cross_entropy(logits[inside], wanted[inside])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.double().eval()


def copies(seed, num=64):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(4, (num, 4), generator=generator)
    return source, torch.randint(1, 5, (num,), generator=generator)


def num_parameters(sizes, **options):
    num_source, num_target, widths = sizes
    model = EncoderDecoder(num_source, num_target, device="meta", **widths, **options)
    return sum(parameter.numel() for parameter in model.parameters())


def wave(position, channel, features):
    angle = position / 10_000 ** (2 * (channel // 2) / features)
    return math.cos(angle) if channel % 2 else math.sin(angle)


def waves(position, features):
    return torch.tensor([wave(position, k, features) for k in range(features)], dtype=torch.float64)


def attend(layer, x, source, causal=False):
    """Attention of one sequence, entry by entry."""
    d, heads = layer.in_features, layer.num_heads
    width, columns = d // heads, []
    for i in range(len(x)):
        read = []
        for head in range(heads):
            rows = slice(head * width, (head + 1) * width)
            wq, wk, wv = (part[rows] for part in layer.weight_in.chunk(3))
            logits = []
            for j in range(i + 1 if causal else len(source)):
                q = wq @ x[i]
                if hasattr(layer, "content_bias"):
                    key = layer.weight_position[rows] @ waves(j - i, d)
                    logit = (q + layer.content_bias[head]) @ (wk @ source[j])
                    logit = logit + (q + layer.position_bias[head]) @ key
                else:
                    logit = q @ (wk @ source[j])
                logits.append(logit / math.sqrt(width))
            weights = torch.stack(logits).softmax(0)
            read.append(sum(w * (wv @ one) for w, one in zip(weights, source, strict=False)))
        columns.append(layer.weight_out @ torch.cat(read))
    return torch.stack(columns)


def attend_all(layer, x, causal=False):
    return attend(layer, x, x, causal)


def feed(layer, x):
    hidden = (x @ layer.weight_in.T + layer.bias_in).relu()
    return hidden @ layer.weight_out.T + layer.bias_out


def residual(norm, kind, x, part):
    return x + part(norm(x)) if kind == "pre" else norm(x + part(x))


def reference(model, source, target):
    """Logits of one sequence without padding, as the equations are printed."""
    d = model.features
    factor = math.sqrt(d) if model.scaling == "teu" else 1.0
    share = 1 / math.sqrt(d) if model.scaling == "ped" else 1.0

    def embed(tokens, table):
        columns = []
        for i, token in enumerate(tokens):
            column = factor * table[token]
            columns.append(
                column + share * waves(i, d) if model.positions == "absolute" else column
            )
        return torch.stack(columns)

    def layers(stack):
        return [stack[0 if model.shared else n] for n in range(model.num_layers)]

    h = embed([8, *source, 7], model.source_embedding)
    for layer in layers(model.encoder):
        read = partial(attend_all, layer.attention)
        h = residual(layer.norms[0], model.norm, h, read)
        h = residual(layer.norms[1], model.norm, h, partial(feed, layer.feed_forward))
    h = model.last_norms[0](h) if model.norm == "pre" else h
    y = embed(target, model.target_embedding)
    for layer in layers(model.decoder):
        read = partial(attend_all, layer.attention, causal=True)
        y = residual(layer.norms[0], model.norm, y, read)
        y = residual(
            layer.norms[1], model.norm, y, partial(attend, layer.source_attention, source=h)
        )
        y = residual(layer.norms[2], model.norm, y, partial(feed, layer.feed_forward))
    y = model.last_norms[1](y) if model.norm == "pre" else y
    return y @ model.target_embedding.T + model.bias


@every_kind
@pytest.mark.parametrize("scaling", ["none", "teu", "ped"])
def test_equals_the_reference(positions, shared, norm, scaling):
    model = make(positions=positions, shared=shared, norm=norm, scaling=scaling)
    source, lengths, target = problems()
    output = model(source, lengths, target)
    expected = torch.stack(
        [
            reference(model, row[:length].tolist(), fed.tolist())
            for row, length, fed in zip(source, lengths.tolist(), target, strict=True)
        ]
    )
    assert_close(output, expected)
    parameters = list(model.parameters())
    actual = torch.autograd.grad(output.square().sum(), parameters)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), parameters))


@every_kind
@pytest.mark.parametrize("oracle", [None, "forbidden", "afterwards"])
def test_decoding_with_a_cache_equals_decoding_without(positions, shared, norm, oracle):
    model = trained(positions=positions, shared=shared, norm=norm)
    source, lengths = copies(seed=1000)
    expected = model.decode(source, lengths, 9, oracle=oracle, cached=False)
    assert torch.equal(model.decode(source, lengths, 9, oracle=oracle), expected)
    assert torch.equal(model.decode(source, lengths, 9, oracle=oracle, stop=False), expected)
    assert len(expected.unique()) == (4 if oracle else 5)
    # A sequence is decoded as it is alone.
    length = lengths[3:4]
    alone = model.decode(source[3:4, : int(length)], length, 9, oracle=oracle)
    assert torch.equal(alone, expected[3:4])


@every_kind
def test_teacher_forcing_says_what_decoding_would(positions, shared, norm):
    model = trained(positions=positions, shared=shared, norm=norm)
    source, lengths = copies(seed=1000, num=256)
    # Some are asked for more, less or something else than they were taught.
    targets, asked = source.clone(), lengths.clone()
    asked[:20] = (asked[:20] + 1).clamp(max=4)
    asked[20:40] -= 1
    targets[40:60, 1] = 3 - targets[40:60, 1]
    logits = model(source, lengths, decoder_inputs(targets, 4))
    forced = outcomes(logits.argmax(-1), targets, asked, 4)
    decoded = outcomes(model.decode(source, lengths, 5), targets, asked, 4)
    assert torch.equal(forced, decoded)
    assert torch.equal(exact_match(logits, targets, asked), decoded == RIGHT)
    assert len(decoded.unique()) > 2


def test_clipped_distances():
    model = trained(farthest=2)
    source, lengths = copies(seed=1000)
    expected = model.decode(source, lengths, 9, cached=False)
    assert torch.equal(model.decode(source, lengths, 9), expected)
    free, wide = (make(positions="relative", farthest=farthest) for farthest in (None, 99))
    near, given = make(positions="relative", farthest=1), problems()
    assert_close(wide(*given), free(*given))
    assert not torch.allclose(near(*given), free(*given))


@pytest.mark.parametrize("scaling", ["teu", "ped"])
def test_one_vocabulary(scaling):
    options = {"positions": "absolute", "shared": False, "scaling": scaling, **SIZES}
    own, one = (
        EncoderDecoder(5, 5, dtype=torch.float64, one_vocabulary=both, **options).eval()
        for both in (False, True)
    )
    own.load_state_dict(one.state_dict() | {"target_embedding": one.source_embedding[:6]})
    source, lengths = torch.tensor([[0, 1, 4], [3, 2, 0]]), torch.tensor([3, 2])
    fed = torch.tensor([[5, 0, 4], [5, 3, 1]])
    assert_close(one(source, lengths, fed), own(source, lengths, fed))
    for cached in (True, False):
        assert torch.equal(
            one.decode(source, lengths, 6, cached=cached), own.decode(source, lengths, 6)
        )
    # One matrix gets the gradients of both.
    grads = [torch.autograd.grad(m(source, lengths, fed).square().sum(), m.source_embedding)[0]
             for m in (one, own)]  # fmt: skip
    logits = own(source, lengths, fed)
    of_targets = torch.autograd.grad(logits.square().sum(), own.target_embedding)[0]
    expected = grads[1].clone()
    expected[:6] += of_targets
    assert_close(grads[0], expected)
    with pytest.raises(UserError, match="as many tokens in targets as in sources; got 4 and 5"):
        EncoderDecoder(5, 4, one_vocabulary=True)


def test_numbers_of_parameters_of_the_scan_models():
    assert num_parameters(SCAN, positions="absolute", shared=False) == 992_007
    assert num_parameters(SCAN, positions="relative", shared=True) == 365_831
    assert num_parameters(SCAN, positions="relative", shared=False) == 1_091_847


@pytest.mark.parametrize(
    ("sizes", "printed"),  # of table C.2, in millions
    [
        (SCAN, ("0.992", "0.333", "1.1", "0.366")),
        (PCFG, ("44.7", "7.9", "47.8", "8.4")),
        (COGS, ("9.3", "5.1", "10.3", "5.6")),
    ],
)
def test_numbers_of_parameters_of_table_c2(sizes, printed):
    kinds = [("absolute", False), ("absolute", True), ("relative", False), ("relative", True)]
    for (positions, shared), number in zip(kinds, printed, strict=True):
        count = num_parameters(sizes, positions=positions, shared=shared)
        digits = len(number.partition(".")[2])
        assert f"{count / 1e6:.{digits}f}" == number


@pytest.mark.parametrize(
    ("scaling", "deviation"),
    [
        ("none", 1.0),
        ("ped", 1 / math.sqrt(64)),
        ("ped_as_published", math.sqrt(2 / 64)),
        ("teu", math.sqrt(2 / (64 + 302))),
        ("xavier", math.sqrt(2 / (64 + 302))),
    ],
)
def test_initial_embeddings(scaling, deviation):
    generator = torch.Generator().manual_seed(0)
    model = EncoderDecoder(300, 301, features=64, scaling=scaling, generator=generator)
    for embedding in (model.source_embedding, model.target_embedding):
        assert embedding.std().item() == pytest.approx(deviation, rel=0.02)
        assert abs(embedding.mean().item()) < 0.05 * deviation
    if scaling in ("teu", "xavier"):
        assert model.source_embedding.abs().max() <= math.sqrt(6 / (64 + 302))


def test_attention_starts_as_in_the_code():
    generator = torch.Generator().manual_seed(0)
    model = EncoderDecoder(13, 6, generator=generator)
    relative, absolute = model.encoder[0].attention, model.decoder[0].source_attention
    assert relative.weight_in.std().item() == pytest.approx(1 / math.sqrt(3 * 128), rel=0.02)
    assert absolute.weight_in.std().item() == pytest.approx(1 / math.sqrt(128), rel=0.02)
    assert not relative.content_bias.any() and not relative.position_bias.any()


def test_dropout_acts_in_training_alone():
    source, lengths, target = problems()
    for positions in ("relative", "absolute"):
        still = make(positions=positions, dropout=0.0)
        model = make(positions=positions, dropout=0.5)
        assert_close(model(source, lengths, target), still(source, lengths, target))
        first, again = (model.train()(source, lengths, target) for _ in range(2))
        assert not torch.allclose(first, again)
        same = torch.allclose(
            still.train()(source, lengths, target), still(source, lengths, target)
        )
        assert same == (positions == "relative")  # absolute positions always have dropout


def test_mixed_precision_is_close():
    model = make().float()
    source, lengths, target = problems()
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model(source, lengths, target)
        written = model.decode(source, lengths, 4)
    assert_close(mixed.float(), model(source, lengths, target), rtol=0.1, atol=0.2)
    assert written.shape == (3, 4)


def test_bad_arguments():
    with pytest.raises(UserError, match="EncoderDecoder: num_layers must be at least 1; got 0"):
        make(num_layers=0)
    with pytest.raises(UserError, match="scaling must be one of none, teu, ped"):
        make(scaling="noam")
    with pytest.raises(UserError, match="positions must be one of relative, absolute"):
        make(positions="rotary")
