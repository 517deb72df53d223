"""wug fit: from a table of numbers to a formula."""

from __future__ import annotations

import csv
import json
import re
import shlex
import sys
from collections.abc import Sequence
from html import escape
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from wug.core.errors import UserError, require_at_least
from wug.records import write_atomic

if TYPE_CHECKING:
    from rich.console import Console

    from wug.estimators.chosen_columns import ChosenColumns
    from wug.estimators.regressor import Equation
    from wug.estimators.saved import NamedRegressor
    from wug.report.fit_page import Slice

Operation = Literal["add", "sub", "mul", "div", "pow", "root"]
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh")
ALL: tuple[Operation, ...] = ("add", "sub", "mul", "div", "pow", "root")
FITS = Path("fits")
PAGE, ODES = "fit.html", "odes.json"
MOST_SLICES = 4
MOST_POINTS = 1_000


def fit(
    table: Annotated[Path, tyro.conf.Positional],
    *,
    target: str | None = None,
    ode: str | None = None,
    features: str | None = None,
    time: float = 60.0,
    out: Path | None = None,
    operations: tuple[Operation, ...] = ALL,
    functions: str = "auto",
    units: str | None = None,
    units_factor: bool = False,
    error: str | None = None,
    loss: Literal["absolute", "relative"] = "absolute",
    robust: bool = False,
    select: Literal["best", "accuracy", "score"] = "best",
    max_terms: int = 6,
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
        features: The columns to explain it from, such as a,b,c; all others if not given.
        time: Seconds that the search may take; it ends sooner if nothing is left to find.
        out: The folder to write into; fits/TABLE.TARGET if not given.
        operations: What a formula may use; pow is whole exponents above 1, root is fractions.
        functions: Such as exp,log,sin (also cos, tanh); none; or auto, which is all of them once
            the data refuse arithmetic alone.
        units: Of the columns, such as mass=kg,speed=m/s,energy=J, or without names those of the
            inputs in their order and of the target last. Only formulas whose units come out are
            searched; numbers are pure, so that a constant of nature needs a column.
        units_factor: With units: one factor before the whole formula may have a unit.
        error: A column with the standard deviation of the target in each row.
        loss: Whether errors count as they are, or as shares of the target.
        robust: Leave out rows that do not belong to the law of the others, and name them.
        select: Which formula of the front: the shortest description of formula and errors, the
            smallest error, or the steepest fall of the error per node.
        max_terms: Most terms of a sum.
        max_exponent: Largest exponent.
        seed: Of the rows that are held out, and of the search.
        drop_missing: Leave out rows with cells that are missing or infinite.
    """
    require_at_least("fit", "time", time, 0.1)
    require_at_least("fit", "max_terms", max_terms, 1)
    require_at_least("fit", "max_exponent", max_exponent, 0.5)
    chosen_functions = split_functions(functions)
    if not operations:
        raise UserError(f"fit: --operations must name some of {', '.join(ALL)}; got none.")
    if (target is None) == (ode is None):
        raise UserError("fit: name what to explain: --target COLUMN, or --ode COLUMN of times.")
    if not 0 <= seed < 2**32:
        raise UserError(f"fit: seed must be between 0 and {2**32 - 1}; got {seed}.")
    if units is None and units_factor:
        raise UserError("fit: --units-factor says how --units are used; name the units.")
    if units is not None and ode is not None:
        raise UserError("fit: --units are those of a target; they can't be used with --ode.")
    folder = out or default_folder(table, target or f"{ode}.ode")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"fit: {folder} is a file; --out must name a folder.")
    from wug.estimators.chosen_columns import check_request, choose_columns, listed
    from wug.estimators.number_tables import read_table

    try:
        named = None if features is None else split_names(features)
        if target is None:
            limits = {"operations": frozenset(operations), "functions": chosen_functions}
            sizes = {"max_terms": max_terms, "max_exponent": max_exponent}
            return fit_odes(table, str(ode), named, time, seed, folder, limits | sizes)
        check_request(target, named)
        needed = (target, *(named or ()), *(() if error is None else (error,)))
        cells = read_table(table, needed, others=named is None)
        columns = choose_columns(
            cells, target, named, error=error, drop_missing=drop_missing,
            keep_constant=units is not None,
        )  # fmt: skip
        measured = split_units(units, columns.names, target)

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
                () if features is None else ("--features", features),
                ("--time", f"{time:g}"),
                () if operations == ALL else ("--operations", *operations),
                () if functions == "auto" else ("--functions", functions),
                () if units is None else ("--units", units),
                ("--units-factor",) if units_factor else (),
                () if error is None else ("--error", error),
                () if loss == "absolute" else ("--loss", loss),
                ("--robust",) if robust else (),
                () if select == "best" else ("--select", select),
                ("--max-terms", max_terms, "--max-exponent", f"{max_exponent:g}", "--seed", seed),
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
    from wug.estimators.data import Limits
    from wug.estimators.odes import find_odes, trajectories_of
    from wug.estimators.regressor import FUNCTIONS as ALL_FUNCTIONS
    from wug.estimators.saved import weights_to_json

    columns = np.stack([cells.numbers[name] for name in states], 1)
    functions = limits["functions"]
    system = find_odes(
        trajectories_of(cells.numbers[times], columns), identifiers(states), seconds=seconds,
        seed=seed, limits=Limits(**limits | {
            "functions": ALL_FUNCTIONS if functions == "auto" else functions
        }),
    )  # fmt: skip
    print(system)
    for name, found in zip(states, system.found, strict=True):
        if not found:
            print(f"{name}: no formula is as close as the trajectories are accurate")
    data = {
        "format": 1, "times": times, "columns": states, "symbols": list(system.names),
        "right_hand_sides": [str(one) for one in system.expressions],
        "weights": [weights_to_json(one) for one in system.formulas],
        "found": list(system.found),
    }  # fmt: skip
    write_atomic(folder / ODES, f"{json.dumps(plain(data), indent=1, ensure_ascii=False)}\n")
    print(f"wrote {folder / ODES}")
    return 0


def split_functions(text: str) -> tuple[str, ...] | str:
    """Return the functions that a person named.

    Example:
        >>> split_functions("exp, log"), split_functions("none"), split_functions("auto")
        (('exp', 'log'), (), 'auto')
    """
    names = [name.strip() for name in text.split(",")]
    if names in (["auto"], ["none"]):
        return "auto" if names == ["auto"] else ()
    unknown = [name for name in names if name not in FUNCTIONS]
    if unknown:
        raise UserError(
            f"fit: --functions must be auto, none, or names of {', '.join(FUNCTIONS)} with commas "
            f"between them; got {text!r}."
        )
    return tuple(dict.fromkeys(names))


def split_units(text: str | None, names: Sequence[str], target: str) -> list[str] | None:
    """Return the units of the inputs and of the target, in this order.

    Example:
        >>> split_units("E=J, m=kg", ["m"], "E"), split_units("kg,J", ["m"], "E")
        (['kg', 'J'], ['kg', 'J'])
    """
    if text is None:
        return None
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    named = dict(part.rsplit("=", 1) for part in parts if "=" in part)
    wanted = (*names, target)
    if not named and len(parts) == len(wanted):
        return parts
    given = {name.strip(): unit.strip() for name, unit in named.items()}
    wrong = [name for name in (*wanted, *given) if (name in wanted) != (name in given)]
    if wrong or len(named) != len(parts):
        raise UserError(
            f"fit: --units must name a unit for each of {', '.join(wanted)}, as in "
            f"{wanted[0]}=kg, or list {len(wanted)} units in this order; got {text!r}."
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


def split_names(text: str) -> list[str]:
    """Return comma-separated names; one with a comma stands in double quotes.

    Example:
        >>> split_names('a, "b, c"')
        ['a', 'b, c']
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise UserError(f"fit: --features must be names with commas between them; got {text!r}.")
    return names


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


def shown(equation: Equation) -> str:
    """Return a formula with few digits."""
    from wug.estimators.front import few_digits

    return str(few_digits(equation.expression))


def print_answer(model: NamedRegressor, columns: ChosenColumns, console: Console) -> None:
    """Print the front, the chosen formula, its status and its certificate."""
    from rich.table import Table
    from rich.text import Text

    from wug.estimators.saved import MEANINGS

    chosen = model.equation_
    front = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "size", "error", "R²", "seconds"):
        front.add_column(heading, justify="right", no_wrap=True)
    front.add_column("formula", overflow="fold")
    for equation in model.equations_:
        best = equation.candidate is chosen.candidate
        front.add_row(
            ">" if best else "", str(equation.complexity), f"{equation.error:.3g}",
            "" if isnan(equation.r2) else f"{equation.r2:.5g}", f"{equation.seconds:.1f}",
            Text(shown(equation)),
            style="bold" if best else "",
        )  # fmt: skip
    console.print(front)
    console.print(f"\n{model.expression_}", style="bold", markup=False, soft_wrap=True)
    status = str(model.status_)
    console.print(f"{status}: {MEANINGS[status]}", soft_wrap=True)
    for sentence in remarks(model, columns):
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(f"\ncertificate of {model.certificate_}", markup=False, soft_wrap=True)


def remarks(model: NamedRegressor, columns: ChosenColumns) -> list[str]:
    """Return what a person should know of the numbers and of rows that were left out."""
    from wug.estimators.chosen_columns import listed

    sentences = []
    known = [c for c in model.constants_ if isfinite(c.standard_error) and c.standard_error > 0]
    if known and model.status_ != "exact":
        numbers = (f"{c.value:.6g} ± {c.standard_error:.2g}" for c in known)
        sentences.append(f"constants: {', '.join(numbers)}")
    if len(model.outliers_):
        rows = listed([str(columns.rows[row] + 1) for row in model.outliers_])
        sentences.append(f"left out, rows that do not belong: {rows}")
    return sentences


def documents(model: NamedRegressor, columns: ChosenColumns, command: str) -> dict[str, str]:
    """Return the files of a fit; the one that predict reads comes last."""
    from sympy.printing.mathml import mathml

    from wug.estimators.front import few_digits
    from wug.estimators.saved import FILE_NAME, MEANINGS, sample, to_json
    from wug.report.fit_page import FitPage, FrontRow, to_html

    data = {
        **to_json(model, columns.names, columns.target, columns.inputs, columns.values),
        "notices": list(columns.notices),
        "command": command,
    }
    chosen, status = model.equation_, str(model.status_)
    rows = sample(chosen.candidate, columns.names, columns.inputs, columns.values, MOST_POINTS)
    page = FitPage(
        target=columns.target,
        formula=str(model.expression_),
        mathml=(
            f"<mi>{escape(columns.target)}</mi><mo>=</mo>"
            + mathml(few_digits(model.expression_), printer="presentation", mul_symbol="dot")
        ),
        status=status,
        meaning=MEANINGS[status],
        certificate=str(model.certificate_),
        notices=(*columns.notices, *remarks(model, columns)),
        measured=rows["measured"],
        predicted=rows["predicted"],
        slices=slices(chosen, columns),
        front=[
            FrontRow(
                formula=shown(equation), size=equation.complexity, error=equation.error,
                r2=None if isnan(equation.r2) else equation.r2,
                chosen=equation.candidate is chosen.candidate,
            )
            for equation in model.equations_
        ],
        facts={
            "rows": f"{len(columns.values):,}",
            "inputs": ", ".join(symbols_of(model.names_, columns.names)),
            "command": command,
            **{f"{name} version": version for name, version in data["versions"].items()},
        },
    )  # fmt: skip
    text = json.dumps(plain(data), indent=1, ensure_ascii=False, allow_nan=False)
    return {PAGE: to_html(page), FILE_NAME: f"{text}\n"}


def symbols_of(symbols: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns, with the symbol in the formula where it is another."""
    pairs = zip(symbols, names, strict=True)
    return [name if symbol == name else f"{name} ({symbol})" for symbol, name in pairs]


def slices(equation: Equation, columns: ChosenColumns) -> list[Slice]:
    """Return the formula along its most important inputs."""
    from wug.estimators.along import along, importance
    from wug.report.fit_page import Slice

    changes = importance(equation.candidate, columns.inputs)
    found = []
    for place in sorted(range(len(changes)), key=lambda i: -changes[i])[:MOST_SLICES]:
        if changes[place] > 0:
            x, y = along(equation.candidate, columns.inputs, place)
            data = columns.inputs[:, place]
            found.append(
                Slice(
                    name=columns.names[place], low=float(data.min()), high=float(data.max()),
                    x=x.tolist(), y=y.tolist(),
                )
            )  # fmt: skip
    return found


def plain(data: Any) -> Any:
    """Return JSON data with null in place of numbers that JSON does not have."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    return None if isinstance(data, float) and not isfinite(data) else data
