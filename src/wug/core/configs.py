"""Settings as plain data, for records and hashes: never a repr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from wug.records import Json


def as_config(value: Any) -> Json:
    """Return frozen dataclasses, tuples, classes and types of numbers as JSON.

    A dataclass becomes its fields under the names that they have, with its own name as ``kind``.

    Raises:
        TypeError: Something has no plain form, such as a function.

    Example:
        >>> from wug.core.schedules import Ramp
        >>> as_config({"penalty": Ramp(10.0, 20, 40), "sizes": (2, 1)})
        {'penalty': {'kind': 'Ramp', 'peak': 10.0, 'start': 20, 'end': 40}, 'sizes': [2, 1]}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        content = {field.name: as_config(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, **content}
    if isinstance(value, Mapping):
        return {str(name): as_config(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_config(part) for part in value]
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    if type(value).__module__ == "torch":  # a dtype or a device; core does without torch
        return str(value).removeprefix("torch.")
    raise TypeError(f"{value!r} has no plain form, so it can't be part of a configuration.")
