from typing import get_args

import pytest
import torch

from wug.cli.lm import Layer
from wug.core.errors import UserError
from wug.study.language_run import LanguageOptions, language_run, observe
from wug.training.engine import initial_module

SMALL = {"features": 8, "num_layers": 1, "num_heads": 2, "num_experts": 4, "expert_features": 8,
         "top_k": 2, "length": 8, "rows": 2, "steps": 4}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a b.txt").write_text("wugs and wugs " * 100, encoding="utf-8")
    return str(tmp_path / "a b.txt")


def test_dense_and_sparse_networks_are_of_one_size(path):
    sizes = []
    for layer in ("dense", "sigma_moe"):
        (lot,) = language_run(LanguageOptions(path=path, layer=layer, **SMALL)).lots
        sizes.append(sum(p.numel() for p in initial_module(lot, 0).parameters()))
    assert abs(sizes[0] - sizes[1]) <= 2 * 8 + 1  # one hidden unit


@pytest.mark.parametrize("layer", ["top_k_mlp", "product_key_memory", "peer"])
def test_layers_without_experts_have_at_most_the_parameters_of_sigma_moe(path, layer):
    """To one hidden unit, or one half key more."""
    sizes = SMALL | {"num_experts": 8}
    blocks = []
    for one in ("sigma_moe", layer):
        (lot,) = language_run(LanguageOptions(path=path, layer=one, **sizes)).lots
        block = initial_module(lot, 0).layers[0].feed_forward
        blocks.append((block, sum(parameter.numel() for parameter in block.parameters())))
    (_, wanted), (block, size) = blocks
    n = getattr(block, "num_sub_keys", 0)
    room = 2 * 8 + 1 if layer == "top_k_mlp" else 2 * (2 * n + 1) * 8 + 2 * 8
    assert wanted - room < size <= wanted + (2 * 8 if layer == "top_k_mlp" else 0)
    assert block.top_k * getattr(block, "num_heads", 1) == 2 * 8  # as many as K experts have


@pytest.mark.parametrize("layer", get_args(Layer))
def test_what_keeps_experts_in_use_is_a_term_of_the_network(path, layer):
    (lot,) = language_run(LanguageOptions(path=path, layer=layer, **SMALL)).lots
    output = initial_module(lot, 0).train()(torch.zeros(1, 3, dtype=torch.int64))
    weighed = set(lot.terms(lot.variants[0]))
    assert weighed <= set(output.terms)
    assert weighed or layer not in ("sigma_moe", "softmax_moe", "switch_moe", "sparsely_gated_moe")


def test_layers_that_are_applied_again(path):
    options = LanguageOptions(path=path, num_repeats=3, **SMALL)
    (lot,) = language_run(options).lots
    assert lot.name == "moeut-a_b-0"
    found = observe(initial_module(lot, 0), options.task)
    assert 0 < found["same_experts"] <= 1 and found["tokens_per_second"] > 0
    with pytest.raises(UserError, match="repeated layers have sigma_moe; got dense"):
        language_run(LanguageOptions(path=path, num_repeats=3, layer="dense", **SMALL))


def test_lots_carry_the_seed_and_settings_the_choices(path):
    runs = [language_run(LanguageOptions(path=path, seed=seed, **SMALL)) for seed in (0, 3)]
    assert runs[1].lots[0].name == "sigma_moe-a_b-3" and runs[1].lots[0].seeds == (3,)
    assert runs[0].settings != runs[1].settings


def test_says_how_long_the_text_is_and_whether_it_is_long_enough(path, tmp_path):
    assert LanguageOptions(path=path, **SMALL).require_text() == {
        "train": 1260, "validation": 70, "test": 70,
    }  # fmt: skip
    (tmp_path / "short.txt").write_text("wugs " * 20, encoding="utf-8")
    with pytest.raises(UserError, match="too short"):
        LanguageOptions(path=str(tmp_path / "short.txt"), **SMALL).require_text()
