"""Records as flat rows."""

from wug.records import Record
from wug.records.tabular import curve_rows, outcome_row


def test_rows_of_outcomes_and_curves() -> None:
    record = Record(
        experiment="demo", key={"unit": "nmu", "seed": 3}, config={}, seed=3, seconds=2.5,
        outcome={"status": "solved", "solved": True, "selected": {"test": {"error": 0.5}},
                 "weights": {"w": [1.0]}},
        curves={"step": [1, 2], "test": [0.5, 0.25], "late": [1.0]},
    )  # fmt: skip
    assert outcome_row(record) == {
        "unit": "nmu", "seed": 3, "solved": True, "status": "solved", "selected.test.error": 0.5,
        "seconds": 2.5,
    }  # fmt: skip
    assert list(curve_rows([record])) == [
        {"unit": "nmu", "seed": 3, "step": 1, "test": 0.5, "late": 1.0},
        {"unit": "nmu", "seed": 3, "step": 2, "test": 0.25, "late": None},
    ]
