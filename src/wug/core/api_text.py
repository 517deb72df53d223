"""What the source of a class says of itself, read without importing it: no torch is needed."""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from inspect import cleandoc
from typing import Any

SECTION = re.compile(r"^(Notation|Departures|Args|Shape|Raises|Example|References):$", re.MULTILINE)
# The rest is of any torch module.
PLAIN = ("generator", "device", "dtype")


def sections(docstring: str) -> dict[str, str]:
    r"""Return the sections of a docstring by name; what stands before them has none.

    Example:
        >>> sections("Adds.\n\nArgs:\n    a: One.\n\nShape:\n    (n,)")
        {'': 'Adds.', 'Args': 'a: One.', 'Shape': '(n,)'}
    """
    parts = SECTION.split(cleandoc(docstring))
    found = {"": parts[0].strip()}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = dedented(text)
    return found


def dedented(text: str) -> str:
    """Return an indented block without its indent."""
    return "\n".join(line.removeprefix("    ") for line in text.strip("\n").splitlines()).strip()


def arguments(text: str) -> list[list[str]]:
    r"""Return names and texts of an Args section.

    Example:
        >>> arguments("a: The first,\n    in two lines.\nb: The second.")
        [['a', 'The first, in two lines.'], ['b', 'The second.']]
    """
    found: list[list[str]] = []
    for line in text.splitlines():
        named = re.match(r"^(\*{0,2}\w+): (.*)$", line)
        if named:
            found.append([named[1], named[2]])
        elif found and line.strip():
            found[-1][1] += " " + line.strip()
    return found


def signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Return how a class or function is called, without what every torch module takes."""
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    call = next((m for m in methods if m.name == "__init__"), None)
    if isinstance(node, ast.FunctionDef):
        call = node
    if call is None:  # a dataclass: its fields
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        parts = [
            f"{ast.unparse(one.target)}" + (f"={ast.unparse(one.value)}" if one.value else "")
            for one in fields
        ]
        return f"{node.name}({', '.join(parts)})"
    given = call.args
    every = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(every) - len(given.defaults)) + list(given.defaults)
    parts = [
        one.arg + (f"={ast.unparse(default)}" if default is not None else "")
        for one, default in zip(every, defaults, strict=True)
        if one.arg != "self"
    ]
    named = [
        one.arg + (f"={ast.unparse(default)}" if default is not None else "")
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if one.arg not in PLAIN
    ]
    return f"{node.name}({', '.join([*parts, *(['*', *named] if named else [])])})"


def describe(target: str) -> dict[str, Any]:
    """Return how something registered is called, its arguments, departures, and its file.

    Args:
        target: As ``wug.units.nmu:NMU``.

    Example:
        >>> describe("wug.units.nmu:NMU")["signature"]
        "wug.units.NMU(in_features, out_features, *, clamp='project')"
    """
    module, _, name = target.partition(":")
    parts = module.split(".")
    path = files("wug").joinpath(*parts[1:-1], f"{parts[-1]}.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    node = next(one for one in tree.body if isinstance(one, kinds) and one.name == name)
    told = sections(ast.get_docstring(node) or "")
    return {
        "signature": f"{'.'.join(parts[:2])}.{signature(node)}",
        "arguments": [one for one in arguments(told.get("Args", "")) if one[0] not in PLAIN],
        "departures": told.get("Departures", ""),
        "shape": told.get("Shape", ""),
        "example": told.get("Example", ""),
        "file": f"src/{'/'.join(parts)}.py",
    }
