"""Errors for a person: who complains, what must hold, what was got, the likely fix."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# A sentence lists no more names than this.
MOST_NAMES = 10


class UserError(ValueError):
    """Input that a person can mend; the command line answers it with exit code 2."""


class MissingFileError(UserError):
    """A file of a data set that is nowhere, with where it is to be had."""


class WorkError(RuntimeError):
    """Work that failed while it ran; the command line answers it with exit code 1."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Build the error for a name that nothing is registered under.

    Args:
        kind: What was looked for, such as ``"unit"``.
        name: The name that was given.
        known: The names that exist.

    Example:
        >>> str(unknown_name("unit", "nnmu", ["nau", "nmu"]))
        "unknown unit 'nnmu'; did you mean nmu? Known: nau, nmu."
        >>> str(unknown_name("experiment", "ctl", ["csordas2023.ctl"]))
        "unknown experiment 'ctl'; did you mean csordas2023.ctl? Known: csordas2023.ctl."
    """
    names = sorted(known)
    parts = [one for one in names if name in one.split(".")]
    near = parts[:3] or get_close_matches(name, names, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    more = len(names) - MOST_NAMES
    listed = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return UserError(f"unknown {kind} {name!r}{hint} Known: {listed}.")


def require_at_least(owner: str, name: str, value: int | float, minimum: int | float) -> None:
    """Raise unless ``value`` is at least ``minimum``."""
    if not value >= minimum:
        raise UserError(f"{owner}: {name} must be at least {minimum}; got {value}.")


def require_choice(owner: str, name: str, value: str, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    known = tuple(choices)
    if value not in known:
        raise UserError(f"{owner}: {name} must be one of {', '.join(known)}; got {value!r}.")
