"""wug list: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from wug.core import index
from wug.core.costs import SCALES, costs, spelled_cost
from wug.core.folders import shipped_runs
from wug.core.registry import Entry
from wug.core.result_names import run_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Kind = Literal["all", "units", "layers", "models", "tasks", "analyses", "experiments"]
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "and": "∧", "or": "∨", "not": "¬",
         "lt": "<", "gt": ">", "eq": "=", "ne": "≠", "le": "≤", "ge": "≥"}  # fmt: skip
SINGULAR = {"analyses": "analysis"}
PLURAL = {"analysis": "analyses"}
# Below this, a line of its own for what an entry is about leaves it more room.
NARROW = 100
# Costs and what ships take much of a line, too.
NARROW_WITH_COSTS = 150
# Names of what ships are put below each other where they need more.
SHIPS_WIDTH = 24
COST = (
    "Times are processor minutes on one core of the tables as they are trained by default, with a "
    "compiler; ~ is an estimate. wug show KEY@shipped shows what ships."
)


def list_(kind: Annotated[Kind, tyro.conf.Positional] = "all", *, json: bool = False) -> None:
    """List units, tasks, experiments and the rest, with one line on each.

    Experiments have the time that they take at each scale, and the results of them that ship.

    Args:
        kind: What to list.
        json: Print everything that is known, as JSON.
    """
    import json as encoder

    from rich.console import Console

    wanted = None if kind == "all" else SINGULAR.get(kind, kind.removesuffix("s"))
    entries = index.entries(wanted)
    if json:
        print(encoder.dumps(list(map(as_json, entries)), indent=1, ensure_ascii=False))
        return
    console = Console(highlight=False)
    for group in dict.fromkeys(entry.kind for entry in entries):
        console.print(f"[bold]{PLURAL.get(group, group + 's')}[/]")
        some = [entry for entry in entries if entry.kind == group]
        print_entries(console, some, equations=kind != "all")
        if group == "experiment":
            console.print(COST, style="dim")
    if not entries:
        console.print(f"no {kind} yet")


def as_json(entry: Entry) -> dict[str, Any]:
    """Return all that is known of an entry; of an experiment also its cost and what ships."""
    data = entry.to_json()
    if entry.kind == "experiment":
        data |= {"cost": costs().get(entry.key, {}), "ships": shipped_names(entry.key)}
    return data


def shipped_names(experiment: str) -> list[str]:
    """Return the names of our results of an experiment."""
    return [run_name(folder) for folder in shipped_runs(experiment)]


def print_entries(console: Console, entries: list[Entry], *, equations: bool) -> None:
    """Print entries as a table, or on narrow terminals as short paragraphs."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    costly = entries[0].kind == "experiment"
    narrow = console.width < (NARROW_WITH_COSTS if costly else NARROW)
    sheet = Table(box=None, pad_edge=False, show_header=costly, padding=(0, 2, 0, 0))
    for column, head in enumerate(("", *SCALES, "ships", "") if costly else ("",) * 4):
        most = SHIPS_WIDTH if head == "ships" else None
        bold = "bold" if column == 0 else ""
        sheet.add_column(head, style=bold, no_wrap=column < 2, max_width=most)
    for entry in entries:
        facts = facts_of(entry)
        about = about_entry(entry, equations=equations)
        if narrow:
            words = " · ".join(f"{name} {fact}".strip() for name, fact in facts.items() if fact)
            line = Text(entry.key, style="bold")
            line.append(f"  {entry.name}", style="not bold")
            if words and not costly:
                line.append(f"  {words}", style="not bold")
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
            if words and costly:
                console.print(Padding(Text(words), (0, 0, 0, 4), expand=False))
            console.print(Padding(about, (0, 0, 0, 4), expand=False))
        else:
            names = () if costly else (entry.name,)
            told = Text(f"{entry.name}. ") + about if costly else about
            sheet.add_row(f"  {entry.key}", *names, *facts.values(), told)
    if not narrow:
        console.print(sheet)


def facts_of(entry: Entry) -> dict[str, str]:
    """Return the operations of a unit, or the costs of an experiment and what ships of it."""
    if entry.kind != "experiment":
        signs = (SIGNS.get(name, name) for name in entry.details.get("operations", ()))
        return {"": "".join(signs)}
    costs_of = {scale: spelled_cost(entry.key, scale) for scale in SCALES}
    return {**costs_of, "ships": ", ".join(folder.name for folder in shipped_runs(entry.key))}


def about_entry(entry: Entry, *, equations: bool) -> Text:
    """Return what an entry is, with its references and perhaps its equation."""
    from rich.text import Text

    about = Text(entry.summary)
    about.append(f" {', '.join(entry.references)}", style="dim italic")
    if entry.plain_equation and equations:
        about.append(f"\n{entry.plain_equation}", style="dim")
    return about
