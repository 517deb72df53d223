"""One page per registered unit, from its registration, its docstring and our records."""

import ast
import html
import inspect
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from generators.equations import equation
from generators.results import SYMBOLS, main_result, overview, unit_table, values
from wug.cli.cite import bibliography
from wug.core import index
from wug.core.registry import Entry

SECTION = re.compile(r"^([A-Z][a-z]+)(?: \(([^)]*)\))?:[ \n]", re.MULTILINE)
ARGUMENT = re.compile(r"^(\w+): ", re.MULTILINE)
LONGEST_LINE = 88
HIDE_CONTENTS = "---\nhide:\n  - toc\n---"
NOTE = (
    "Success in per cent of the seeds, ours / published; bold where they disagree: neither lies in "
    "the other's 95 % interval. "
)


@dataclass(frozen=True)
class Source:
    """What a unit's file says about it, read without importing it."""

    idea: str
    signature: str
    sections: dict[str, tuple[str, str]]


def read_source(entry: Entry) -> Source:
    """Parse the file of a unit: idea, signature and the sections of the class docstring."""
    module, _, name = entry.target.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"unit {entry.key}: no module {module}. Write the index anew: make index.")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    (unit,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    (init,) = (n for n in unit.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    _, _, idea = (ast.get_docstring(tree) or "").partition("\n\n")
    arguments = list_arguments(init.args)
    call = f"{name}({', '.join(arguments)})"
    if len(call) > LONGEST_LINE:
        call = "\n    ".join([f"{name}(", *(f"{argument}," for argument in arguments)]) + "\n)"
    return Source(
        idea=idea or entry.summary,
        signature=f"from {module} import {name}\n\n{call}",
        sections=split_sections(ast.get_docstring(unit) or ""),
    )


def list_arguments(arguments: ast.arguments) -> list[str]:
    """List the arguments of a method with their defaults, without self and annotations."""
    required = [None] * (len(arguments.args) - len(arguments.defaults))
    plain = zip(arguments.args, [*required, *arguments.defaults], strict=True)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    _, *names = (with_default(*pair) for pair in plain)
    options = [with_default(*pair) for pair in keywords]
    return [*names, *(["*", *options] if options else [])]


def with_default(argument: ast.arg, default: ast.expr | None) -> str:
    """Write an argument and, if it has one, its default."""
    return argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}"


def split_sections(docstring: str) -> dict[str, tuple[str, str]]:
    """Return the sections of a Google docstring: name -> (what is in brackets, text)."""
    heads = list(SECTION.finditer(docstring))
    ends = [head.start() for head in heads[1:]] + [len(docstring)]
    return {
        head[1]: (head[2] or "", inspect.cleandoc(docstring[head.end() : end]))
        for head, end in zip(heads, ends, strict=True)
    }


def prose(text: str) -> str:
    """Return docstring text as HTML: code in backticks, arrows as arrows."""
    escaped = html.escape(" ".join(text.split()), quote=False).replace("-&gt;", "→")
    return re.sub(r"(``?)(.+?)\1", r"<code>\2</code>", escaped)


def arguments(text: str) -> str:
    """Return an Args section as a definition list."""
    _, *parts = ARGUMENT.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    rows = (f"<dt><code>{name}</code></dt><dd>{prose(what)}</dd>" for name, what in pairs)
    return f'<dl class="arguments">{"".join(rows)}</dl>'


def example(text: str) -> str:
    """Return an Example section: its prose, then the session."""
    before, mark, session = text.partition(">>>")
    words = f"<p>{prose(before)}</p>\n\n" if before.strip() else ""
    return f"{words}```pycon\n{mark}{session}\n```"


def unit_results(key: str) -> str:
    """Return the tables of a unit over all experiments that have results for it."""
    parts = []
    for experiment in index.entries("experiment"):
        result = main_result(experiment.key)
        if result is None or key not in values(result.table, "unit"):
            continue
        link = f"[{experiment.name}](../experiments/{experiment.key}.md)"
        parts.append(f"{NOTE}{link}, columns are training ranges:\n")
        parts.append(unit_table(result.table, key, "success", "../"))
        parts.append("Mean iteration at which the successful seeds were solved:\n")
        parts.append(unit_table(result.table, key, "solved_at", "../"))
    return "\n".join(parts) or "*No results of ours for this unit yet.*\n"


def unit_page(entry: Entry) -> str:
    """Return the page of a unit."""
    source = read_source(entry)
    place, plain = source.sections.get("Equation", ("", ""))
    parts = [HIDE_CONTENTS, f"# {entry.name}", source.idea]
    parts += ["## Equation", equation(entry.equation)]
    if plain:
        parts.append(f'<p class="source">{place}; in plain text: {prose(plain)}</p>')
    for name in ("Notation", "Departures"):
        if name in source.sections:
            parts += [f"## {name}", f"<p>{prose(source.sections[name][1])}</p>"]
    parts += ["## Where it fails", "\n".join(f"- {mode}" for mode in entry.failure_modes)]
    parts += ["## Results", unit_results(entry.key)]
    parts += ["## Arguments", f"```python\n{source.signature}\n```"]
    if "Args" in source.sections:
        parts.append(arguments(source.sections["Args"][1]))
    for name in ("Shape", "Raises"):
        if name in source.sections:
            parts.append(f"<p>{name}: <code>{prose(source.sections[name][1])}</code></p>")
    if "Example" in source.sections:
        parts += ["## Example", example(source.sections["Example"][1])]
    bibtex = "\n\n".join(bibliography()[key] for key in entry.references)
    parts += ["## Citation", f"```bibtex\n{bibtex}\n```", f"Or: `wug cite {entry.key}`"]
    return "\n\n".join(parts) + "\n"


def units_page() -> str:
    """Return the overview of all units."""
    rows = [
        f"| [{entry.name}]({entry.key}.md) | {entry.summary} | "
        f"{' '.join(SYMBOLS.get(name, name) for name in entry.details['operations']) or '–'} | "
        f"{', '.join(entry.references)} |"
        for entry in index.entries("unit")
    ]
    parts = [
        "# Units",
        "A unit is a plain `nn.Module` with a few weights that spell a formula. One unit, one "
        "file, one paper. [Which one do I want?](../which-unit.md)",
        "\n".join(["| unit | what it computes | made for | paper |", "|---|---|:-:|---|", *rows]),
    ]
    for experiment in index.entries("experiment"):
        result = main_result(experiment.key)
        if result is not None and result.table.fields == ("unit", "operation"):
            link = f"[{experiment.name}](../experiments/{experiment.key}.md)"
            parts += [
                f"## {experiment.name}",
                f"Runs solved over all ranges and seeds of the {link} in per cent, "
                "ours / published:",
                overview(result.table, "../"),
            ]
    return "\n\n".join(parts) + "\n"
