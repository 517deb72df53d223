"""One call for everything: curves, controls, resuming, what is refused."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import wug
from wug.analysis.masks.controls import in_another_order, shuffled_stream
from wug.analysis.masks.find import find_masks
from wug.analysis.masks.finder import Finder, find_beta
from wug.analysis.masks.gates import chosen_parameters, make_gates
from wug.analysis.masks.planted import two_tables as plant
from wug.analysis.masks.training import Setting
from wug.core.errors import UserError


def test_controls_are_visibly_worse(two_tables):
    _, found = two_tables
    assert wug.find_masks is find_masks
    for name in found.names:
        controls = found.controls[name]
        assert found.matrix[name][name] == 1
        assert max(controls["random_mask"], controls["shuffled"]) < 0.6
        assert controls["seed_iou"] > 0.9
        assert controls["others_zero"] == 1
        assert set(controls) >= {"others_mean", "others_resampled"}


def test_curves_have_areas(two_tables):
    _, found = two_tables
    areas = found.areas()
    assert found.curves["a"][0] == 0 and found.curves["a"][-1] == 1
    assert areas["a"] > areas["random"]


def test_as_plain_data(two_tables):
    _, found = two_tables
    plain = found.to_json()
    assert plain["matrix"]["a"] == {"a": 1.0, "b": 0.0}
    assert plain["inverse"]["a"] == {"a": 0.0, "b": 1.0}
    assert plain["specialise"]["value"] == 1 and plain["reuse"]["value"] == 0
    assert plain["overlaps"]["a, b"] == {"iou": 0.0, "io_min": 0.0}
    assert plain["sharing"]["a"] == {"weights.0": 0.0, "weights.1": 0.0}
    assert len(found.losses["a"]) == found.setting["steps"]


def small(**options):
    planted = plant(4)
    data = {n: [tuple(part.repeat_interleave(4, 0) for part in b[0])] for n, b in
            planted.functions.items()}  # fmt: skip
    usual = {
        "steps": 6, "seeds": 1, "controls": (), "shares": (), "progress": False,
        "score": planted.score,
    }  # fmt: skip
    return planted, find_masks(planted.model, data, planted.loss, **{**usual, **options})


def test_an_interrupted_call_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("wug.analysis.masks.finder.CHECKPOINT_SECONDS", 0.0)
    _, whole = small()
    calls = []

    def stop(self, name, step, steps):
        calls.append(name)
        if len(calls) == 9:
            raise KeyboardInterrupt

    monkeypatch.setattr("wug.analysis.masks.finder.Bar._report", stop)
    with pytest.raises(KeyboardInterrupt):
        small(resume=tmp_path, progress=True)
    monkeypatch.undo()
    _, resumed = small(resume=tmp_path)
    for name in whole.names:
        for parameter, logits in whole.logits[name][0].items():
            assert torch.equal(logits, resumed.logits[name][0][parameter])
    assert calls == ["a"] * 6 + ["b"] * 3


def test_other_settings_begin_again(tmp_path):
    small(resume=tmp_path)
    with pytest.warns(UserWarning, match="another configuration"):
        _, found = small(resume=tmp_path, beta=0.5)
    _, fresh = small(beta=0.5)
    for parameter, logits in fresh.logits["a"][0].items():
        assert torch.equal(logits, found.logits["a"][0][parameter])


def test_beta_is_searched():
    planted = plant(4)
    batches = [tuple(part.repeat_interleave(8, 0) for part in planted.functions["a"][0])]
    gates = make_gates(planted.model, chosen_parameters(planted.model))
    finder = Finder(planted.model, gates, planted.loss, Setting(steps=60, learning_rate=0.1))
    beta = find_beta(finder, batches, batches, planted.score)
    assert beta > 1e-6
    hopeless = Finder(planted.model, gates, planted.loss, Setting(steps=60, learning_rate=0.1))
    with pytest.raises(UserError, match="train for more steps"):
        find_beta(hopeless, batches, batches, planted.score, enough=1.1)


@pytest.mark.parametrize("method", ["hard_concrete", "continuous"])
def test_other_methods_find_the_module(method):
    planted, found = small(
        method=method, steps=250, learning_rate=0.1, beta=0.05, samples=8 if "hard" in method else 2
    )
    assert planted.counted(found["a"]) == planted.modules["a"]


def test_mappings_need_a_score_and_targets():
    model = nn.Linear(3, 2)
    batch = {"x": torch.randn(8, 3, generator=torch.Generator()), "labels": torch.zeros(8).long()}

    def loss(network, one):
        return F.cross_entropy(network(one["x"]), one["labels"])

    with pytest.raises(UserError, match="need a score"):
        find_masks(model, {"f": [batch]}, loss, steps=1, progress=False)

    def score(network, one):
        return (network(one["x"]).argmax(-1) == one["labels"]).float()

    found = find_masks(model, {"f": [batch]}, loss, score=score, steps=2, progress=False, seeds=1)
    assert 0 <= found.controls["f"]["shuffled"] <= 1
    with pytest.raises(UserError, match="target="):
        find_masks(model, {"f": [batch]}, loss, score=score, steps=1, progress=False, target="y")


def test_controls_change_what_they_say():
    model = nn.Linear(30, 2)
    other = in_another_order(model, ["weight"])
    assert not torch.equal(other.weight, model.weight)
    assert torch.equal(other.weight.flatten().sort()[0], model.weight.flatten().sort()[0])
    batch = (torch.arange(20.0), torch.arange(20))
    for stream in ([batch], lambda step: batch):
        shuffled = shuffled_stream(stream, None)
        x, y = shuffled(0) if callable(shuffled) else next(iter(shuffled))
        assert torch.equal(x, batch[0]) and not torch.equal(y, batch[1])
        assert torch.equal(y.sort()[0], batch[1])


def test_what_is_refused():
    model, data = nn.Linear(3, 2), [(torch.ones(4, 3), torch.zeros(4, dtype=torch.int64))]
    for functions, options, word in (
        ({}, {}, "at least one"),
        ([1], {}, "must be a dict"),
        ({"f": 3}, {}, "batches of 'f'"),
        ({"f": data}, {"score": lambda y, target: torch.full((4,), 2.0)}, "0 and 1"),
        ({"f": data}, {"truth": {"f": 3}}, "truth must be masks"),
        ({"f": data}, {"controls": ("none",)}, "controls"),
        ({"f": data}, {"method": "magic"}, "method"),
        ({"f": data}, {"seeds": (1, 1)}, "distinct"),
        ({"f": [(torch.ones(4, 3), torch.ones(4, 2))]}, {}, "score="),
        ({"f": []}, {}, "no batches"),
    ):
        usual = {"steps": 1, "progress": False, "controls": (), "shares": ()}
        with pytest.raises(UserError, match=word):
            find_masks(model, functions, F.cross_entropy, **{**usual, **options})


def test_a_loss_that_is_no_number_and_a_model_that_is_none():
    data = {"f": [(torch.ones(4, 3), torch.zeros(4, dtype=torch.int64))]}
    usual = {"steps": 1, "progress": False, "controls": (), "shares": ()}
    with pytest.raises(UserError, match="one number"):
        find_masks(nn.Linear(3, 2), data, lambda y, target: y, **usual)
    with pytest.raises(UserError, match=r"nn\.Module; got NoneType"):
        find_masks(None, data, F.cross_entropy, **usual)
    with pytest.raises(UserError, match="loss must be a function"):
        find_masks(nn.Linear(3, 2), data, 3, **usual)


def test_one_function_alone_has_no_neighbours():
    planted, found = small()
    one = find_masks(
        planted.model, {"a": planted.functions["a"]}, planted.loss, score=planted.score, steps=2,
        controls=(), shares=(), progress=False,
    )  # fmt: skip
    assert one.to_json()["specialise"] is None and math.isnan(one.specialise.value)
