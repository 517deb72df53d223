"""wug list: what there is."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

from wug.core import index

Kind = Literal["all", "units", "layers", "models", "tasks", "analyses", "experiments"]
SINGULAR = {"analyses": "analysis"}


def list_(kind: Annotated[Kind, tyro.conf.Positional] = "all", *, json: bool = False) -> None:
    """List units, tasks, experiments and the rest, with one line on each.

    Args:
        kind: What to list.
        json: Print everything that is known, as JSON.
    """
    import json as encoder

    from rich.console import Console
    from rich.table import Table

    wanted = None if kind == "all" else SINGULAR.get(kind, kind.removesuffix("s"))
    entries = index.entries(wanted)
    if json:
        print(encoder.dumps([entry.to_json() for entry in entries], indent=1, ensure_ascii=False))
        return
    console = Console()
    for group in dict.fromkeys(entry.kind for entry in entries):
        sheet = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        sheet.add_column(style="bold", no_wrap=True)
        sheet.add_column(no_wrap=True)
        sheet.add_column()
        for entry in entries:
            if entry.kind == group:
                sheet.add_row(f"  {entry.key}", entry.name, entry.summary)
        console.print(f"[bold]{group}s[/]")
        console.print(sheet)
    if not entries:
        console.print(f"no {kind} yet")
