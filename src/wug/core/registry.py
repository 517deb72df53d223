"""The register of everything that can be dropped in as one file.

A decorator files a class or function under the stem of its file; what the decorator is told
(name, equation, citations, failure modes) feeds the docs, the command line, the contract tests
and the report. Nothing here imports torch: `wug.core.index` keeps a generated copy of the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from wug.core.errors import require_choice, unknown_name

KINDS = ("unit", "layer", "model", "task", "analysis", "experiment")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known of one registered thing without importing it.

    Args:
        kind: One of `KINDS`.
        key: The stem of its file (an experiment's key is ``<paper>.<table>``).
        name: How its paper writes it, such as ``"NAC•"``.
        summary: One line.
        target: ``module:qualname``, imported on demand.
        references: Keys into ``references.bib``.
        equation: LaTeX, without dollar signs.
        plain_equation: The same in plain text, as the docstring has it.
        failure_modes: Where it is known to fail, one sentence each.
        details: Further facts of this kind (operations, claim, scales, ...).
    """

    kind: str
    key: str
    name: str
    summary: str
    target: str
    references: tuple[str, ...]
    equation: str = ""
    plain_equation: str = ""
    failure_modes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def plain_equation(docstring: str) -> str:
    """Return the paragraph of a docstring that states the equation, as one line.

    Example:
        >>> plain_equation("Adds. Equation (madsen2020, Eq. 9): a = W x.")
        'a = W x.'
    """
    found = re.search(r"Equation \([^)]*\): (.*?)(\n\s*\n|$)", docstring, re.DOTALL)
    return " ".join(found[1].split()) if found else ""


_entries: dict[tuple[str, str], Entry] = {}


def register(
    kind: str,
    *,
    name: str,
    references: tuple[str, ...],
    equation: str = "",
    failure_modes: tuple[str, ...] = (),
    key: str | None = None,
    **details: Any,
) -> Callable[[T], T]:
    """File the decorated class or function in the register.

    The key is the stem of the file; the summary is the first line of the docstring.

    Args:
        kind: One of `KINDS`.
        name: How the paper writes it.
        references: Keys into ``references.bib``.
        equation: LaTeX, without dollar signs.
        failure_modes: Where it is known to fail.
        key: Another key than the file's stem; only for kinds with dotted keys.
        **details: Further JSON-able facts.
    """
    require_choice("register", "kind", kind, KINDS)

    def file(target: T) -> T:
        module, qualname = target.__module__, target.__qualname__  # type: ignore[attr-defined]
        entry = Entry(
            kind=kind,
            key=key or module.rsplit(".", 1)[-1],
            name=name,
            summary=(target.__doc__ or "").strip().split("\n", 1)[0],
            target=f"{module}:{qualname}",
            references=references,
            equation=equation,
            plain_equation=plain_equation(target.__doc__ or ""),
            failure_modes=failure_modes,
            details=details,
        )
        before = _entries.get((kind, entry.key))
        if before is not None and before.target != entry.target:
            raise ValueError(
                f"register: {kind} {entry.key!r} is taken by {before.target}; "
                f"got {entry.target}. Rename the file."
            )
        _entries[kind, entry.key] = entry
        return target

    return file


def registered(kind: str | None = None) -> list[Entry]:
    """List what has been imported so far, sorted; `wug.core.index` lists what exists."""
    return sorted(
        (entry for entry in _entries.values() if kind in (None, entry.kind)),
        key=lambda entry: (KINDS.index(entry.kind), entry.key),
    )


def find(kind: str, key: str, entries: list[Entry]) -> Entry:
    """Return the entry of that kind and key, or raise with the nearest names."""
    for entry in entries:
        if (entry.kind, entry.key) == (kind, key):
            return entry
    raise unknown_name(kind, key, (entry.key for entry in entries if entry.kind == kind))
