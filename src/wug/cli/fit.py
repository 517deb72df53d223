"""wug fit: from a table of numbers to a formula."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from wug.cli._fit_answer import documents, plain, print_answer, shown
from wug.core.errors import UserError, require_at_least
from wug.records import write_atomic

if TYPE_CHECKING:
    from rich.console import Console

    from wug.estimators.chosen_columns import ChosenColumns
    from wug.estimators.regressor import Equation
    from wug.estimators.saved import NamedRegressor
    from wug.estimators.scoring import Scored

Operation = Literal["add", "sub", "mul", "div", "pow", "root"]
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh")
ALL: tuple[Operation, ...] = ("add", "sub", "mul", "div", "pow", "root")
FITS = Path("fits")
ODES = "odes.json"
CLOSE = "as close as the derivatives are known"
APPROXIMATE = "approximate: it leaves more than the derivatives are off; keep to the range"


def fit(
    table: Annotated[Path, tyro.conf.Positional],
    *,
    target: str | None = None,
    ode: str | None = None,
    features: tuple[str, ...] = (),
    time: float = 60.0,
    out: Path | None = None,
    operations: tuple[Operation, ...] = ALL,
    functions: tuple[str, ...] = ("auto",),
    units: tuple[str, ...] = (),
    units_factor: bool = False,
    error: str | None = None,
    loss: Literal["absolute", "relative"] = "absolute",
    robust: bool = False,
    select: Literal["best", "accuracy", "score"] = "best",
    max_terms: int | None = None,
    max_exponent: float = 6.0,
    seed: int = 0,
    drop_missing: bool = False,
) -> int:
    """Find a formula for a column of a table, and say how far to trust it.

    Args:
        table: CSV or TSV with names in the first line, perhaps compressed (.gz), Parquet, or
            Excel.
        target: The column to explain.
        ode: The column of times of trajectories, instead of a target: the differential equations
            of all other columns are searched. Where time goes back another trajectory begins.
        features: The columns to explain it from, such as a b "c d"; all others if not given.
        time: Seconds that the search may take; it ends sooner if nothing is left to find.
        out: The folder to write into; fits/TABLE.TARGET if not given.
        operations: What a formula may use; pow is whole exponents above 1, root is fractions.
        functions: Such as exp log sin (also cos, tanh); none; or auto, which is all of them once
            the data refuse arithmetic alone.
        units: Of the columns, such as mass=kg speed=m/s energy=J, or without names those of the
            inputs in their order and of the target last. Only formulas whose units come out are
            searched; numbers are pure, so that a constant of nature needs a column.
        units_factor: With units: one factor before the whole formula may have a unit.
        error: A column with the standard deviation of the target in each row.
        loss: Whether errors count as they are, or as shares of the target.
        robust: Leave out rows that do not belong to the law of the others, and name them.
        select: Which formula of the front: the shortest description of formula and errors, the
            smallest error, or the steepest fall of the error per node.
        max_terms: Most terms of any sum, inside of functions, too; a constant is a term. As many
            as the data tell apart if not given.
        max_exponent: Largest exponent.
        seed: Of the rows that are held out, and of the search.
        drop_missing: Leave out rows with cells that are missing or infinite.
    """
    require_at_least("fit", "time", time, 0.1)
    require_at_least("fit", "max_terms", 1 if max_terms is None else max_terms, 1)
    require_at_least("fit", "max_exponent", max_exponent, 0.5)
    chosen_functions = chosen_among(functions)
    if not operations:
        raise UserError(f"fit: --operations must name some of {', '.join(ALL)}; got none.")
    if target is not None and ode is not None:
        raise UserError("fit: --target names a column, --ode a system of all: only one of them.")
    if target is None and ode is None:
        raise UserError(
            "fit: name what to explain: --target COLUMN, or --ode COLUMN of times; "
            f"{table} has {columns_of(table)}."
        )
    if not 0 <= seed < 2**32:
        raise UserError(f"fit: seed must be between 0 and {2**32 - 1}; got {seed}.")
    if not units and units_factor:
        raise UserError("fit: --units-factor says how --units are used; name the units.")
    ignored = (
        ("--units", units), ("--robust", robust), ("--error", error is not None),
        ("--loss", loss != "absolute"), ("--select", select != "best"),
        ("--drop-missing", drop_missing),
    )  # fmt: skip
    for option, given in ignored if ode is not None else ():
        if given:
            raise UserError(f"fit: {option} is for a target; it can't be used with --ode.")
    folder = out or default_folder(table, target or f"{ode}.ode")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"fit: {folder} is a file; --out must name a folder.")
    from wug.estimators.chosen_columns import check_request, choose_columns, listed
    from wug.estimators.number_tables import read_table

    try:
        named = list(features) or None
        if target is None:
            limits = {"operations": frozenset(operations), "functions": chosen_functions}
            sizes = {"max_terms": max_terms, "max_exponent": max_exponent}
            return fit_odes(table, str(ode), named, time, seed, folder, limits | sizes)
        check_request(target, named)
        needed = (target, *(named or ()), *(() if error is None else (error,)))
        cells = read_table(table, needed, others=named is None)
        columns = choose_columns(
            cells, target, named, error=error, drop_missing=drop_missing,
            keep_constant=bool(units),
        )  # fmt: skip
        measured = units_in_order(units, columns.names, target)

        from rich.console import Console

        console = Console(highlight=False)
        for notice in columns.notices:
            console.print(notice, style="yellow", markup=False, soft_wrap=True)
        console.print(
            f"{target} from {listed(columns.names)}: {len(columns.values)} rows", markup=False
        )
        model = search(
            columns, console, operations=operations, functions=chosen_functions,
            max_terms=max_terms, max_exponent=max_exponent, loss=loss, robust=robust,
            units=measured and measured[:-1], target_unit=measured and measured[-1],
            units_factor=units_factor, model_selection=select,
            time_budget=time, random_state=seed,
        )  # fmt: skip
        command = shlex.join(
            str(word)
            for words in (
                ("wug", "fit", table, "--target", target),
                ("--features", *features) if features else (),
                ("--time", f"{time:g}"),
                () if operations == ALL else ("--operations", *operations),
                () if functions == ("auto",) else ("--functions", *functions),
                ("--units", *units) if units else (),
                ("--units-factor",) if units_factor else (),
                () if error is None else ("--error", error),
                () if loss == "absolute" else ("--loss", loss),
                ("--robust",) if robust else (),
                () if select == "best" else ("--select", select),
                () if max_terms is None else ("--max-terms", max_terms),
                ("--max-exponent", f"{max_exponent:g}", "--seed", seed),
                ("--drop-missing",) if drop_missing else (),
            )
            for word in words
        )
        files = documents(model, columns, command)
    except KeyboardInterrupt:
        print("wug: interrupted before a formula was found; nothing was written.", file=sys.stderr)
        return 130
    if model.interrupted_:
        console.print("interrupted: this is what was found so far", style="yellow")
    print_answer(model, columns, console)
    for name, content in files.items():
        write_atomic(folder / name, content)
        console.print(f"wrote {folder / name}", markup=False, soft_wrap=True)
    return 130 if model.interrupted_ else 0


def columns_of(table: Path) -> str:
    """Return the names of the first columns of a table, in words.

    Raises:
        UserError: It can't be read.
    """
    from wug.estimators.chosen_columns import listed
    from wug.estimators.number_tables import open_table

    with open_table(table) as source:
        return listed(source.names)


def fit_odes(
    table: Path,
    times: str,
    names: list[str] | None,
    seconds: float,
    seed: int,
    folder: Path,
    limits: dict[str, Any],
) -> int:
    """Find the differential equations of the columns of a table, print and write them."""
    import numpy as np

    from wug.estimators.chosen_columns import identifiers, listed
    from wug.estimators.number_tables import read_table

    cells = read_table(table, (times, *(names or ())), others=names is None)
    states = names or [name for name in cells.numbers if name != times]
    text = [name for name in (times, *states) if name in cells.text]
    if text or not states or times in states:
        raise UserError(
            f"fit: --ode needs a column of times and other columns of numbers; got text in "
            f"{listed(text) or 'none'} and the columns {listed(states) or 'none'}."
        )
    from rich.console import Console

    from wug.estimators.data import Limits
    from wug.estimators.odes import find_odes, trajectories_of
    from wug.estimators.readable import few_digits, readable
    from wug.estimators.regressor import FUNCTIONS as ALL_FUNCTIONS
    from wug.estimators.saved import weights_to_json

    console = Console(highlight=False)
    if names is None and cells.text:
        found = listed([f"{name} ({cell})" for name, cell in cells.text.items()])
        console.print(
            f"left out, not numbers: {found}", style="yellow", markup=False, soft_wrap=True
        )
    columns = np.stack([cells.numbers[name] for name in states], 1)
    functions = limits["functions"]
    console.print(f"{listed(states)} along {times}: {len(columns)} rows", markup=False)
    symbols = identifiers(states)

    def report(name: str, scored: Scored) -> None:
        formula = few_digits(readable(scored.candidate.expression(symbols)))
        line = f"{scored.seconds:6.1f} s  error {scored.relative_error:<9.3g} {name}' = {formula}"
        console.print(line, markup=False, no_wrap=True, overflow="ellipsis")

    system = find_odes(
        trajectories_of(cells.numbers[times], columns), symbols, seconds=seconds, seed=seed,
        limits=Limits(**limits | {
            "functions": ALL_FUNCTIONS if functions == "auto" else functions
        }), on_better=report,
    )  # fmt: skip
    if system.interrupted:
        console.print("interrupted: this is what was found so far", style="yellow")
    console.print(f"\n{system}\n", style="bold", markup=False, soft_wrap=True)
    for name, error, far in zip(symbols, system.errors, system.approximate, strict=False):
        meaning = APPROXIMATE if far else CLOSE
        line = f"{name}': error {error:.2g} of its deviation; {meaning}"
        console.print(line, markup=False, soft_wrap=True)
    missing = symbols[len(system.formulas) :]
    if missing:
        console.print(f"not searched any more: {listed(missing)}", markup=False, soft_wrap=True)
    data = {
        "format": 1, "times": times, "columns": states, "symbols": list(system.names),
        "right_hand_sides": [str(one) for one in system.expressions],
        "weights": [weights_to_json(one) for one in system.formulas],
        "found": list(system.found), "errors": list(system.errors),
        "approximate": list(system.approximate),
    }  # fmt: skip
    write_atomic(folder / ODES, f"{json.dumps(plain(data), indent=1, ensure_ascii=False)}\n")
    console.print(f"wrote {folder / ODES}", markup=False, soft_wrap=True)
    return 130 if system.interrupted else 0


def chosen_among(names: Sequence[str]) -> tuple[str, ...] | str:
    """Return the functions that a person named.

    Example:
        >>> chosen_among(["exp", "log"]), chosen_among(["exp,log"]), chosen_among(["none"])
        (('exp', 'log'), ('exp', 'log'), ())
    """
    names = [name for name in parted(names) if name]
    if list(names) in (["auto"], ["none"]):
        return "auto" if names[0] == "auto" else ()
    if not names or any(name not in FUNCTIONS for name in names):
        raise UserError(
            f"fit: --functions must be auto, none, or names of {', '.join(FUNCTIONS)}; got "
            f"{' '.join(names)!r}."
        )
    return tuple(dict.fromkeys(names))


def parted(words: Sequence[str]) -> list[str]:
    """Return words that stand with commas between them as words of their own.

    Example:
        >>> parted(["kg, m/s", "a=J", ""])
        ['kg', 'm/s', 'a=J', '']
    """
    return [part.strip() for word in words for part in word.split(",")]


def units_in_order(units: Sequence[str], names: Sequence[str], target: str) -> list[str] | None:
    """Return the units of the inputs and of the target, in this order; None if none are given.

    Example:
        >>> units_in_order(["E=J", "m=kg"], ["m"], "E"), units_in_order(["kg", "J"], ["m"], "E")
        (['kg', 'J'], ['kg', 'J'])
        >>> units_in_order(["kg,J"], ["m"], "E"), units_in_order(["E=J,m=kg"], ["m"], "E")
        (['kg', 'J'], ['kg', 'J'])
    """
    if not units:
        return None
    wanted = (*names, target)
    if not all(part.rsplit("=", 1)[0] in wanted for part in units):
        units = parted(units)  # a name may have commas of its own
    given = dict(part.rsplit("=", 1) for part in units if "=" in part)
    if not given and len(units) == len(wanted):
        return list(units)
    wrong = [name for name in (*wanted, *given) if (name in wanted) != (name in given)]
    if wrong or len(given) != len(units):
        raise UserError(
            f"fit: --units must name a unit for each of {', '.join(wanted)}, as in "
            f"{wanted[0]}=kg, or list {len(wanted)} units in this order; "
            f"got {' '.join(units)!r}."
        )
    return [given[name] for name in wanted]


def default_folder(table: Path, target: str) -> Path:
    """Return where a fit goes unless it is told.

    Example:
        >>> default_folder(Path("data/free fall.csv.gz"), "t [s]").as_posix()
        'fits/free_fall.t_s'
    """
    stem = table.name.split(".", 1)[0]
    plain = (re.sub(r"[^\w-]+", "_", text).strip("_") or "_" for text in (stem, target))
    return FITS / ".".join(plain)


def search(columns: ChosenColumns, console: Console, **options: Any) -> NamedRegressor:
    """Fit the regressor and print each better formula."""
    from wug.estimators.chosen_columns import identifiers

    def report(equation: Equation) -> None:
        line = f"{equation.seconds:6.1f} s  error {equation.error:<9.3g} {shown(equation)}"
        console.print(line, markup=False, no_wrap=True, overflow="ellipsis")

    with console.status("loading torch"):
        from wug.estimators.saved import NamedRegressor
    model = NamedRegressor(identifiers(columns.names), **options)
    with console.status("searching"):
        weight = None if columns.errors is None else columns.errors**-2.0
        model.fit(columns.inputs, columns.values, weight, on_better=report)
    return model
