from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.records.errors import RunFolderError
from wug.records.hashing import digest, seal
from wug.records.schema import Record
from wug.records.segments import decode_segment, encode_segment

PATH = Path("000001-nau-0123456789abcdef.jsonl")


@pytest.fixture(scope="module")
def records(make_record: Callable[..., Record]) -> list[Record]:
    return [make_record(seed, config={"steps": seed % 2}) for seed in range(4)]


def test_round_trip(records: list[Record]) -> None:
    segment = decode_segment(encode_segment(records), PATH)
    assert segment.records == tuple(records)
    assert not segment.problems


def test_a_shared_config_is_stored_once(make_record: Callable[..., Record]) -> None:
    records = [make_record(seed, config={"recipe": "long" * 100}) for seed in range(20)]
    assert encode_segment(records).count(b"longlong" * 50) == 1


@given(data=st.data())
def test_a_flipped_byte_costs_at_most_its_line(records: list[Record], data: st.DataObject) -> None:
    whole = encode_segment(records)
    header = whole.index(b"\n") + 1
    place = data.draw(st.integers(header, len(whole) - 2))
    damaged = bytearray(whole)
    damaged[place] ^= data.draw(st.integers(1, 255))
    segment = decode_segment(bytes(damaged), PATH)
    assert segment.problems
    number = whole[:place].count(b"\n")
    lost = {number - 1, number} if whole[place : place + 1] == b"\n" else {number - 1}
    assert list(segment.records) == [r for i, r in enumerate(records) if i not in lost]
    assert segment.problems[0].line == number + 1


@given(data=st.data())
def test_a_cut_segment_is_noticed_wherever_it_is_cut(
    records: list[Record], data: st.DataObject
) -> None:
    whole = encode_segment(records)
    end = data.draw(st.integers(0, len(whole) - 2))
    segment = decode_segment(whole[:end], PATH)
    assert segment.problems
    assert segment.records == tuple(records)[: len(segment.records)]


def test_a_cut_between_lines_is_named(records: list[Record]) -> None:
    lines = encode_segment(records).splitlines(keepends=True)
    segment = decode_segment(b"".join(lines[:3]), PATH)
    assert segment.records == tuple(records[:2])
    (problem,) = segment.problems
    assert str(problem) == f"{PATH.name}: the file was cut: 2 of its 4 records are missing"


def test_without_its_header_a_segment_is_lost(records: list[Record]) -> None:
    segment = decode_segment(b"x" + encode_segment(records), PATH)
    (problem,) = segment.problems
    assert not segment.records
    assert str(problem).startswith(f"{PATH.name}, line 1: ")


def test_another_format_is_refused_not_taken_for_damage() -> None:
    with pytest.raises(RunFolderError, match="has format 2, and this version of wug reads"):
        decode_segment(seal({"wug_records": 2}), PATH)


def sealed(body: bytes) -> bytes:
    return b'{"check":"%s",%s\n' % (digest(body).encode(), body[1:])


@pytest.mark.parametrize(
    "body",
    [
        b'{"outcome":%s}' % (b"[" * 100_000),
        b'{"outcome":%s%s}' % (b"[" * 500, b"]" * 500),
        b'{"outcome":%s1%s}' % (b'{"a":' * 101, b"}" * 101),
        b'{"seed":%s}' % (b"1" * 10_000),
        b'{"a":1}{}',
        b'{"\xff":1}',
        b'{"config":[],"versions":{}}',
        b'{"check":}',
    ],
)
def test_a_sealed_line_that_is_no_record_costs_itself_alone(
    records: list[Record], body: bytes
) -> None:
    lines = encode_segment(records).splitlines(keepends=True)
    lines[2] = sealed(body)
    segment = decode_segment(b"".join(lines), PATH)
    assert segment.records == (records[0], *records[2:])
    assert [problem.line for problem in segment.problems] == [3]


def test_a_header_that_is_no_header_is_named() -> None:
    for body in (b'{"shared":%s}' % (b"[" * 100_000), b'{"count":%s}' % (b"9" * 10_000)):
        (problem,) = decode_segment(sealed(body), PATH).problems
        assert problem.line == 1


def test_brackets_side_by_side_are_not_deep(make_record: Callable[..., Record]) -> None:
    wide = make_record(outcome={"rows": [[i, [i]] for i in range(1_000)], "text": "[{" * 500})
    assert decode_segment(encode_segment([wide]), PATH).records == (wide,)
