import pytest

from wug.core.errors import UserError
from wug.study.language_run import LanguageOptions, language_run
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
