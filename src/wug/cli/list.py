"""wug list: what there is."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

from wug.core import index

Kind = Literal["all", "units", "layers", "models", "tasks", "analyses", "experiments"]
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "and": "∧", "or": "∨", "not": "¬",
         "lt": "<", "gt": ">", "eq": "=", "ne": "≠", "le": "≤", "ge": "≥"}  # fmt: skip
SINGULAR = {"analyses": "analysis"}
PLURAL = {"analysis": "analyses"}


def list_(kind: Annotated[Kind, tyro.conf.Positional] = "all", *, json: bool = False) -> None:
    """List units, tasks, experiments and the rest, with one line on each.

    Args:
        kind: What to list.
        json: Print everything that is known, as JSON.
    """
    import json as encoder

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    wanted = None if kind == "all" else SINGULAR.get(kind, kind.removesuffix("s"))
    entries = index.entries(wanted)
    if json:
        print(encoder.dumps([entry.to_json() for entry in entries], indent=1, ensure_ascii=False))
        return
    console = Console()
    for group in dict.fromkeys(entry.kind for entry in entries):
        sheet = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for column in range(4):
            sheet.add_column(style="bold" if column == 0 else "", no_wrap=column < 2)
        for entry in entries:
            if entry.kind == group:
                operations = "".join(SIGNS.get(o, o) for o in entry.details.get("operations", ()))
                about = Text(entry.summary)
                about.append(f" {', '.join(entry.references)}", style="dim italic")
                if entry.plain_equation and kind != "all":
                    about.append(f"\n{entry.plain_equation}", style="dim")
                sheet.add_row(f"  {entry.key}", entry.name, operations, about)
        console.print(f"[bold]{PLURAL.get(group, group + 's')}[/]")
        console.print(sheet)
    if not entries:
        console.print(f"no {kind} yet")
