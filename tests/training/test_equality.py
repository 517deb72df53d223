"""A replica of a fleet equals the same replica trained alone, by code that shares nothing with it.

Alone means: a plain module, torch's optimiser, `backward`, and the rules of a step spelled out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from wug.core.schedules import After, Constant, Growth, Ramp, Schedule
from wug.experiments.mistry2022.single_module.experiment import RECIPES
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.single_module import RANGES, SingleModule
from wug.training.engine import Fleet
from wug.training.plan import Build, Lot, Restart, TrainingPlan, Variant
from wug.training.programs import can_compile
from wug.units.inalu import INALU
from wug.units.nau import NAU

CPU = torch.device("cpu")
PAPER_STEPS = 50_000
# dtype -> steps, evaluations every, bar
BARS = {torch.float64: (20, 10, 1e-10), torch.float32: (200, 50, 1e-3)}
DTYPES = pytest.mark.parametrize("dtype", BARS, ids=str)
SEEDS = (0, 2)
TORCH_OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


@dataclass
class Alone:
    """A replica that was trained by itself, and what happened on the way."""

    params: dict[str, Tensor]
    validation: list[float]
    restarts: int
    penalised_steps: int


def rule_fires(stored: list[float], step: int, rule: Restart) -> bool:
    if step == 0 or step % rule.check_every or len(stored) <= rule.min_stored:
        return False
    first, second = np.split(np.array(stored), [len(stored) // 2])
    return bool(first.mean() <= second.mean() + second.std() and second.mean() > rule.threshold)


def train_alone(lot: Lot, variant: Variant, seed: int) -> Alone:
    plan, task = lot.plan, variant.task
    generator = torch.Generator().manual_seed(seed)
    module: Any = lot.build(generator)
    groups = moving_groups(module, plan.alternate)
    optimisers = [
        (TORCH_OPTIMISERS[plan.optimiser](params, lr=1.0), phases) for params, phases in groups
    ]
    targets = task.target_values(seed)
    held_out = task.evaluation_inputs("validation")
    key = stream_of(lot, variant, seed)
    validation: list[float] = []
    stored: list[float] = []
    restarts = penalised_steps = 0
    for step in range(plan.steps):
        if step % plan.evaluate_every == 0:
            with torch.no_grad():
                error = task.loss(module(held_out), task.targets(targets, held_out))
            validation.append(error.item())
        x = task.inputs(task.input_values(), key, torch.tensor(step), plan.batch_size)
        loss = task.loss(module(x), task.targets(targets, x))
        weight = 0.0 if variant.penalty is None else value_at(variant.penalty, step)
        if plan.penalty_below is not None and not validation[-1] < plan.penalty_below:
            weight = 0.0
        if weight:
            penalised_steps += 1
            loss = loss + weight * module.penalty(dict(module.named_parameters()))
        module.zero_grad()
        loss.backward()
        if plan.clip_norm is not None:
            nn.utils.clip_grad_norm_(module.parameters(), plan.clip_norm)
        if plan.clip_value is not None:
            nn.utils.clip_grad_value_(module.parameters(), plan.clip_value)
        for optimiser, phases in optimisers:
            if step % 10 in phases:
                optimiser.param_groups[0]["lr"] = value_at(variant.learning_rate, step)
                optimiser.step()
        if hasattr(module, "project"):
            projected = module.project(dict(module.named_parameters()))
            module.load_state_dict(projected, strict=False)
        stored.append(validation[-1])
        if plan.restart is not None and rule_fires(stored, step, plan.restart):
            again = getattr(module, "restart_parameters", None) or module.reset_parameters
            again(generator)
            restarts, stored = restarts + 1, []
    params = {name: value.detach() for name, value in module.named_parameters()}
    return Alone(params, validation, restarts, penalised_steps)


def moving_groups(
    module: nn.Module, alternate: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[list[Tensor], tuple[int, ...]]]:
    """Give the parameters that move in the same phases, and these phases."""
    phases_of = {name: tuple(range(10)) for name, _ in module.named_parameters()}
    for prefix, phases in alternate.items():
        phases_of |= {name: phases for name in phases_of if name.startswith(prefix)}
    for phases in dict.fromkeys(phases_of.values()):
        yield [p for name, p in module.named_parameters() if phases_of[name] == phases], phases


def value_at(schedule: Schedule, step: int) -> float:
    return float(schedule(np.array([step]))[0])


def stream_of(lot: Lot, variant: Variant, seed: int) -> Tensor:
    """Every unit sees the same data; with independent streams every seed has its own."""
    names = sorted((name, variant.labels[name]) for name in variant.stream)
    own = [seed] if lot.streams == "independent" else []
    return torch.tensor(stream_key("train", *names, *own))  # type: ignore[arg-type]


def check_equal(lot: Lot, bar: float, *, compiled: bool = False) -> list[Alone]:
    """Train a lot both ways and compare: each variant and each seed once."""
    fleet = Fleet(lot, device=CPU, compiled=compiled)
    results = fleet.train()
    all_alone = []
    for i, (variant, seed) in enumerate(zip(lot.variants, lot.seeds, strict=True)):
        alone = train_alone(lot, variant, seed)
        result = results[i * len(lot.seeds) + i]
        assert (result.labels, result.seed) == (variant.labels, seed)
        for name, expected in alone.params.items():
            found = fleet.memory.state["params"][name][i, i]
            difference = (found - expected).norm() / expected.norm().clamp(min=1e-30)
            assert difference <= bar, f"{variant.labels}: {name} differs by {difference:.2e}"
        # An error changes faster than its parameters, the more the smaller it is.
        curve = result.curves["validation"][:-1]
        np.testing.assert_allclose(curve, alone.validation, rtol=100 * bar)
        assert result.outcome["restarts"] == alone.restarts
        all_alone.append(alone)
    return all_alone


def shortened(schedule: Schedule | None, factor: int) -> Schedule | None:
    match schedule:
        case Ramp(peak, start, end):
            return Ramp(peak, start // factor, end // factor)
        case Growth(start, limit, growth, every):
            return Growth(start, limit, growth, every // factor)
        case After(value, start):
            return After(value, start // factor)
    return schedule


def unit_lot(unit: str, streams: Any, dtype: torch.dtype, **changes: Any) -> Lot:
    """Its first and its last operation, on a range of small and on one of large numbers."""
    recipe = RECIPES[unit]
    steps, every, _ = BARS[dtype]
    plan = TrainingPlan(steps=steps, evaluate_every=every, batch_size=32)
    plan = replace(plan, **(recipe.plan or {}))
    if plan.restart is not None:
        plan = replace(plan, restart=replace(plan.restart, min_stored=every))
    penalties = recipe.penalties or {}
    return Lot(
        name=unit,
        build=twice_drawn(recipe.unit, dtype),
        variants=tuple(
            Variant(
                labels={"unit": unit, "operation": operation, "range": name},
                stream=("operation", "range"),
                task=SingleModule(
                    operation=operation, train=RANGES[name][0], test=RANGES[name][1], dtype=dtype
                ),
                learning_rate=Constant(recipe.learning_rate),
                penalty=shortened(penalties.get(operation), PAPER_STEPS // steps),
            )
            for operation, name in (
                (recipe.operations[0], "[0.1,0.2)"),
                (recipe.operations[-1], "[-20,-10)"),
            )
        ),
        seeds=SEEDS,
        plan=replace(plan, **changes),
        streams=streams,
    )


def twice_drawn(unit: Callable[..., Any], dtype: torch.dtype, **options: Any) -> Build:
    def build(generator: torch.Generator) -> nn.Module:
        module: Any = unit(2, 1, generator=generator, dtype=dtype, **options)
        module.reset_parameters(generator)
        assert isinstance(module, nn.Module)
        return module

    return build


@DTYPES
@pytest.mark.parametrize("streams", ["shared", "independent"])
@pytest.mark.parametrize("unit", RECIPES)
def test_every_unit_with_its_recipe(unit: str, streams: str, dtype: torch.dtype) -> None:
    lot = unit_lot(unit, streams, dtype)
    all_alone = check_equal(lot, BARS[dtype][2])
    assert any(alone.penalised_steps for alone in all_alone) == (
        RECIPES[unit].penalties is not None
    )
    if unit == "inalu":
        assert any(alone.restarts for alone in all_alone)
        assert not all(alone.penalised_steps for alone in all_alone)


@pytest.fixture
def compiler() -> None:
    if not can_compile("cpu"):
        pytest.skip("needs a C++ compiler")


@pytest.mark.usefixtures("compiler")
@DTYPES
@pytest.mark.parametrize(
    "unit",
    [
        unit if unit in ("nau", "nmu", "inalu") else pytest.param(unit, marks=pytest.mark.slow)
        for unit in RECIPES
    ],
)
def test_every_unit_compiled(unit: str, dtype: torch.dtype) -> None:
    streams = "shared" if dtype == torch.float32 else "independent"
    check_equal(unit_lot(unit, streams, dtype), BARS[dtype][2], compiled=True)


@pytest.mark.usefixtures("compiler")
@pytest.mark.slow
@pytest.mark.parametrize("unit", RECIPES)
def test_every_unit_compiled_with_the_other_streams(unit: str) -> None:
    for streams, dtype in (("independent", torch.float32), ("shared", torch.float64)):
        check_equal(unit_lot(unit, streams, dtype), BARS[dtype][2], compiled=True)


@DTYPES
@pytest.mark.parametrize("optimiser", TORCH_OPTIMISERS)
def test_every_optimiser_with_a_changing_rate(optimiser: str, dtype: torch.dtype) -> None:
    lot = unit_lot("nau", "shared", dtype, optimiser=optimiser)
    rate = Ramp(1e-3, -5, lot.plan.steps)
    lot = replace(lot, variants=tuple(replace(v, learning_rate=rate) for v in lot.variants))
    check_equal(lot, BARS[dtype][2])


@DTYPES
def test_gradients_clipped_by_norm(dtype: torch.dtype) -> None:
    lot = unit_lot("nmu", "shared", dtype, optimiser="sgd", clip_norm=0.5)
    check_equal(lot, BARS[dtype][2])


@DTYPES
def test_weights_and_gate_in_turn(dtype: torch.dtype) -> None:
    weights = tuple(range(8))
    lot = unit_lot(
        "inalu",
        "independent",
        dtype,
        optimiser="rmsprop",
        alternate={"w_hat": weights, "m_hat": weights, "gate": (8, 9)},
    )
    lot = replace(lot, build=twice_drawn(INALU, dtype, recipe="tensorflow"))
    assert any(alone.restarts for alone in check_equal(lot, BARS[dtype][2]))


class Network(nn.Sequential):
    """Not a unit: no penalty, projection or weights, and a build of its own."""

    def __init__(self, generator: torch.Generator, dtype: torch.dtype) -> None:
        layers = nn.Linear(2, 8, dtype=dtype), nn.Tanh(), nn.Linear(8, 1, dtype=dtype)
        super().__init__(*layers)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-0.5, 0.5, generator=generator)


class Looping(Network):
    """Halves its output as often as the data say, which can't be traced or batched."""

    stackable = False

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        while y.detach().abs().max() > 0.1:
            y = y / 2
        return y


class Reordering(Network):
    """Its projection names the parameters in an order of its own, and not all of them."""

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: params[name].clamp(-0.4, 0.4) for name in ("2.weight", "0.bias")}


@DTYPES
@pytest.mark.parametrize("network", [Network, Looping, Reordering])
def test_networks_that_are_no_units(network: type[Network], dtype: torch.dtype) -> None:
    lot = unit_lot("nac_add", "independent" if network is Network else "shared", dtype)
    check_equal(replace(lot, build=lambda generator: network(generator, dtype)), BARS[dtype][2])


@pytest.mark.parametrize("operands", ["adjacent", "random"])
def test_operands_among_many_inputs(operands: Any) -> None:
    lot = unit_lot("nau", "shared", torch.float64)
    assert isinstance(lot.variants[0].task, SingleModule)
    task = replace(lot.variants[0].task, num_inputs=10, operands=operands)
    lot = replace(
        lot,
        build=lambda generator: NAU(10, 1, generator=generator, dtype=torch.float64),
        variants=tuple(
            replace(lot.variants[0], task=task, labels={"copy": str(seed)}) for seed in SEEDS
        ),
    )
    assert len({task.operand_places(seed) for seed in SEEDS}) == len(SEEDS)
    check_equal(lot, 1e-10)


@pytest.mark.slow
def test_a_network_compiled(compiler: None) -> None:
    lot = unit_lot("nac_add", "shared", torch.float64)
    lot = replace(lot, build=lambda generator: Network(generator, torch.float64))
    check_equal(lot, 1e-10, compiled=True)
