import pytest

from wug.experiments.madsen2020.ablation.claims import CLAIMS, HIDDEN_SIZES, MODELS
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.judgements import Verdict

CRITICAL = {"nmu_fails_without_penalty", "constraints_are_not_critical"}


def verdicts(changes: dict[str, dict] | None = None) -> dict[str, Verdict]:
    """Judge the text's own picture, with changes to some models above hidden size 2."""
    picture = {
        "nmu": {"successes": 50, "solved_at": 1.0, "sparsity": 0.01},
        "nmu_no_penalty": {"successes": 0, "solved_at": 3.0, "sparsity": 0.2},
        "nmu_no_clamp": {"successes": 50, "solved_at": 1.2, "sparsity": 0.02},
        "nmu_neither": {"successes": 40, "solved_at": 2.0, "sparsity": 0.1},
    }
    cells = {}
    for model in MODELS:
        larger = picture[model] | (changes or {}).get(model, {})
        for size in HIDDEN_SIZES:
            numbers = larger | ({"successes": 50} if size == "2" else {})
            known = {name: numbers[name] for name in ("solved_at", "sparsity")}
            cells[model, size] = Cell(
                numbers["successes"],
                50,
                {name: Estimate.given(v, 0.99 * v, 1.01 * v) for name, v in known.items()},
            )
    return {claim.key: claim.evaluate(Table(cells)).verdict for claim in CLAIMS}


def test_as_the_text_has_it():
    ours = verdicts()
    broken = {key for key, verdict in ours.items() if verdict is Verdict.BROKEN}
    assert broken == {"constraints_are_not_critical"}
    assert set(ours.values()) == {Verdict.HELD, Verdict.BROKEN}


def test_as_its_conclusion_has_it():
    ours = verdicts({"nmu_no_penalty": {"successes": 45}})
    broken = {key for key, verdict in ours.items() if verdict is Verdict.BROKEN}
    assert broken == {"nmu_fails_without_penalty"}


@pytest.mark.parametrize("successes", range(51))
def test_observation_and_conclusion_exclude_each_other(successes):
    ours = verdicts({"nmu_no_penalty": {"successes": successes}})
    assert [ours[key] for key in CRITICAL].count(Verdict.HELD) < 2


@pytest.mark.parametrize(
    ("model", "change", "broken"),
    [
        ("nmu_no_clamp", {"successes": 5}, {"clamp_matters_little"}),
        ("nmu_no_clamp", {"solved_at": 5.0}, {"clamp_saves_little_time"}),
        (
            "nmu_no_clamp",
            {"solved_at": 0.5},
            {"clamp_saves_little_time", "both_constraints_speed_up"},
        ),
        ("nmu_no_penalty", {"sparsity": 0.001}, {"both_constraints_make_sparse"}),
        ("nmu_neither", {"solved_at": 0.5}, {"neither_is_slower"}),
        ("nmu_neither", {"sparsity": 0.001}, {"neither_is_less_sparse"}),
        ("nmu_neither", {"successes": 0}, {"neither_still_works"}),
    ],
)
def test_otherwise(model, change, broken):
    ours = verdicts({model: change})
    conclusion = {"constraints_are_not_critical"}
    assert {key for key, v in ours.items() if v is Verdict.BROKEN} - conclusion == broken
