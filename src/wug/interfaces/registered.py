"""The interfaces by their keys, which tasks and models name."""

from __future__ import annotations

from wug.core.errors import unknown_name
from wug.interfaces.classification import CLASSIFICATION
from wug.interfaces.interface import Interface
from wug.interfaces.next_token import NEXT_TOKEN
from wug.interfaces.numbers import NUMBERS
from wug.interfaces.steps import STEPS
from wug.interfaces.transduction import TRANSDUCTION

INTERFACES: dict[str, Interface] = {
    "classification": CLASSIFICATION,
    "next_token": NEXT_TOKEN,
    "numbers": NUMBERS,
    "steps": STEPS,
    "transduction": TRANSDUCTION,
}


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
