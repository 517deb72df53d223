"""The methods that benchmarks/formulas.py compares, and one fit of one of them in its own process.

Every method gets the same rows and the same time. The settings of the peers: pyoperon searches
for accuracy and length (NSGA-II) with all arithmetic symbols and trees of up to 100 nodes, which
the longest formulas need, and picks from its front by the Bayesian information criterion. Its own
tolerance never ends that search and its warm start crashes; so it has a sixth of the time for a
first try and the rest for a second; the better one by the same criterion is its answer. Like wug,
the peers stop as soon as they meet the rows: pyoperon after the generation in which a formula of
its front leaves no more than rounding in single precision, in which it computes, and gplearn at
1e-8 of the targets' standard deviation. Both are asked between generations, and with
``clock="processor"`` their time is that of the processor. gplearn's parsimony is scaled by the
targets' standard deviation, as if they were standardised. The multilayer perceptron trains on
standardised data until its loss stands still.
"""

from __future__ import annotations

import importlib
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import patch

import numpy as np
import sympy
from formula_measures import (
    EXACT_TOLERANCE,
    NOISY_TOLERANCE,
    relative_error,
    same_formula,
    time_limit,
)
from formula_suite import Array, Formula, symbols
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

JUDGING_SECONDS = 60
# Share of the variance that rounding in single precision leaves.
SINGLE_ROUNDING = 1e-13
# And above which pyoperon's own score of a formula is worth a closer look.
ALMOST = 1e-6
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One fit."""

    formula: Formula
    seconds: float
    threads: int
    seed: int
    clock: str = "wall"


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What a method returns.

    Args:
        predict: From rows to targets.
        expression: The formula found in the symbols of the inputs, or None.
        remark: What the method says of its answer.
    """

    predict: Callable[[Array], Array]
    expression: Callable[[], Any] = lambda: None
    remark: str | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method of the table.

    Args:
        name: Its row.
        package: Whose version is recorded.
        needs: Module and attribute without which it is not available.
        fit: Fits one task.
        threaded: Whether it uses more than one core; others run side by side.
    """

    name: str
    package: str
    needs: tuple[str, str]
    fit: Callable[[Task], Fit]
    threaded: bool = False

    def missing(self) -> str | None:
        """Say why the method is not available, or None."""
        module, attribute = self.needs
        try:
            getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as reason:
            return str(reason)
        return None

    def version(self) -> str:
        """Return the version of its package."""
        return version(self.package)


def fit_wug(task: Task) -> Fit:
    from wug.estimators import ArithmeticRegressor, search

    if task.clock == "processor":
        search.CLOCK = time.process_time
    model = ArithmeticRegressor(time_budget=task.seconds, random_state=task.seed)
    model.fit(*task.formula.train())
    # Columns without names are x1, x2, ...
    ours = symbols(task.formula.inputs).values()
    names = {f"x{i + 1}": symbol for i, symbol in enumerate(ours)}
    return Fit(
        predict=model.predict,
        expression=lambda: sympy.sympify(str(model.expression_), locals=names),
        remark=str(model.status_),
    )


def fit_pyoperon(task: Task) -> Fit:
    allowed = "add,sub,mul,div,pow,sqrt,square,constant,variable"
    best = search_with_pyoperon(
        *task.formula.train(), allowed, task.seconds, task.seed, task.threads, task.clock
    )
    text = best.get_model_string(best.model_, 12, task.formula.names).replace("^", "**")
    return Fit(
        predict=best.predict,
        expression=lambda: sympy.sympify(text, locals=symbols(task.formula.inputs)),
    )


def search_with_pyoperon(
    x: Array,
    y: Array,
    allowed: str,
    seconds: float,
    seed: int,
    threads: int = 1,
    clock: str = "wall",
) -> Any:
    """Return the best of a short and a long search."""
    from pyoperon.sklearn import SymbolicRegressor

    criterion = "bayesian_information_criterion"
    now = CLOCKS[clock]
    began = now()
    tries: list[Any] = []
    for end in (began + seconds / 6, began + seconds):
        model = SymbolicRegressor(
            allowed_symbols=allowed,
            objectives=["r2", "length"],
            model_selection_criterion=criterion,
            optimizer_iterations=5,
            max_length=100,
            generations=1_000_000,
            max_evaluations=1_000_000_000,
            n_threads=threads,
            random_state=seed + len(tries),
            max_time=1_000_000,
        )
        with pyoperon_ends(lambda end=end: now() > end, x, y):
            tries.append(model.fit(x, y))
        if np.mean((model.predict(x) - y) ** 2) <= SINGLE_ROUNDING * np.var(y):
            break
    return min(tries, key=lambda one: min(each[criterion] for each in one.pareto_front_))


@contextmanager
def pyoperon_ends(is_over: Callable[[], bool], x: Array, y: Array) -> Iterator[None]:
    """Let a search of pyoperon end after a generation: its time is over, or the rows are met.

    Its own limit only knows the clock on the wall. After each generation it calls back; a budget of
    evaluations that is used up ends it in order.
    """
    import pyoperon

    evaluators: list[Any] = []
    table, rows = pyoperon.DispatchTable(), pyoperon.Dataset(np.asfortranarray(x))

    def is_met(front: list[Any]) -> bool:
        best = min(front, key=lambda one: float(one.GetFitness(0)))
        if best.GetFitness(0) > -1 + ALMOST:
            return False
        found = pyoperon.Evaluate(table, best.Genotype, rows, pyoperon.Range(0, len(x)))
        terms = np.column_stack((found.reshape(-1), np.ones(len(x))))
        # As it does itself at the end, with the best factor and constant.
        left = y - terms @ np.linalg.lstsq(terms, y, rcond=None)[0]
        return bool(np.mean(left**2) <= SINGLE_ROUNDING * np.var(y))

    class Evaluator(pyoperon.MultiEvaluator):  # type: ignore[misc]
        def __init__(self, problem: Any) -> None:
            super().__init__(problem)
            evaluators.append(self)

    class Algorithm(pyoperon.NSGA2Algorithm):  # type: ignore[misc]
        def Run(self, random: Any, _: None, threads: int, warm_start: bool) -> None:
            def after_a_generation() -> None:
                if is_over() or is_met(self.BestFront):
                    evaluators[-1].Budget = 1

            super().Run(random, after_a_generation, threads, warm_start)

    with patch.multiple(pyoperon, MultiEvaluator=Evaluator, NSGA2Algorithm=Algorithm):
        yield


def fit_gplearn(task: Task) -> Fit:
    functions = ("add", "sub", "mul", "div", "sqrt", "inv", "neg")
    model = search_with_gplearn(*task.formula.train(), functions, task.seconds, task.seed)
    inputs = list(symbols(task.formula.inputs).values())
    return Fit(
        predict=model.predict, expression=lambda: read_gplearn(model._program.program, inputs)
    )


def search_with_gplearn(
    x: Array, y: Array, functions: Sequence[Any], seconds: float, seed: int, clock: str = "wall"
) -> Any:
    """Run gplearn generation by generation until the time is over or nothing is left."""
    from gplearn.genetic import SymbolicRegressor

    model = SymbolicRegressor(
        function_set=functions,
        metric="rmse",
        const_range=(-5.0, 5.0),
        parsimony_coefficient=1e-3 * y.std(),
        stopping_criteria=1e-8 * y.std(),
        warm_start=True,
        low_memory=True,
        random_state=seed,
    )
    now = CLOCKS[clock]
    began = now()
    generation, last, used = 0, 0.0, 0.0
    while used + 1.5 * last < seconds:
        generation += 1
        model.set_params(generations=generation).fit(x, y)
        last, used = now() - began - used, now() - began
        if model._program.raw_fitness_ <= model.stopping_criteria:
            break
    return model


def read_gplearn(program: list[Any], inputs: list[Any]) -> Any:
    """Return a gplearn program's formula, guards included: x/0 is 1, 1/0 is 0, roots are of |x|."""
    functions: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b if b != 0 else sympy.Integer(1),
        "sqrt": lambda a: sympy.sqrt(sympy.Abs(a)),
        "inv": lambda a: 1 / a if a != 0 else sympy.Integer(0),
        "neg": lambda a: -a,
    }
    stack: list[Any] = []
    for node in reversed(program):
        if hasattr(node, "arity"):
            stack.append(functions[node.name](*(stack.pop() for _ in range(node.arity))))
        else:
            stack.append(inputs[node] if isinstance(node, int) else sympy.Float(float(node)))
    return stack.pop()


def fit_linear(task: Task) -> Fit:
    model = LinearRegression().fit(*task.formula.train())
    terms = zip(model.coef_, symbols(task.formula.inputs).values(), strict=True)
    return Fit(
        predict=model.predict,
        expression=lambda: model.intercept_ + sum(weight * symbol for weight, symbol in terms),
    )


def fit_mlp(task: Task) -> Fit:
    x, y = task.formula.train()
    x_scaler, y_scaler = StandardScaler().fit(x), StandardScaler().fit(y[:, None])
    x, y = x_scaler.transform(x), y_scaler.transform(y[:, None])[:, 0]
    model = MLPRegressor(hidden_layer_sizes=(64, 64), random_state=task.seed)
    began = time.perf_counter()
    best, since = np.inf, 0
    while since < 100 and time.perf_counter() - began < task.seconds:
        loss = model.partial_fit(x, y).loss_
        since = 0 if loss < 0.99 * best else since + 1
        best = min(best, loss)
    return Fit(
        predict=lambda rows: y_scaler.inverse_transform(
            model.predict(x_scaler.transform(rows))[:, None]
        )[:, 0]
    )


METHODS = {
    one.name: one
    for one in (
        Method(
            name="wug",
            package="wug",
            needs=("wug.estimators", "ArithmeticRegressor"),
            fit=fit_wug,
            threaded=True,
        ),
        Method(
            name="pyoperon",
            package="pyoperon",
            needs=("pyoperon.sklearn", "SymbolicRegressor"),
            fit=fit_pyoperon,
            threaded=True,
        ),
        Method(
            name="gplearn",
            package="gplearn",
            needs=("gplearn.genetic", "SymbolicRegressor"),
            fit=fit_gplearn,
        ),
        Method(
            name="linear",
            package="scikit-learn",
            needs=("sklearn.linear_model", "LinearRegression"),
            fit=fit_linear,
        ),
        Method(
            name="mlp",
            package="scikit-learn",
            needs=("sklearn.neural_network", "MLPRegressor"),
            fit=fit_mlp,
        ),
    )
}


def cpu_seconds() -> float:
    """Return the processor time of this process and its children so far."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def work(name: str, task: Task, connection: Connection) -> None:
    """Fit and judge; send a word when ready, the times when fitted, and the judgement."""
    os.setpgrp()  # whoever kills this process can kill its children with it
    method = METHODS[name]
    method.missing()  # imports it
    connection.send({})
    try:
        with threadpool_limits(task.threads):
            wall, cpu = time.perf_counter(), cpu_seconds()
            fit = method.fit(task)
            wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
            connection.send({"seconds": wall, "cpu_seconds": cpu})
            connection.send(judge(fit, task.formula))
    except Exception as reason:  # A failure is a result.
        connection.send({"status": "failed", "remark": f"{type(reason).__name__}: {reason}"})


def judge(fit: Fit, formula: Formula) -> dict[str, Any]:
    """Return the formula found, whether it is the true one, and the error outside."""
    x, y = formula.test()
    error = relative_error(np.asarray(fit.predict(x)).reshape(-1), y)
    verdict: dict[str, Any] = {
        "error": error if np.isfinite(error) else None,
        "expression": None,
        "recovered": False,
        "says": fit.remark,
    }
    tolerance = NOISY_TOLERANCE if formula.noise else EXACT_TOLERANCE
    try:
        with time_limit(JUDGING_SECONDS):
            found = fit.expression()
            verdict["expression"] = None if found is None else str(found)
            verdict["recovered"] = found is not None and same_formula(
                found, formula.truth(), formula.inputs, formula.train()[0], tolerance
            )
    except Exception as reason:  # SymPy fails in many ways; none of them is a recovery.
        verdict["remark"] = f"not comparable: {type(reason).__name__}: {reason}"
    return verdict
