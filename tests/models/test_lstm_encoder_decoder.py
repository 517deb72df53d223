import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.lstm_encoder_decoder import LSTMEncoderDecoder

KINDS = [("none", False), ("general", False), ("general", True)]
every_kind = pytest.mark.parametrize(("attention", "input_feeding"), KINDS)


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    sizes = {"features": 6, "embedding_features": 5, "num_layers": 2}
    return LSTMEncoderDecoder(
        7, 4, generator=generator, dtype=torch.float64, **(sizes | options)
    ).eval()


def problems(lengths=(5, 1, 3, 6), steps=4, seed=1):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(7, (len(lengths), max(lengths)), generator=generator)
    targets = torch.randint(4, (len(lengths), steps), generator=generator)
    targets[:, 0] = 4
    return source, torch.tensor(lengths), targets


def torchs(model, side, in_features):
    """torch's own LSTM with the model's weights."""
    lstm = nn.LSTM(in_features, 6, 2, batch_first=True, dtype=torch.float64)
    state = {}
    for layer in range(2):
        weight, bias = model.weights[f"{side}_{layer}"], model.biases[f"{side}_{layer}"]
        state[f"weight_ih_l{layer}"], state[f"weight_hh_l{layer}"] = weight.split(
            [weight.shape[1] - 6, 6], 1
        )
        state[f"bias_ih_l{layer}"], state[f"bias_hh_l{layer}"] = bias, torch.zeros_like(bias)
    return lambda *x: torch.func.functional_call(lstm, state, x)


def reference(model, source, target, attention, input_feeding):
    """Logits of one sequence without padding."""
    encoder, decoder = (
        torchs(model, "encoder", 5),
        torchs(model, "decoder", 11 if input_feeding else 5),
    )
    outputs, state = encoder(model.source_embedding[[8, *source, 7]][None])
    state, fed, logits = tuple(part for part in state), torch.zeros(6).double(), []
    for token in target:
        x = model.target_embedding[token]
        x = torch.cat((x, fed)) if input_feeding else x
        shown, state = decoder(x[None, None], state)
        shown = shown[0, 0]
        if attention == "general":
            weights = torch.stack([model.weight_score @ shown @ one for one in outputs[0]]).softmax(
                0
            )
            read = sum(w * one for w, one in zip(weights, outputs[0], strict=True))
            shown = torch.tanh(model.weight_mix @ torch.cat((read, shown)))
        fed = shown
        logits.append(model.weight_out @ shown + model.bias_out)
    return torch.stack(logits)


@every_kind
def test_equals_torchs_networks(attention, input_feeding):
    model = make(attention=attention, input_feeding=input_feeding)
    source, lengths, target = problems()
    output = model(source, lengths, target)
    expected = torch.stack(
        [
            reference(model, row[:length].tolist(), fed.tolist(), attention, input_feeding)
            for row, length, fed in zip(source, lengths.tolist(), target, strict=True)
        ]
    )
    assert_close(output, expected)
    parameters = list(model.parameters())
    actual = torch.autograd.grad(output.square().sum(), parameters)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), parameters))


@every_kind
def test_sequences_are_decoded_as_they_are_alone(attention, input_feeding):
    model = make(attention=attention, input_feeding=input_feeding)
    source, lengths, _ = problems()
    written = model.decode(source, lengths, 8)
    for row, length, expected in zip(source, lengths, written, strict=True):
        alone = model.decode(row[None, :length], length[None], 8)
        assert torch.equal(alone[0], expected)


def test_dropout_acts_in_training_alone():
    model, still = make(dropout=0.5), make(dropout=0.0)
    batch = problems()
    assert_close(model(*batch), still(*batch))
    assert not torch.allclose(model.train()(*batch), model(*batch))
    assert_close(still.train()(*batch), still.eval()(*batch))


def test_without_teacher_forcing_it_is_fed_what_it_wrote():
    model = make(dropout=0.0, teacher_forcing=0.0)
    source, lengths, target_in = problems()
    written = model.decode(source, lengths, target_in.shape[1] - 1, stop=False)
    # `decode` writes ends behind an end; here the decoder goes on.
    ended = (written == model.num_target_tokens).any(1)
    own = torch.cat((target_in[:, :1], written), 1)
    free, forced = model.train()(source, lengths, target_in), model.eval()(source, lengths, own)
    torch.testing.assert_close(free[~ended], forced[~ended])
    assert not torch.equal(free, model(source, lengths, target_in))


def test_half_of_the_batches_are_forced():
    model = make(dropout=0.0, teacher_forcing=0.5).train()
    batch = problems()
    answers = [model(*batch) for _ in range(60)]
    forced = [torch.equal(answer, model.eval()(*batch)) for answer in answers]
    assert 15 <= sum(forced) <= 45


def test_without_attention_there_is_none_to_trace():
    assert set(make(attention="none").trace(*problems())) == {"states", "logits"}
    assert make().trace(*problems())["cross_attention"].shape == (1, 4, 1, 4, 8)


def test_bad_arguments():
    with pytest.raises(UserError, match="num_layers must be at least 1; got 0"):
        make(num_layers=0)
    with pytest.raises(UserError, match="attention must be one of general, none; got 'dot'"):
        make(attention="dot")
    with pytest.raises(UserError, match="input_feeding needs an attention"):
        make(attention="none", input_feeding=True)
