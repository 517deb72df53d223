from collections.abc import Callable

from wug.records import Record, group_by, where


def test_where_and_group_by(make_record: Callable[..., Record]) -> None:
    keys = [{"unit": "nau", "seed": 0}, {"unit": "nmu", "seed": 0}, {"unit": "nau", "seed": 1}]
    first, second, third = records = [make_record(key=key) for key in keys]
    assert where(records, unit="nau") == [first, third]
    assert where(records, unit="nau", seed=1) == [third]
    assert where(records, range="[1,2)") == []
    assert group_by(records, "unit") == {("nau",): [first, third], ("nmu",): [second]}
    assert group_by(records, "seed", "range") == {(0, None): [first, second], (1, None): [third]}
