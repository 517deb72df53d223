"""Values that a hand, another program or a bad disk may leave where ours are expected."""

import json
import math
import struct
from typing import Any

from hypothesis import strategies as st

TEXTS = st.sampled_from(
    [
        "",
        "\ud800",
        "<script>window.harmed = 1</script>",
        "\x1b[2J",
        "[/] [red",
        "../../etc/passwd",
        "nau",
        "seed",
        "a" * 5_000,
        "\x00",
        "{}",
        "NaN",
        "1e400",
        "٣",
        "\n",
    ]  # fmt: skip
) | st.text(max_size=20)
NUMBERS = (
    st.sampled_from([0, -1, 1e308, math.nan, math.inf, 10**400, -(10**400), 2**63, 1e-320, 10**9])
    | st.integers()
    | st.floats()
)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
) | st.sampled_from([20, 99, 120, 600]).map(lambda depth: nested(depth))


def nested(depth: int) -> Any:
    """Return lists within lists."""
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@st.composite
def spoiled(draw: st.DrawFn, good: Any) -> Any:
    """Give a value that is good but for a few places."""
    value = json.loads(json.dumps(good))
    for _ in range(draw(st.integers(0, 3))):
        value = spoil(draw, value)
    return value


def spoil(draw: st.DrawFn, value: Any) -> Any:
    """Put something else into one place of a value."""
    if isinstance(value, dict | list) and value and draw(st.integers(0, 5)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        if isinstance(value, dict) and not draw(st.integers(0, 5)):
            del value[key]
        else:
            value[key] = spoil(draw, value[key])
        return value
    return draw(VALUES)


def dumped(value: Any) -> bytes:
    """Return JSON as others may write it: NaN, infinities and long numbers as they are."""
    return json.dumps(value).encode()


@st.composite
def torn(draw: st.DrawFn, data: bytes) -> bytes:
    """Give bytes of which some are cut, flipped or doubled, perhaps."""
    how = draw(st.sampled_from(["whole", "whole", "cut", "flipped", "doubled"]))
    if how == "whole" or not data:
        return data
    place = draw(st.integers(0, len(data) - 1))
    if how == "cut":
        return data[:place]
    if how == "doubled":
        return data + data[place:]
    return data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :]


def safetensors(header: bytes, data: bytes, length: int | None = None) -> bytes:
    """Return the bytes of a safetensors file with any header."""
    return struct.pack("<Q", len(header) if length is None else length) + header + data
