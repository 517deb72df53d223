import hashlib
import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.records.hashing import (
    DamagedLineError,
    Json,
    canonical_json,
    config_hash,
    plain_json,
    seal,
    unseal,
)

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
configs = st.dictionaries(st.text(), json_values)


@given(configs, st.randoms(use_true_random=False))
def test_hash_does_not_depend_on_key_order(
    config: dict[str, Json], shuffler: random.Random
) -> None:
    items = list(config.items())
    shuffler.shuffle(items)
    assert config_hash(dict(items)) == config_hash(config)


@given(st.integers(-(2**53), 2**53))
def test_hash_does_not_depend_on_the_spelling_of_a_number(number: int) -> None:
    assert config_hash({"a": [number]}) == config_hash({"a": (float(number),)})


def test_hash_is_the_start_of_the_sha256_of_the_canonical_json() -> None:
    expected = hashlib.sha256(b'{"rate":0.001,"steps":5}').hexdigest()[:16]
    assert config_hash({"steps": 5, "rate": 1e-3}) == expected


@pytest.mark.parametrize("other", [{"a": 2}, {"b": 1}, {"a": True}, {"a": "1"}, {"a": [1]}, {}])
def test_different_configs_have_different_hashes(other: dict[str, Json]) -> None:
    assert config_hash(other) != config_hash({"a": 1})


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"bytes", object(), 1j])
def test_what_is_not_json_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(TypeError, match=r"config\.optimiser\.betas\[1\] must be a JSON value"):
        config_hash({"optimiser": {"betas": [0.9, value]}})  # type: ignore[list-item]


def test_keys_must_be_strings() -> None:
    with pytest.raises(TypeError, match=r"config\.a: keys must be strings; got 1\."):
        config_hash({"a": {1: 2}})  # type: ignore[dict-item]


@given(json_values)
def test_canonical_json_is_json_of_an_equal_value(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


def test_lenient_json_has_null_for_what_is_not_a_number() -> None:
    assert plain_json({"a": [math.nan, -math.inf, 1.5]}, "value", lenient=True) == {
        "a": [None, None, 1.5]
    }


@given(st.dictionaries(st.text(), json_values, min_size=1))
def test_seal_round_trip(fields: dict[str, Json]) -> None:
    line = seal(fields)
    assert unseal(line) == fields
    assert line.count(b"\n") == 1 and line.isascii()
    assert json.loads(line).keys() == fields.keys() | {"check"}


@given(st.data())
def test_any_flipped_bit_and_any_cut_is_noticed(data: st.DataObject) -> None:
    line = seal({"error": 0.125, "unit": "näu"}).removesuffix(b"\n")
    place = data.draw(st.integers(0, len(line) - 1))
    flipped = bytearray(line)
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (bytes(flipped), line[:place]):
        with pytest.raises(DamagedLineError):
            unseal(damaged)
