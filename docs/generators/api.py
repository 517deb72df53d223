"""The API reference: every public name, from its docstring, by mkdocstrings."""

from collections.abc import Iterator

import wug
from wug import estimators
from wug.core import index

PACKAGES = {
    "units": ("unit", "Units", "Plain modules whose weights spell a formula."),
    "layers": ("layer", "Layers", "Blocks with attention, routing, memory or experts."),
    "models": ("model", "Models", "Whole networks made of units and layers."),
    "tasks": ("task", "Tasks", "Data that tests outside of what was trained on."),
    "analysis": ("analysis", "Analysis", "Functions of a trained network, never inside it."),
}
TOP = """What `import wug` gives; nothing else is imported before it is asked for. The packages:
{packages}."""


def targets(kind: str) -> list[str]:
    """Return where the names of a kind are, as Python writes it."""
    return sorted({entry.target.replace(":", ".") for entry in index.entries(kind)})


def page(title: str, lead: str, names: list[str]) -> str:
    """Return a page with a part for each name."""
    parts = [f"# {title}\n\n{lead}\n", *(f"::: {name}\n" for name in names)]
    return "\n".join(parts)


def pages() -> Iterator[tuple[str, str, str]]:
    """Yield the title, the place and the text of each page."""
    links = ", ".join(f"[wug.{name}]({name}.md)" for name in (*PACKAGES, "estimators"))
    functions = sorted(f"{module}.{name}" for name, module in wug._FUNCTIONS.items())
    yield "wug", "api/index.md", page("wug", TOP.format(packages=links), functions)
    for name, (kind, title, lead) in PACKAGES.items():
        whole = f"wug.{name}"
        yield whole, f"api/{name}.md", page(whole, f"{title}. {lead}", targets(kind))
    found = [f"wug.estimators.{name}" for name in sorted(estimators.__all__)]
    lead = "Estimators with the interface of scikit-learn."
    yield "wug.estimators", "api/estimators.md", page("wug.estimators", lead, found)
