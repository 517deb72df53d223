"""wug try: what wug is, in seconds: a formula and a router, each beside a rival that fails."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory


def try_(*, no_open: bool = False, out: Path = Path("wug-try")) -> None:
    """Find a formula in a table and ask a trained router, each beside a rival that fails outside.

    Nothing is downloaded or trained for long: it takes about ten seconds, and then opens a page
    where you ask the router yourself.

    Args:
        no_open: Write the page, but don't open it.
        out: The folder to write it to.
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    with console.status("loading torch"):
        from wug.core.papers import report_entries
        from wug.report.site import write_site
        from wug.report.sources import find_sources
        from wug.study.first_look import ask_router, find_formula, front_results

    with console.status("looking for a formula"):
        found = find_formula()
    console.print(f"[bold]1. A formula from a table[/] ({found.num_rows} planets of other stars)")
    console.print(f"   period = [bold]{escape(found.text)}[/]   ({found.status})")
    console.print(
        "   on planets four times as far away, around stars four times as heavy, it errs by "
        f"{found.error:.0e}; a random forest by {100 * found.rival_error:.0f} %."
    )
    with console.status("asking a router"):
        routed = ask_router()
    console.print("[bold]2. A network that learnt the rule[/] (tables, looked up one in another)")
    console.print(f"   trained on up to five tables; asked with ten: [bold]{routed.problem}[/]")
    for name, table in routed.tables.items():
        console.print(f"   [dim]{name}: {table}[/]")
    console.print(
        f"   right is {routed.answer}. The router says [bold]{routed.said}[/]; of 100 such "
        f"problems it has {100 * routed.right:.0f} right."
    )
    if routed.rival_said is not None and routed.rival_right is not None:
        console.print(
            f"   An LSTM, trained on the same, says {routed.rival_said} to this one, which it has "
            f"wrong, and has {100 * routed.rival_right:.0f} right."
        )
    with console.status("drawing the router at work"), TemporaryDirectory() as folder:
        write_site(find_sources(front_results(Path(folder)), report_entries()), out)
        page = out / "index.html"
    console.print(f"[bold]3. Ask it yourself[/]: {page}", soft_wrap=True)
    console.print(
        "   next: wug fit TABLE.csv --target COLUMN · wug show mistry2022.single_module · wug serve"
    )
    if not no_open:
        webbrowser.open(page.resolve().as_uri())
