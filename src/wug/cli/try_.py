"""wug try: what wug is, in seconds: a formula and a router, each beside a rival that fails."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory

from wug.core.errors import UserError

NEXT = {
    "wug fit TABLE.csv --target COLUMN": "a formula from your table",
    "wug show mistry2022.single_module": "a paper's table, ours beside theirs",
    "wug serve": "all results, live",
}


def try_(*, no_open: bool = False, out: Path = Path("wug-try")) -> None:
    """Find a formula in a table and ask a trained router, each beside a rival that fails outside.

    Nothing is downloaded or trained for long: it takes about ten seconds, and then opens a page
    where you ask the router yourself.

    Args:
        no_open: Write the page, but don't open it.
        out: The folder to write it to.
    """
    require_writable(out)

    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding

    console = Console(highlight=False)

    def say(text: str) -> None:
        console.print(Padding(text, (0, 0, 0, 3), expand=False))

    with console.status("loading torch"):
        from wug.core.papers import report_entries
        from wug.report.site import write_site
        from wug.report.sources import find_sources
        from wug.study.first_look import ask_router, find_formula, front_results

    with console.status("looking for a formula"):
        found = find_formula()
    console.print(f"[bold]1. A formula from a table[/] ({found.num_rows} planets of other stars)")
    say(f"period = [bold]{escape(found.text)}[/]   ({found.status})")
    say(
        "On planets four times as far away, around stars four times as heavy, it errs by "
        f"[bold]{percent(found.error)}[/]; a random forest by {percent(found.rival_error)}."
    )
    with console.status("asking a router"):
        routed = ask_router()
    console.print("[bold]2. A network that learnt the rule[/] (look-ups in tables, right to left)")
    say("Trained with up to five look-ups in a row, it is asked for ten:")
    say(f"[bold]{routed.problem}[/]")
    for name, table in routed.tables.items():
        say(f"[dim]{name}: {table}[/]")
    say(f"Right is {routed.answer}: {routed.way}")
    say(
        f"The router says [bold]{routed.said}[/]; of 100 such problems it has "
        f"[bold]{100 * routed.right:.0f}[/] right."
    )
    if routed.rival_said is not None and routed.rival_right is not None:
        say(
            f"An LSTM, trained on the same, says {routed.rival_said}; it has "
            f"{100 * routed.rival_right:.0f} right."
        )
    with console.status("drawing the router at work"), TemporaryDirectory() as folder:
        write_site(find_sources(front_results(Path(folder)), report_entries()), out)
        page = out / "index.html"
    console.print(f"[bold]3. Ask it yourself[/]: {page}", soft_wrap=True)
    for command, what in NEXT.items():
        say(f"[bold]{command:{max(map(len, NEXT))}}[/]  {what}")
    if not no_open:
        webbrowser.open(page.resolve().as_uri())


def require_writable(out: Path) -> None:
    """Check at once, and not after ten seconds, that a folder can be made; nothing is left.

    Raises:
        UserError: It can't.
    """
    missing = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path in missing:
            path.rmdir()
    except OSError as error:
        raise UserError(f"try: --out {out} can't be written: {error.strerror}.") from None


def percent(share: float) -> str:
    """Write an error; below one per cent with three decimals.

    Example:
        >>> percent(7e-17), percent(0.574)
        ('0.000 %', '57 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.3f} %"
