"""JSON in one canonical form, its hash, and lines that notice a flipped byte."""

import json
import math
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from wug.records.files import parse_json

Json: TypeAlias = (
    "None | bool | int | float | str | list[Json] | tuple[Json, ...] | Mapping[str, Json]"
)

_SEALED = re.compile(rb'\{"check":"([0-9a-f]{16})",(.*\})', re.DOTALL)


class DamagedLineError(ValueError):
    """A line is not what was once written."""


def plain_json(value: object, name: str, *, lenient: bool = False) -> Any:
    """Copies a value into plain dicts, lists, strings, numbers and None.

    Args:
        value: What shall become JSON.
        name: What the value is called in the error message.
        lenient: Whether NaN and infinities become None instead of an error.

    Raises:
        TypeError: Some part of the value has no JSON form.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, float) and lenient:
        return None
    if isinstance(value, (list, tuple)):
        return [plain_json(item, f"{name}[{i}]", lenient=lenient) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{name}: keys must be strings; got {key!r}.")
        return {
            str(key): plain_json(item, f"{name}.{key}", lenient=lenient)
            for key, item in value.items()
        }
    raise TypeError(
        f"{name} must be a JSON value (finite number, string, bool, None, list or mapping of "
        f"these); got {value!r} of type {type(value).__name__}."
    )


def dump_json(value: object) -> str:
    """Writes plain JSON on one line with sorted keys, in ASCII, floats by `repr`."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: object, name: str = "value") -> str:
    """Writes equal values as equal text: neither key order nor `1` against `1.0` matters.

    Example:
        >>> canonical_json({"b": (1.0, None), "a": 0.5})
        '{"a":0.5,"b":[1,null]}'
    """
    return dump_json(_integral(plain_json(value, name)))


def config_hash(config: Mapping[str, Json]) -> str:
    """Hashes a config: sixteen hexadecimal digits, the same on every machine.

    Raises:
        TypeError: The config holds something that is not JSON.

    Example:
        >>> config_hash({"steps": 100, "rate": 1}) == config_hash({"rate": 1.0, "steps": 100})
        True
    """
    return digest(canonical_json(config, "config").encode())


def digest(data: bytes) -> str:
    """Gives the first sixteen hexadecimal digits of the SHA-256."""
    return sha256(data).hexdigest()[:16]


def seal(fields: Mapping[str, Any]) -> bytes:
    """Writes a non-empty JSON object as one line that starts with a checksum of the rest."""
    body = dump_json(fields).encode()
    return b'{"check":"%s",%s\n' % (digest(body).encode(), body[1:])


def unseal(line: bytes) -> dict[str, Any]:
    """Reads a line that `seal` wrote.

    Raises:
        DamagedLineError: The line is torn or altered, or `seal` never wrote it.
    """
    match = _SEALED.fullmatch(line.removesuffix(b"\n"))
    if match is None:
        raise DamagedLineError("the line is torn or was never a record")
    check, rest = match.groups()
    body = b"{" + rest
    if digest(body).encode() != check:
        raise DamagedLineError("the line was altered: its checksum does not match")
    # The checksum says that nobody altered the line, not that we wrote it.
    try:
        fields: dict[str, Any] = parse_json(body)
    except ValueError as error:
        raise DamagedLineError(f"the line is no record: {error}") from error
    return fields


def _integral(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_integral(item) for item in value]
    if isinstance(value, dict):
        return {key: _integral(item) for key, item in value.items()}
    return value
