"""Table 10: the printed numbers, and the claims on them."""

from wug.core import index
from wug.study.experiment import RunOptions

EXPERIMENT = index.get("experiment", "trask2018.mnist")(RunOptions())


def test_printed_numbers():
    cells = {(cell["model"], cell["operation"]): cell for cell in EXPERIMENT.published}
    assert len(cells) == 12
    lstm, relu = cells["lstm", "sum"], cells["relu", "count"]
    assert lstm["error_at_1000"]["value"] == 38761851 and lstm["right_at_1"]["value"] == 0
    assert relu["right_at_1"]["value"] == 0.098 and relu["error_at_10"]["value"] == 0.54
    assert cells["nac_add", "sum"]["error_at_100"]["value"] == 28.11


def test_claims_on_the_printed_numbers():
    verdicts = {
        claim.key: claim.evaluate(EXPERIMENT.published_table).verdict.value
        for claim in EXPERIMENT.claims
    }
    assert {key for key, verdict in verdicts.items() if verdict != "held"} == {
        "nalu_extrapolates_better"
    }
    assert verdicts["nalu_extrapolates_better"] == "broken"
