"""A certificate for a formula: what is proven about it, and what is not.

Whether the network equals the printed formula, what snapping changed, where the formula is
defined, and between which numbers it stays on a box far larger than the data.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
import torch
from torch import Tensor, nn

from wug.analysis.formula.comparison import all_equal, difference_forms
from wug.analysis.formula.domain import Condition, domain_of
from wug.analysis.formula.intervals import Box, NotProven, enclosures
from wug.analysis.formula.reading import Formula, read_formula
from wug.core.errors import UserError
from wug.core.registry import register

STRETCH = 10.0
NUM_WITNESSES = 5
# Largest difference of network and formula, as a share of the largest output, that is rounding.
ROUNDING = 1e-12
ROWS_OF_A_BLOCK = 50_000
VERDICTS = {
    True: "the network equals the formula, symbolically",
    False: "the network does not equal the formula",
    None: "whether the network equals the formula could not be decided",
}
UP_TO_ROUNDING = "the network equals the formula up to the rounding of its numbers"


@dataclass(frozen=True)
class Bound:
    """Two numbers between which a value is proven to stay, or why none are.

    Args:
        low: The lower one.
        high: The upper one.
        reason: Why nothing is proven; empty if it is.
    """

    low: float = -math.inf
    high: float = math.inf
    reason: str = ""

    @property
    def width(self) -> float:
        """How far the two are apart; infinite if nothing is proven."""
        return math.inf if self.reason else self.high - self.low

    def __str__(self) -> str:
        if self.reason:
            return f"not proven: {self.reason}"
        return f"between {self.low:.6g} and {self.high:.6g}"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        if self.reason:
            return {"proven": False, "reason": self.reason}
        return {"proven": True, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Certificate:
    """What is known of a formula.

    Args:
        formula: The formula as text, one line per output.
        exact: Whether the network's own expression equals the formula; None if SymPy can't tell.
        difference: Largest difference of network and formula on the data.
        is_rounding: Whether that is no more than rounding.
        snapping_change: Largest absolute and relative change that snapping made on the data.
        domain: Where the formula is defined.
        box: Lowest and highest value of each input, for the bounds.
        bounds: For each output, what it stays between on the box.
        change_bounds: The same for trained minus snapped network.
    """

    formula: str
    exact: bool | None
    difference: float
    is_rounding: bool
    snapping_change: tuple[float, float] | None
    domain: tuple[Condition, ...]
    box: Mapping[str, tuple[float, float]]
    bounds: tuple[Bound, ...]
    change_bounds: tuple[Bound, ...] | None

    def __str__(self) -> str:
        rounded = self.is_rounding and not self.exact
        verdict = UP_TO_ROUNDING if rounded else VERDICTS[self.exact]
        lines = [
            self.formula, f"{verdict}; on the data they differ by at most {self.difference:.3g}"
        ]  # fmt: skip
        if self.snapping_change is not None:
            absolute, relative = self.snapping_change
            lines.append(
                f"snapping changed the outputs on the data by at most {absolute:.3g} "
                f"(relative {relative:.3g})"
                if math.isfinite(absolute)
                else "before snapping the formula was not defined on all of the data"
            )
        lines.append("defined where" if self.domain else "defined everywhere")
        for condition in self.domain:
            data = "holds" if condition.on_data else "does not hold"
            box = "proven" if condition.on_box else "not proven"
            lines.append(f"  {condition} ({data} on the data, {box} on the box)")
        sides = (f"{name} in [{low:.6g}, {high:.6g}]" for name, (low, high) in self.box.items())
        lines.append(f"on the box {', '.join(sides)}")
        lines += [f"  output {place + 1} {bound}" for place, bound in enumerate(self.bounds)]
        lines += [
            f"  what snapping changed of output {place + 1} {bound}"
            for place, bound in enumerate(self.change_bounds or ())
            if bound.width < self.bounds[place].width
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data; numbers that are not finite are None."""
        change, changes = self.snapping_change, self.change_bounds
        return {
            "formula": self.formula.splitlines(),
            "exact": self.exact,
            "difference": finite(self.difference),
            "is_rounding": self.is_rounding,
            "snapping_change": change and dict(
                zip(("absolute", "relative"), map(finite, change), strict=True)
            ),
            "domain": [condition.to_json() for condition in self.domain],
            "box": {name: list(sides) for name, sides in self.box.items()},
            "bounds": [bound.to_json() for bound in self.bounds],
            "change_bounds": changes and [bound.to_json() for bound in changes],
        }  # fmt: skip


def finite(value: float) -> float | None:
    """Return the number, or None where JSON has none."""
    return value if math.isfinite(value) else None


def tightest(forms: Iterable[Any], box: Box) -> Bound:
    """Return what all forms of the same expression prove together."""
    found, reason = [], ""
    for form in forms:
        try:
            found += enclosures([form], box)
        except NotProven as error:
            reason = reason or str(error)
    if not found:
        return Bound(reason=reason)
    return Bound(max(low for low, _ in found), min(high for _, high in found))


def stretched(rows: Any) -> list[tuple[float, float]]:
    """Return the range of every column, stretched about its middle.

    What is positive in the data stays positive, and what is negative stays negative: lengths and
    masses have no other side.

    Example:
        >>> stretched(np.array([[1.0, -1.0], [3.0, 1.0]]))
        [(0.1, 12.0), (-10.0, 10.0)]
    """
    low, high = rows.min(0), rows.max(0)
    middle, half = (low + high) / 2, STRETCH * (high - low) / 2
    lowest = np.where(low > 0, np.maximum(middle - half, low / STRETCH), middle - half)
    highest = np.where(high < 0, np.minimum(middle + half, high / STRETCH), middle + half)
    return list(zip(lowest.tolist(), highest.tolist(), strict=True))


def read_like(network: nn.Module, formula: Formula, x: Tensor) -> Formula:
    """Read a network in the symbols of another formula."""
    read = read_formula(network, steps=x.shape[1] if x.ndim == 3 else 1)
    sizes = [(len(f.names), len(f.expressions)) for f in (read, formula)]
    if sizes[0] != sizes[1]:
        raise UserError(
            f"certify: the formula must have {sizes[0][0]} inputs and {sizes[0][1]} outputs, as "
            f"the network has; got {sizes[1][0]} and {sizes[1][1]}."
        )
    names = dict(zip(read.symbols, formula.symbols, strict=True))
    expressions = (sympy.sympify(e).xreplace(names) for e in read.expressions)
    return Formula(tuple(expressions), formula.names)


@torch.no_grad()
def outputs_of(network: nn.Module, x: Tensor) -> Any:
    """Return what a network computes in evaluation, as an array."""
    network = copy.deepcopy(network).eval()
    place = next(network.parameters(), x)
    blocks = x.split(ROWS_OF_A_BLOCK)
    return np.concatenate([network(one.to(place)).double().cpu().numpy() for one in blocks])


def largest_change(before: Any, after: Any) -> tuple[float, float]:
    """Return the largest absolute change and the largest one relative to what was before."""
    with np.errstate(all="ignore"):
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        change = np.abs(np.where(same, 0.0, after - before))
        relative = np.where(change == 0, 0.0, change / np.abs(before))
    # Where one side alone is defined no number is large enough.
    largest, share = (np.where(np.isnan(one), np.inf, one).max() for one in (change, relative))
    return float(largest), float(share)


def value_bounds(formula: Formula, domain: Iterable[Condition], box: Box) -> tuple[Bound, ...]:
    """Return what the formula's outputs stay between on a box, if it is defined on all of it."""
    for condition in domain:
        if not condition.on_box:
            return (Bound(reason=f"could not show that {condition}"),) * len(formula.expressions)
    return tuple(tightest([expression], box) for expression in formula.expressions)


@register("analysis", name="Certificate", references=("madsen2020",))
def certify(
    network: nn.Module,
    formula: Formula,
    x: Tensor,
    *,
    trained: nn.Module | None = None,
    box: Mapping[str, tuple[float, float]] | None = None,
) -> Certificate:
    """Check a formula against its network, and prove what can be proven about it.

    Args:
        network: The (snapped) network that the formula stands for.
        formula: The formula as it is printed.
        x: Inputs of the data, (rows, inputs), or (rows, steps, inputs) of a recurrent network.
        trained: The network before snapping.
        box: Lowest and highest value of each input; by default the data's range stretched tenfold
            about its middle, on the data's side of zero.

    Raises:
        UserError: If network, formula, data and box don't fit.

    Example:
        >>> from wug.units.nmu import NMU
        >>> nmu = NMU(2, 1)
        >>> _ = nmu.load_state_dict({"weight": torch.ones(1, 2)})
        >>> data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> print(certify(nmu, read_formula(nmu), data, box={"x1": (0.0, 9.0), "x2": (-1.0, 1.0)}))
        x1*x2
        the network equals the formula, symbolically; on the data they differ by at most 0
        defined everywhere
        on the box x1 in [0, 9], x2 in [-1, 1]
          output 1 between -9 and 9

    References:
        madsen2020
    """
    rows = x.detach().double().flatten(1).cpu().numpy()
    own = read_like(network, formula, x)
    if rows.shape[1:] != (len(formula.names),) or not len(rows):
        raise UserError(
            f"certify: x must have rows of {len(formula.names)} inputs; got {tuple(x.shape)}."
        )
    box = dict(zip(formula.names, stretched(rows), strict=True)) if box is None else box
    if set(box) != set(formula.names):
        raise UserError(f"certify: box must name {', '.join(formula.names)}; got {', '.join(box)}.")
    for name, (low, high) in box.items():
        if not -math.inf < low <= high < math.inf:
            raise UserError(f"certify: box must have low <= high; got {name} = [{low}, {high}].")
    sides: Box = {symbol: box[str(symbol)] for symbol in formula.symbols}
    domain = domain_of(formula, rows, sides)
    points = [
        dict(zip(formula.symbols, map(sympy.Rational, row), strict=True))
        for row in rows[np.isfinite(rows).all(1)][:NUM_WITNESSES].tolist()
    ]
    outputs = outputs_of(network, x)
    change = change_bounds = None
    # Where the box is positive, so are the inputs: this takes Abs and steps out of the difference.
    positive = [name for name in formula.names if box[name][0] > 0]
    if trained is not None:
        above = [symbol for symbol in sides if str(symbol) in positive]
        change = largest_change(outputs_of(trained, x), outputs)
        pairs = zip(
            read_like(trained, formula, x).where_positive(positive).expressions,
            own.where_positive(positive).expressions,
            strict=True,
        )
        change_bounds = tuple(tightest(difference_forms(*pair, above), sides) for pair in pairs)
    difference = largest_change(outputs, formula.python()(rows))[0]
    size = float(np.abs(outputs[np.isfinite(outputs)]).max(initial=0.0))
    return Certificate(
        formula=str(formula),
        exact=all_equal(
            own.where_positive(formula.positive).expressions, formula.expressions, points
        ),
        difference=difference,
        is_rounding=difference <= ROUNDING * size,
        snapping_change=change,
        domain=domain,
        box=box,
        bounds=value_bounds(formula, domain, sides),
        change_bounds=change_bounds,
    )
