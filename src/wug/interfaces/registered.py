"""The interfaces by their keys, which tasks and models name."""

from __future__ import annotations

from wug.core.errors import unknown_name
from wug.interfaces.classification import CLASSIFICATION
from wug.interfaces.interface import Interface
from wug.interfaces.numbers import NUMBERS

INTERFACES: dict[str, Interface] = {"classification": CLASSIFICATION, "numbers": NUMBERS}


def interface(key: str) -> Interface:
    """Return an interface.

    Raises:
        UserError: There is none of this key.

    Example:
        >>> interface("numbers").selection.split
        'validation'
    """
    if key not in INTERFACES:
        raise unknown_name("interface", key, INTERFACES)
    return INTERFACES[key]
