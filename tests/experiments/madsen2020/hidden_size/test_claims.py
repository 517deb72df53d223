import pytest

from wug.experiments.madsen2020.hidden_size.claims import CLAIMS, HIDDEN_SIZES
from wug.study.claims import Cell, Table
from wug.study.judgements import Verdict


def verdicts(successes: dict[str, list[int]]) -> dict[str, Verdict]:
    """Judge successes of 50 runs at hidden sizes 2 to 10."""
    cells = {
        (model, size): Cell(count, 50)
        for model, counts in successes.items()
        for size, count in zip(HIDDEN_SIZES, counts, strict=True)
    }
    return {claim.key: claim.evaluate(Table(cells)).verdict for claim in CLAIMS}


AS_THE_TEXT_HAS_IT = {
    "nmu": [50] * 9,
    "nac_mul": [15] + [0] * 8,
    "nac_mul_sigmoid": [50, 30, 20, 10, 0, 0, 0, 0, 0],
    "nac_mul_nmu": [47, 30, 20, 10, 0, 0, 0, 0, 0],
}


def test_as_the_text_has_it():
    assert set(verdicts(AS_THE_TEXT_HAS_IT).values()) == {Verdict.HELD}


def test_nmu_and_nac_alone_decide_what_is_said_of_them():
    ours = verdicts({model: AS_THE_TEXT_HAS_IT[model] for model in ("nmu", "nac_mul")})
    decided = {key for key, verdict in ours.items() if verdict is Verdict.HELD}
    assert decided == {"nmu_takes_large_hidden_sizes", "nmu_outlasts_nac"}


@pytest.mark.parametrize(
    ("model", "counts", "broken"),
    [
        ("nmu", [50] * 8 + [10], {"nmu_takes_large_hidden_sizes"}),
        ("nac_mul", [0] * 8 + [50], {"nmu_outlasts_nac"}),
        ("nac_mul_nmu", [50] * 9, {"nmu_outlasts_variants", "variants_fail_at_large_sizes"}),
        ("nac_mul_sigmoid", [0] * 9, {"removing_division_helps"}),
        ("nac_mul_nmu", [0] * 9, {"penalised_weights_help"}),
    ],
)
def test_otherwise(model, counts, broken):
    ours = verdicts({**AS_THE_TEXT_HAS_IT, model: counts})
    assert {key for key, verdict in ours.items() if verdict is Verdict.BROKEN} == broken
