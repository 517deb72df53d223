"""Success thresholds: the error of a model whose every weight is off by epsilon.

A run is solved when its test error is below that of an almost perfect model. So a threshold
depends on the operation and the test range, and never on the unit that is judged.

Equation (mistry2022, section 6.5), with S the sum of |x_i| over all inputs and R the product of
(1 - |x_i| eps) over the irrelevant ones:
    add: (x1 + x2) - S eps                  mul: x1 x2 (1 - eps)^2 R
    sub: (x1 - x2) - S eps                  div: x1 / x2 (1 - eps) / (1 + eps) R

Equation (log model; appendix E of mistry2022 names it and writes none): in exp(sum w ln|x|) each
w of 1 or -1 is eps closer to 0, each w of 0 is eps, and the sign is the true one. So
|prediction| = |truth|^(1 - eps) times the product of |x_i|^eps over the irrelevant inputs.

Equation (two-layer arithmetic dataset task, from the code of madsen2020): the first layer's
weights are 1 - eps on its subset and eps elsewhere; the second layer is perfect.

Departures: expectations are exact; the simulations that the papers used are here to check them.
The threshold for dividing near zero, a unit's own perfect weights off by float32's machine
epsilon, depends on the unit and belongs to that task.

References: madsen2020, mistry2022.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from functools import partial

import numpy as np
from numpy.typing import NDArray

Intervals = Sequence[tuple[float, float]]
"""A range: half-open intervals of equal width, of which each element picks one at random."""

OPERATIONS = ("add", "sub", "mul", "div")
MODELS = ("linear", "log")
METRICS = ("mse", "mape", "pcc")
NAMED_THRESHOLDS = {
    "smt-1e-5": "single module task, eps = 1e-5: fits the primer's tables; the default",
    "smt-1e-4": "single module task, eps = 1e-4: the benchmark's committed generator",
    "flat-1e-5": "an MSE of 1e-5 on every range: the division and robust-NMU repositories",
    "adt-corrected": "arithmetic dataset task with the subsets that its data have (25/12 of 100)",
    "adt-committed": "arithmetic dataset task as published: subsets one too long (26/13 of 100)",
    "adt-simple": "arithmetic dataset task on four inputs: x1 + x2 + x3 + x4 and x1 + x2",
}

_DIGITS = 60  # An error is a difference of nearly equal expectations: eps^2 eats a float's digits.
_Array = NDArray[np.float64]
_Ranges = tuple[tuple[float, float], ...]
_Exact = Sequence[tuple[Decimal, Decimal]]
_FUNCTIONS: dict[str, Callable[[_Array, _Array], _Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "square": lambda a, b: a * a,
    "sqrt": lambda a, b: np.sqrt(a),
}


def threshold(
    operation: str,
    intervals: Intervals,
    *,
    num_inputs: int = 2,
    epsilon: float = 1e-5,
    model: str = "linear",
    metric: str = "mse",
) -> float:
    """Return the expected error of the epsilon-perfect model, in closed form.

    Args:
        operation: add, sub, mul or div, of two of the inputs.
        intervals: The test range, one or more (lower, upper).
        num_inputs: How many inputs the unit sees; those beyond two are irrelevant.
        epsilon: How far each weight is off, between 0 and 1.
        model: linear (the primer's expressions), or log (mul and div in log space).
        metric: mse; mape, the mean of |error / truth|; or pcc, one minus Pearson's correlation,
            which is blind to scale and so 0 for the linear mul and div of two inputs.

    Raises:
        ValueError: For unknown names, an infinite expectation, or one without a closed form here
            (some of mape; the message points to `simulate_threshold`).

    Example:
        >>> f"{threshold('mul', [(2, 6)]):.3e}"
        '1.202e-07'
    """
    ranges = _check(operation, intervals, num_inputs, epsilon, model, metric)
    with localcontext(prec=_DIGITS):
        exact = [(Decimal(lower), Decimal(upper)) for lower, upper in ranges]
        mean = partial(_joint_moment, operation, exact, num_inputs, Decimal(epsilon), model)
        if metric == "mse":
            return float(mean(2, 0) - 2 * mean(1, 1) + mean(0, 2))
        if metric == "mape":
            if not _has_closed_mape(operation, ranges, num_inputs, epsilon, model):
                raise ValueError(
                    f"threshold: mape of {operation} on {_show(ranges)} with {num_inputs} inputs "
                    f"and the {model} model has no closed form here; use simulate_threshold."
                )
            return float(abs(1 - mean(-1, 1)))
        covariance = mean(1, 1) - mean(1, 0) * mean(0, 1)
        variances = (mean(2, 0) - mean(1, 0) ** 2) * (mean(0, 2) - mean(0, 1) ** 2)
        return float(round(1 - covariance / variances.sqrt(), _DIGITS // 2))  # so that 0 is 0


def simulate_threshold(
    operation: str,
    intervals: Intervals,
    *,
    num_inputs: int = 2,
    epsilon: float = 1e-5,
    model: str = "linear",
    metric: str = "mse",
    samples: int = 1_000_000,
    seed: int,
) -> float:
    """Return `threshold` on random inputs, as published; every finite one has a value here."""
    ranges = _check(operation, intervals, num_inputs, epsilon, model, metric)
    batches = _samples(ranges, num_inputs, samples, seed)
    pairs = [_truth_and_prediction(operation, inputs, epsilon, model) for inputs in batches]
    truth, prediction = (np.concatenate(part) for part in zip(*pairs, strict=True))
    if metric == "mse":
        return float(np.mean((prediction - truth) ** 2))
    if metric == "mape":
        return float(np.mean(np.abs(prediction / truth - 1)))
    truth, prediction = ((part - part.mean()) / part.std() for part in (truth, prediction))
    return float(np.mean((prediction - truth) ** 2) / 2)  # 1 - r, without its cancellation


def pre_regularisation_threshold(
    operation: str,
    intervals: Intervals,
    *,
    num_inputs: int = 2,
    epsilon: float = 0.49,
    model: str = "linear",
    metric: str = "mse",
) -> float:
    """Return the error below which weights already lean towards their discrete values.

    Appendix E of mistry2022 asks for an epsilon below 0.5, where weights still round the right
    way, and names none; 0.49 is ours. A run that fails although it got below this threshold
    before discretisation began points to the regulariser; one that did not, to the search.

    Args are those of `threshold`. With irrelevant inputs, mul and div mean little where
    |x| epsilon exceeds 1, since the factors (1 - |x| epsilon) then change sign.
    """
    if not 0 < epsilon < 0.5:
        raise ValueError(f"pre_regularisation: epsilon must be between 0 and 0.5; got {epsilon}.")
    return threshold(
        operation, intervals, num_inputs=num_inputs, epsilon=epsilon, model=model, metric=metric
    )


def adt_threshold(
    operation: str,
    intervals: Intervals,
    *,
    num_inputs: int = 100,
    subsets: tuple[int, int] = (25, 25),
    overlap: int = 12,
    epsilon: float = 1e-5,
    samples: int | None = None,
    seed: int = 0,
) -> float:
    """Return the MSE threshold of the two-layer arithmetic dataset task.

    The squared error is a function of four independent sums: of the inputs that only the first
    subset holds, both hold, only the second holds, and neither holds. For add, sub, mul and square
    it is a polynomial of degree four, whose expectation three points per sum give exactly if they
    share the sum's first four moments. div and sqrt are always simulated.

    Args:
        operation: add, sub, mul, div, or square or sqrt of the first subset's sum.
        intervals: The test range.
        num_inputs: How many inputs there are.
        subsets: How many of them the first layer adds up for each of its two outputs.
        overlap: How many inputs the two subsets share.
        epsilon: How far each weight of the first layer is off, between 0 and 0.5.
        samples: Simulate with so many rows; None for exact (div and sqrt: a million rows).
        seed: Of the simulation.

    Example:
        >>> f"{adt_threshold('mul', [(2, 6)], subsets=(26, 26), overlap=13):.4f}"
        '0.1600'
    """
    _check_known("adt_threshold", "operation", operation, _FUNCTIONS)
    ranges = check_intervals(intervals)
    if not 0 < epsilon < 0.5:
        raise ValueError(f"adt_threshold: epsilon must be between 0 and 0.5; got {epsilon}.")
    first, second = (size - overlap for size in subsets)
    groups = (first, overlap, second, num_inputs - first - overlap - second)
    if min(subsets) < 1 or min(groups) < 0:
        raise ValueError(
            f"adt_threshold: subsets {subsets} that share {overlap} inputs must hold at least 1 "
            f"each and fit into num_inputs; got {num_inputs}."
        )
    polynomial = operation not in ("div", "sqrt")
    if not polynomial and min(lower for lower, _ in ranges) <= 0:
        raise ValueError(f"adt_threshold: {operation} needs a range above 0; got {_show(ranges)}.")
    if polynomial and samples is None:
        points, weights = zip(*(_three_points(ranges, count) for count in groups), strict=True)
        error = _squared_error(operation, np.meshgrid(*points, indexing="ij"), epsilon)
        return float(np.einsum("ijkl,i,j,k,l", error, *weights))
    errors = []
    for inputs in _samples(ranges, num_inputs, 1_000_000 if samples is None else samples, seed):
        parts = np.split(inputs, np.cumsum(groups)[:-1], axis=1)
        errors.append(_squared_error(operation, [part.sum(axis=1) for part in parts], epsilon))
    return float(np.mean(np.concatenate(errors)))


def named_threshold(
    name: str, operation: str, intervals: Intervals, num_inputs: int | None = None
) -> float:
    """Return the threshold of a published protocol: a key of `NAMED_THRESHOLDS`.

    Args:
        name: Which protocol.
        operation: Its operation; adt-* know square and sqrt besides.
        intervals: The test range.
        num_inputs: How many inputs; by default the protocol's own (2, 100, or 4 for adt-simple).
    """
    _check_known("named_threshold", "name", name, NAMED_THRESHOLDS)
    if name == "flat-1e-5":
        _check_known("named_threshold", "operation", operation, OPERATIONS)
        check_intervals(intervals)
        return 1e-5
    if name.startswith("smt-"):
        epsilon = float(name.removeprefix("smt-"))
        num_inputs = 2 if num_inputs is None else num_inputs
        return threshold(operation, intervals, num_inputs=num_inputs, epsilon=epsilon)
    if num_inputs is None:
        num_inputs = 4 if name == "adt-simple" else 100
    extra = int(name == "adt-committed")  # R's slices include their end.
    size, half = num_inputs // 4 + extra, num_inputs // 8 + extra
    subsets, overlap = ((4, 2), 2) if name == "adt-simple" else ((size, size), half)
    return adt_threshold(
        operation, intervals, num_inputs=num_inputs, subsets=subsets, overlap=overlap
    )


def check_intervals(intervals: Intervals) -> _Ranges:
    """Return the range as pairs of floats, or raise a ValueError that says what is wrong."""
    try:
        ranges = tuple((float(lower), float(upper)) for lower, upper in intervals)
    except (TypeError, ValueError):
        ranges = ()
    if not ranges or not np.isfinite(ranges).all():
        raise ValueError(f"range {intervals!r}: write finite (lower, upper), such as ((2, 6),).")
    for lower, upper in ranges:
        if lower >= upper:
            shown, fix = _show([(lower, upper)]), "swap them" if lower > upper else "widen it"
            raise ValueError(f"range {shown}: the lower end must be below the upper; {fix}.")
    widths = [upper - lower for lower, upper in ranges]
    if not math.isclose(min(widths), max(widths), rel_tol=1e-9):
        raise ValueError(f"range {_show(ranges)}: its intervals must be equally wide.")
    return ranges


def _joint_moment(
    operation: str, intervals: _Exact, n: int, epsilon: Decimal, model: str, i: int, j: int
) -> Decimal:
    """Return E[truth^i prediction^j]."""
    moment = partial(_moment, intervals)
    if operation in ("add", "sub"):
        sign = 1 if operation == "add" else -1
        mean, size, square = moment(1, signed=True), moment(1), moment(2)
        y, yy = (1 + sign) * mean, 2 * square + 2 * sign * mean**2
        s, ss = n * size, n * square + n * (n - 1) * size**2
        ys = (1 + sign) * (moment(2, signed=True) + (n - 1) * mean * size)
        return {
            (1, 0): y,
            (0, 1): y - epsilon * s,
            (2, 0): yy,
            (1, 1): yy - epsilon * ys,
            (0, 2): yy - 2 * epsilon * ys + epsilon**2 * ss,
            (-1, 1): 1 - epsilon.copy_sign(mean),  # if n = 2 and all x have one sign
        }[i, j]
    if model == "log":
        power, scale, spare = i + (1 - epsilon) * j, Decimal(1), moment(epsilon * j)
    else:
        power = Decimal(i + j)
        scale = (1 - epsilon) ** 2 if operation == "mul" else (1 - epsilon) / (1 + epsilon)
        spare = 1 - j * epsilon * moment(1) + j * (j - 1) // 2 * epsilon**2 * moment(2)
    signed = (i + j) % 2 == 1
    first = moment(power, signed=signed)
    second = moment(power if operation == "mul" else -power, signed=signed)
    return scale**j * first * second * (spare ** (n - 2) if n > 2 else 1)


def _moment(intervals: _Exact, power: Decimal | int, *, signed: bool = False) -> Decimal:
    """Return E[|x|^power], or E[sign(x) |x|^power] if signed."""

    def antiderivative(x: Decimal) -> Decimal:
        value = abs(x).ln() if power == -1 else abs(x) ** (power + 1) / (power + 1)
        return value if signed or x >= 0 else -value

    means = ((antiderivative(b) - antiderivative(a)) / (b - a) for a, b in intervals)
    return sum(means, Decimal(0)) / len(intervals)


def _has_closed_mape(
    operation: str, ranges: _Ranges, num_inputs: int, epsilon: float, model: str
) -> bool:
    """Return whether it is known on which side of 1 prediction / truth is."""
    ends = [end for interval in ranges for end in interval]
    if operation in ("add", "sub"):
        return num_inputs == 2 and not min(ends) < 0 < max(ends)
    return model == "linear" and (num_inputs == 2 or epsilon * max(map(abs, ends)) <= 2)


def _truth_and_prediction(
    operation: str, inputs: _Array, epsilon: float, model: str
) -> tuple[_Array, _Array]:
    """Return the operation on the first two columns: exact, and of the epsilon-perfect model."""
    truth = _FUNCTIONS[operation](inputs[:, 0], inputs[:, 1])
    sizes = np.abs(inputs)
    if operation in ("add", "sub"):
        return truth, truth - epsilon * sizes.sum(axis=1)
    if model == "log":
        spare = (sizes[:, 2:] ** epsilon).prod(axis=1)
        return truth, np.sign(truth) * np.abs(truth) ** (1 - epsilon) * spare
    scale = (1 - epsilon) ** 2 if operation == "mul" else (1 - epsilon) / (1 + epsilon)
    return truth, truth * scale * (1 - epsilon * sizes[:, 2:]).prod(axis=1)


def _samples(ranges: _Ranges, num_inputs: int, samples: int, seed: int) -> Iterator[_Array]:
    """Yield rows of inputs, some at a time."""
    if samples < 2:
        raise ValueError(f"simulated threshold: samples must be at least 2; got {samples}.")
    generator = np.random.default_rng(seed)
    lower, upper = np.array(ranges).T
    rows = max(1, 1_000_000 // num_inputs)
    for start in range(0, samples, rows):
        shape = (min(rows, samples - start), num_inputs)
        pick = generator.integers(len(ranges), size=shape)
        yield lower[pick] + (upper - lower)[pick] * generator.random(shape)


def _squared_error(operation: str, sums: Sequence[_Array], epsilon: float) -> _Array:
    """Return the squared error of the two-layer task from the sums of its groups of inputs."""
    only_first, both, only_second, neither = sums
    a, b = only_first + both, both + only_second
    near_a = a + epsilon * (only_second + neither - a)
    near_b = b + epsilon * (only_first + neither - b)
    return (_FUNCTIONS[operation](near_a, near_b) - _FUNCTIONS[operation](a, b)) ** 2


def _three_points(ranges: _Ranges, count: int) -> tuple[_Array, _Array]:
    """Return points and weights with the first four moments of a sum of count inputs."""
    if count == 0:
        return np.zeros(1), np.ones(1)
    mean = sum(lower + upper for lower, upper in ranges) / (2 * len(ranges))
    centred = [(Decimal(lower - mean), Decimal(upper - mean)) for lower, upper in ranges]
    second, third, fourth = (float(_moment(centred, k, signed=k == 3)) for k in (2, 3, 4))
    fourth = count * fourth + 3 * count * (count - 1) * second**2
    second, third = count * second, count * third
    # Around the mean, which is one point, the others are the roots of z^2 = p z + q.
    p = third / second
    q = (fourth - p * third) / second
    root = math.sqrt(p**2 / 4 + q)
    left, right = p / 2 - root, p / 2 + root
    w = second / (left * (left - right)), second / (right * (right - left))
    return count * mean + np.array([left, 0.0, right]), np.array([w[0], 1 - sum(w), w[1]])


def _check(
    operation: str, intervals: Intervals, num_inputs: int, epsilon: float, model: str, metric: str
) -> _Ranges:
    """Return the checked range, or say what is wrong with the problem."""
    _check_known("threshold", "operation", operation, OPERATIONS)
    _check_known("threshold", "model", model, MODELS)
    _check_known("threshold", "metric", metric, METRICS)
    ranges = check_intervals(intervals)
    if num_inputs < 2:
        raise ValueError(f"threshold: num_inputs must be at least 2; got {num_inputs}.")
    if not 0 < epsilon < 1:
        raise ValueError(f"threshold: epsilon must be between 0 and 1; got {epsilon}.")
    if model == "log" and operation not in ("mul", "div"):
        raise ValueError(f"threshold: model 'log' knows only mul and div; got {operation!r}.")
    sums = [(a + c, b + d) for a, b in ranges for c, d in ranges]
    cancels = operation == "sub" or (operation == "add" and any(a < 0 < b for a, b in sums))
    vanishes = operation == "div" and any(lower <= 0 <= upper for lower, upper in ranges)
    if cancels if metric == "mape" else vanishes:
        raise ValueError(
            f"threshold: {metric} of {operation} on {_show(ranges)} has an infinite expectation, "
            "since it divides by what can be 0; choose another range or metric."
        )
    return ranges


def _check_known(where: str, what: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise ValueError(f"{where}: {what} must be one of {', '.join(known)}; got {value!r}.")


def _show(ranges: Intervals) -> str:
    return " and ".join(f"[{lower:g}, {upper:g})" for lower, upper in ranges)
