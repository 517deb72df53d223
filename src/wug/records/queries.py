"""Small questions to a list of records."""

from collections.abc import Iterable

from wug.records.schema import KeyValue, Record


def where(records: Iterable[Record], **wanted: KeyValue) -> list[Record]:
    """Gives the records whose keys have these values: `where(records, unit="nau")`."""
    return [
        record
        for record in records
        if all(record.key.get(name) == value for name, value in wanted.items())
    ]


def group_by(
    records: Iterable[Record], *fields: str
) -> dict[tuple[KeyValue | None, ...], list[Record]]:
    """Groups records by fields of their keys, in order of appearance; None where one lacks it."""
    groups: dict[tuple[KeyValue | None, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record.key.get(field) for field in fields), []).append(record)
    return groups
