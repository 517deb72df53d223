"""Products with functions: exp, log, sin, cos and tanh of simple products of the inputs.

In logarithms a product is a sum, and a function of an argument is a column like any other. Which
one helps is seen from linear least squares. In the end all numbers are fitted together, those
inside of the functions too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wug.estimators.arguments import Argument, arguments, factors, function_values
from wug.estimators.candidate import Array, Candidate, Function
from wug.estimators.constants import coefficients_among, constants_of, refitted
from wug.estimators.data import Data, Effort
from wug.estimators.snapping import round_constants

MOST_ROWS = 300
BEST = 8
ARGUMENTS_AT_ONCE = 40
# Share of the target's variance below which a form has explained it.
EXPLAINED = 1e-18
CLOSE_ENOUGH = 0.3
ZOOMS, ZOOM_POINTS = 8, 15
REFINEMENTS = 15


@dataclass(frozen=True)
class Factor:
    """A factor of a product: a function of an argument, perhaps with 1 added or taken away.

    Args:
        name: Of the function.
        argument: Of what.
        scale: Before the argument.
        offset: What is added to the function.
        power: To which the argument is raised inside.
    """

    name: str
    argument: Argument
    scale: float = 1.0
    offset: float = 0.0
    power: int = 1

    def logarithm(self, values: Array) -> Array:
        """Return the logarithm of the factor's size, given the argument's values."""
        with np.errstate(all="ignore"):
            if self.name == "exp" and not self.offset:
                return np.asarray(self.scale * values**self.power)
            inside = function_values(self.name, self.scale * values**self.power)
            return np.asarray(np.log(np.abs(inside + self.offset)))


@dataclass(frozen=True)
class UnaryProducts:
    """y = c x_1^a_1 ... x_n^a_n (f(w x_1^(+-1) ...) + s)^b, with up to two such functions f."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Find the functions whose logarithms explain that of the target."""
        clear = np.isfinite(data.target) & (data.target != 0) & (data.inputs != 0).all(1)
        yield from self.products(data.rows(clear), effort)
        if "sin" not in data.limits.functions or np.abs(data.target).max() > np.pi / 2:
            return
        turned = replace(data.rows(clear), target=np.sin(data.target[clear][: len(clear)]))
        for candidate in self.products(turned, effort, plain=True):
            wrapped = identity_of(Function("arcsin", candidate), data.num_inputs)
            if np.isfinite(data.loss(wrapped)):
                yield wrapped

    def products(self, data: Data, effort: Effort, plain: bool = False) -> Iterator[Candidate]:
        """Yield products with no function, with one and with two."""
        few = data.rows(np.full(len(data.target), True), MOST_ROWS)
        if len(few.target) < data.num_inputs + 6:
            return
        logs = np.log(np.abs(few.inputs))
        target = np.log(np.abs(few.target))
        if plain:
            yield from self.build((), data)
        options = arguments(data.num_inputs, divide="div" in data.limits.operations)
        values = [one.values(few.inputs) for one in options]
        first = best_factors(few, options, values, logs, target, effort)
        for score, factor in first[:BEST]:
            yield from self.build((refined(factor, few, logs, target),), data)
            if effort.out_of_time() or score < EXPLAINED:
                return
        if not first or first[0][0] > CLOSE_ENOUGH:
            return
        for _, factor in first[:2]:
            column = factor.logarithm(factor.argument.values(few.inputs))
            more = np.column_stack((logs, column))
            for score, second in best_factors(few, options, values, more, target, effort)[:3]:
                yield from self.build((factor, refined(second, few, more, target)), data)
                if effort.out_of_time() or score < EXPLAINED:
                    return

    def build(self, chosen: Sequence[Factor], data: Data) -> Iterator[Candidate]:
        """Yield the product with its exponents rounded, or as they are, and all numbers fitted."""
        few = data.rows(np.full(len(data.target), True), MOST_ROWS)
        pairs = list(dict.fromkeys(f.argument.pair for f in chosen if f.argument.pair is not None))
        columns = [np.log(np.abs(few.inputs[:, i] - few.inputs[:, j])) for i, j in pairs]
        own = [f.logarithm(f.argument.values(few.inputs)) for f in chosen]
        matrix = np.column_stack((np.ones(len(few.target)), np.log(np.abs(few.inputs)), *columns,
                                  *own))  # fmt: skip
        usable = np.isfinite(matrix).all(1)
        target = np.log(np.abs(few.target))
        if usable.sum() < matrix.shape[1] + 2:
            return
        found = np.linalg.lstsq(matrix[usable], target[usable], rcond=1e-12)[0][1:]
        pure = [i for i, f in enumerate(chosen, len(found) - len(chosen))
                if f.name == "exp" and not f.offset]  # fmt: skip
        for denominator in (1, 2, 0):
            exponents = found.copy() if not denominator else (
                np.round(found * denominator) / denominator
            )  # fmt: skip
            exponents[pure] = found[pure]
            candidate = self.assemble(chosen, pairs, exponents, data)
            if candidate is None:
                continue
            free = coefficients_among(candidate)
            values = constants_of(candidate)
            free &= np.abs(values) != 1
            candidate = refitted(
                candidate, data.inputs, data.target, free, data.weight, steps=REFINEMENTS
            )
            if np.isfinite(data.loss(candidate)):
                yield round_constants(candidate, data)

    def assemble(
        self, chosen: Sequence[Factor], pairs: list[tuple[int, int]], exponents: Array, data: Data
    ) -> Candidate | None:
        """Return the product with these exponents and the best coefficient."""
        num_inputs, num_functions = data.num_inputs, len(chosen)
        width = num_inputs + num_functions
        first = np.zeros(width)
        first[:num_inputs] = exponents[:num_inputs]
        sums: list[dict[tuple[float, ...], float]] = []
        powers: list[float] = []
        for (i, j), power in zip(pairs, exponents[num_inputs:], strict=False):
            if power:
                eye = np.eye(width)
                sums.append({tuple(eye[i]): 1.0, tuple(eye[j]): -1.0})
                powers.append(float(power))
        functions = []
        tail = exponents[len(exponents) - num_functions :]
        for index, (factor, power) in enumerate(zip(chosen, tail, strict=True), num_inputs):
            scale = factor.scale
            if factor.name == "exp" and not factor.offset:
                scale, power = scale * power, 1.0
            if not power or not scale:
                return None
            functions.append(Function(factor.name, factor.argument.formula(scale, factor.power)))
            if factor.offset:
                column = np.eye(width)[index]
                sums.append({tuple(column): 1.0, tuple(np.zeros(width)): factor.offset})
                powers.append(float(power))
            else:
                first[index] = power
        sums.insert(0, {tuple(first): 1.0})
        powers.insert(0, 1.0)
        rows = list(dict.fromkeys(row for one in sums for row in one))
        coefficients = np.array([[one.get(row, 0.0) for row in rows] for one in sums])
        candidate = Candidate(
            exponents=np.array(rows), coefficients=coefficients, powers=np.array(powers),
            functions=tuple(functions),
        )  # fmt: skip
        product = data.weight * candidate.predict(data.inputs)
        square = float(product @ product)
        if not (np.isfinite(square) and square > 0):
            return None
        coefficients[0, rows.index(tuple(first))] = (
            float(product @ (data.weight * data.target)) / square
        )
        return replace(candidate, coefficients=coefficients)


def kinds_of(functions: Sequence[str]) -> list[tuple[str, float, int]]:
    """Return the functions, what is added to them, and the powers of their arguments."""
    kinds = [("exp", 0.0, 1), ("exp", 0.0, 2)] if "exp" in functions else []
    kinds += [(name, 0.0, 1) for name in functions if name != "exp"]
    return kinds + ([("exp", -1.0, 1), ("exp", 1.0, 1)] if "exp" in functions else [])


def best_factors(
    data: Data,
    options: Sequence[Argument],
    values: Sequence[Array],
    logs: Array,
    target: Array,
    effort: Effort,
) -> list[tuple[float, Factor]]:
    """Return the factors that explain most of the logarithm of the target, with what they leave.

    Args:
        data: The rows.
        options: Arguments of functions.
        values: Of the arguments.
        logs: Logarithms that are factors anyway, (row, column).
        target: Logarithm of the target.
        effort: How long to try.
    """
    found: list[tuple[float, Factor]] = []
    groups: dict[tuple[int, int] | None, list[int]] = {}
    for index, argument in enumerate(options):
        groups.setdefault(argument.pair, []).append(index)
    for kind in kinds_of(data.limits.functions):
        for pair, members in groups.items():
            basis, left = projection(data, logs, target, pair)
            if float(left @ left) <= 1e-28 * float(target @ target):
                return found
            for start in range(0, len(members), ARGUMENTS_AT_ONCE):
                if effort.out_of_time():
                    return sorted(found, key=lambda one: one[0])[: 3 * BEST]
                tried = [
                    (factor, factor.logarithm(values[index]))
                    for index in members[start : start + ARGUMENTS_AT_ONCE]
                    for factor in scaled(kind, options[index], values[index])
                ]
                if not tried:
                    continue
                leaves = what_is_left(np.stack([c for _, c in tried], 1), basis, left)
                order = np.argsort(leaves)[:BEST]
                found += [(float(leaves[i]), tried[i][0]) for i in order if leaves[i] < 1]
    return sorted(found, key=lambda one: one[0])[: 3 * BEST]


def scaled(kind: tuple[str, float, int], argument: Argument, values: Array) -> list[Factor]:
    """Return the factors of a kind with each scale that is worth a try."""
    name, offset, power = kind
    scales = [1.0] if name == "exp" and not offset else factors(name, values)
    return [Factor(name, argument, scale, offset, power) for scale in scales]


def projection(
    data: Data, logs: Array, target: Array, pair: tuple[int, int] | None
) -> tuple[Array, Array]:
    """Return a basis of what is a factor anyway, and what it leaves of the target."""
    columns = [np.ones(len(target)), *logs.T]
    if pair is not None:
        with np.errstate(all="ignore"):
            gap = np.log(np.abs(data.inputs[:, pair[0]] - data.inputs[:, pair[1]]))
        if np.isfinite(gap).all():
            columns.append(gap)
    basis = np.linalg.qr(np.stack(columns, 1))[0]
    return basis, target - basis @ (basis.T @ target)


def what_is_left(columns: Array, basis: Array, left: Array) -> Array:
    """Return the share of a residual that each column leaves; infinite for unusable columns."""
    usable = np.isfinite(columns).all(0)
    columns = np.where(usable, columns, 0.0)
    own = columns - basis @ (basis.T @ columns)
    size = (own**2).sum(0)
    clear = usable & (size > 1e-20 * (columns**2).sum(0))
    gain = np.where(clear, (left @ own) ** 2 / np.where(clear, size, 1.0), 0.0)
    return np.asarray(np.where(clear, np.maximum(1 - gain / float(left @ left), 0.0), np.inf))


def refined(factor: Factor, data: Data, logs: Array, target: Array) -> Factor:
    """Return the factor with the scale inside that leaves least."""
    if factor.name == "exp" and not factor.offset:
        return factor
    values = factor.argument.values(data.inputs)
    basis, left = projection(data, logs, target, factor.argument.pair)

    def leaves(scale: float) -> float:
        column = replace(factor, scale=scale).logarithm(values)
        return float(what_is_left(column[:, None], basis, left)[0])

    return replace(factor, scale=zoomed(leaves, factor.scale))


def zoomed(leaves: Callable[[float], float], scale: float) -> float:
    """Return the scale near a given one that leaves least."""
    best, smallest = scale, leaves(scale)
    width = 0.15
    for _ in range(ZOOMS):
        for step in np.linspace(-width, width, ZOOM_POINTS):
            tried = best * (1 + step)
            now = leaves(tried)
            if now < smallest:
                best, smallest = tried, now
        width *= 0.25
    return best


def identity_of(function: Function, num_inputs: int) -> Candidate:
    """Return the formula that is a function and nothing else."""
    return Candidate(
        exponents=np.eye(num_inputs + 1)[-1:], coefficients=np.ones((1, 1)), powers=np.ones(1),
        functions=(function,),
    )  # fmt: skip
