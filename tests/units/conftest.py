"""What the tests of units share: comparison with a slow reference, and a plain training loop."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import sympy
import torch
from scipy.stats import kstest
from torch import Tensor, nn
from torch.testing import assert_close

# Each row is cut to the number of inputs: positive, negative, mixed, zeros, tiny, large.
INPUTS = (
    (0.7, 1.9, 0.3, 2.4, 1.1),
    (-0.7, -1.9, -0.3, -2.4, -1.1),
    (-1.4, 0.6, 2.2, -0.2, -0.9),
    (0.0, 1.3, -0.8, 0.0, 2.1),
    (0.0, 0.0, 0.0, 0.0, 0.0),
    (1e-9, -1e-9, -3e-8, 2e-7, 1e-12),
    (-30.0, 40.0, 25.0, -35.0, 20.0),
)
# Both sides of the limit below which sums over inputs are unrolled.
SIZES = [(1, 1), (2, 1), (5, 1), (1, 3), (2, 3), (5, 3)]

# reference(functions, x, params) -> outputs; functions is `math` for numbers, `torch` for scalars.
Reference = Callable[[Any, list[Any], dict[str, Any]], list[Any]]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}to{size[1]}")
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Numbers of inputs and outputs."""
    return request.param


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20)


@pytest.fixture
def randomise(generator: torch.Generator) -> Callable[..., nn.Module]:
    """Fill a module's parameters, in float64, from [low, high); ranges by name take precedence."""

    def fill(
        module: nn.Module, low: float = -1.5, high: float = 1.5, **ranges: tuple[float, float]
    ) -> nn.Module:
        module.double()
        for name, parameter in module.named_parameters():
            nn.init.uniform_(parameter, *ranges.get(name, (low, high)), generator=generator)
        return module

    return fill


def nested(tensor: Tensor) -> Any:
    """Split into nested lists of scalars that autograd still follows.

    >>> nested(torch.ones(1, 2))
    [[tensor(1.), tensor(1.)]]
    """
    return tensor if tensor.ndim == 0 else [nested(part) for part in tensor]


@pytest.fixture
def matches() -> Callable[[nn.Module, Reference], None]:
    """Compare a module's outputs and gradients with a reference, row by row in float64."""

    def check(module: nn.Module, reference: Reference) -> None:
        rows = torch.tensor(INPUTS, dtype=torch.float64)[:, : module.in_features]
        numbers = {name: value.tolist() for name, value in module.named_parameters()}
        expected = [reference(math, row, numbers) for row in rows.tolist()]
        assert_close(
            module(rows), torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-12
        )
        for row in rows:
            x = row.clone().requires_grad_()
            leaves = {name: p.detach().clone().requires_grad_() for name, p in
                      module.named_parameters()}  # fmt: skip
            slow = reference(torch, nested(x), {name: nested(p) for name, p in leaves.items()})
            actual = gradients(list(module(x)), [x, *module.parameters()])
            assert_close(actual, gradients(slow, [x, *leaves.values()]), rtol=1e-8, atol=1e-10)

    return check


def gradients(outputs: list[Any], leaves: list[Tensor]) -> list[Tensor]:
    """Return the gradients of a sum of outputs in which no two count the same."""
    total = sum((index + 1.0) * output for index, output in enumerate(outputs))
    return list(torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True))


@pytest.fixture
def spells() -> Callable[..., None]:
    """Check that a module's formula, as NumPy code, gives the module's outputs."""

    def check(module: nn.Module, **functions: Callable[..., Any]) -> None:
        names = ["a", "b", "c", "d", "e"][: module.in_features]
        rows = torch.tensor(INPUTS, dtype=torch.float64)[:, : module.in_features]
        symbols = [sympy.Symbol(name, real=True) for name in names]
        expressions = module.formula(names)
        assert len(expressions) == module.out_features
        compiled = sympy.lambdify(symbols, expressions, [functions, "numpy"])
        expected = [[float(value) for value in compiled(*row)] for row in rows.tolist()]
        actual = module(rows).detach()
        assert_close(actual, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-12)

    return check


@pytest.fixture
def starts_uniform(generator: torch.Generator) -> Callable[..., None]:
    """Check that a parameter's initial values are uniform in [low, high)."""

    def check(module: nn.Module, name: str, low: float, high: float) -> None:
        values = initial_values(module, name, generator)
        assert low <= values.min() and values.max() < high
        assert kstest(values, "uniform", (low, high - low)).pvalue > 1e-3

    return check


@pytest.fixture
def starts_normal(generator: torch.Generator) -> Callable[..., None]:
    """Check that a parameter's initial values are normal."""

    def check(module: nn.Module, name: str, mean: float, deviation: float) -> None:
        values = initial_values(module, name, generator)
        assert kstest(values, "norm", (mean, deviation)).pvalue > 1e-3

    return check


def initial_values(module: nn.Module, name: str, generator: torch.Generator) -> Any:
    draws = []
    for _ in range(200):
        module.reset_parameters(generator)
        draws.append(module.get_parameter(name).detach().double().flatten()[:4].clone())
    return torch.cat(draws).numpy()


@pytest.fixture
def learns() -> Callable[..., None]:
    """Train with a plain loop on [1, 3) and check the error far outside, on [5, 9)."""

    def check(
        module: nn.Module,
        operation: Callable[[Tensor, Tensor], Tensor],
        *,
        steps: int = 1_500,
        learning_rate: float = 0.02,
        penalty: float = 0.0,
        largest_error: float = 1e-3,
    ) -> None:
        generator = torch.Generator().manual_seed(0)
        optimiser = torch.optim.Adam(module.parameters(), learning_rate)
        decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
        for step in range(steps):
            x = 1 + 2 * torch.rand(128, module.in_features, generator=generator)
            loss = (module(x)[:, 0] - operation(x[:, 0], x[:, 1])).square().mean()
            if penalty and step > steps // 2:
                loss = loss + penalty * module.penalty(dict(module.named_parameters()))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            decay.step()
            if hasattr(module, "project"):
                params = {name: p.detach() for name, p in module.named_parameters()}
                module.load_state_dict(module.project(params))
        x = 5 + 4 * torch.rand(1_000, module.in_features, generator=generator)
        truth = operation(x[:, 0], x[:, 1])
        error = (module(x)[:, 0] - truth).abs().max() / truth.abs().max()
        assert error < largest_error

    return check
