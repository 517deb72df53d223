import json
import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.records.hashing import DamagedLineError
from wug.records.schema import Record, identity

outcomes = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
)
configs = st.dictionaries(st.text(), st.none() | st.integers() | st.lists(st.text()))
keys = st.dictionaries(
    st.text(),
    st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    min_size=1,
)
curves = st.dictionaries(
    st.text(), st.lists(st.floats() | st.integers(-(10**9), 10**9), max_size=5)
)


@given(key=keys, config=configs, outcome=outcomes, curves=curves, seconds=st.floats(0, 1e6))
def test_round_trip(make_record: Callable[..., Record], **fields: object) -> None:
    record = make_record(**fields)
    again = Record.from_line(record.to_line(), record.shared())
    assert again == record
    assert again.to_line() == record.to_line()


def test_a_line_is_strict_json_that_refers_to_its_config(
    make_record: Callable[..., Record],
) -> None:
    record = make_record(outcome={"error": math.inf, "deep": [{"a": math.nan}]})
    line = json.loads(record.to_line(), parse_constant=pytest.fail)
    assert line["outcome"] == {"error": None, "deep": [{"a": None}]}
    assert line["config"] == record.config_hash
    assert record.shared()[record.config_hash] == {"steps": 10, "clip": None}


def test_what_is_not_a_number_reads_back_as_nan(make_record: Callable[..., Record]) -> None:
    record = make_record(
        outcome={"error": -math.inf, "solved_at": None}, curves={"loss": [math.nan, math.inf]}
    )
    again = Record.from_line(record.to_line(), record.shared())
    assert all(math.isnan(value) for value in again.outcome.values())  # type: ignore[arg-type]
    assert all(math.isnan(value) for value in again.curves["loss"])
    assert again.config["clip"] is None


def test_curves_keep_five_digits_and_outcomes_all(make_record: Callable[..., Record]) -> None:
    record = make_record(outcome={"error": 0.1234567890123}, curves={"a": [123456.7, 1234567]})
    assert record.outcome["error"] == 0.1234567890123
    assert record.curves["a"] == [123460.0, 1234567]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_of_curves_is_close_and_final(
    make_record: Callable[..., Record], value: float
) -> None:
    rounded = make_record(curves={"a": [value]}).curves["a"][0]
    assert math.isclose(rounded, value, rel_tol=5e-5, abs_tol=1e-320)
    assert make_record(curves={"a": [rounded]}).curves["a"] == [rounded]


def test_identity_is_canonical() -> None:
    assert identity({"seed": 3, "unit": "nau"}) == identity({"unit": "nau", "seed": 3.0})
    assert identity({"seed": 3}) != identity({"seed": "3"})


def test_a_record_is_frozen(make_record: Callable[..., Record]) -> None:
    with pytest.raises(FrozenInstanceError):
        make_record().seed = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kind": "picture"}, ValueError, "kind must be one of scalar, curve.*got 'picture'"),
        ({"key": {}}, ValueError, "key must name at least one field"),
        ({"key": {"seed": None}}, TypeError, "key.seed must be a string or number; got None"),
        ({"key": {"rate": math.nan}}, TypeError, "key.rate must be a JSON value"),
        ({"config": {"rate": math.inf}}, TypeError, "config.rate must be a JSON value"),
        ({"outcome": {"set": {1}}}, TypeError, "outcome.set must be a JSON value"),
        ({"curves": {"loss": ["a"]}}, TypeError, "curves.loss must hold numbers; got 'a'"),
        ({"seconds": math.nan}, TypeError, "seconds must be a JSON value"),
    ],
)
def test_bad_records_are_refused(
    make_record: Callable[..., Record],
    changes: dict[str, object],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        make_record(**changes)


def test_a_line_without_its_config_is_no_record(make_record: Callable[..., Record]) -> None:
    record = make_record()
    with pytest.raises(DamagedLineError, match=record.config_hash):
        Record.from_line(record.to_line(), {})
