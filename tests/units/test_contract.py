"""What every unit promises, over the whole register: a new file is tested by being there."""

import copy
import inspect
import itertools
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.core.index import build, get

UNITS = [entry for entry in build() if entry.kind == "unit"]
SECTIONS = ("Notation:", "Departures:", "Args:", "Shape:", "Example:", "References:")
# Both sides of the limit below which sums over inputs are unrolled.
SIZES = [(1, 1), (2, 3), (6, 2)]

# Exemptions, each with its reason.
STOCHASTIC = {"snmu": "draws noise in training mode; its evaluation mode keeps the contract"}
UNPULLED = {"nac_mul": "only its linear variant has a penalty and a clamp"}
REWARDED = {key: "its regulariser is a reward for large parameters" for key in ("mcfc", "mul_mcfc")}


def units_with(method):
    entries = [entry for entry in UNITS if hasattr(get("unit", entry.key), method)]
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.key)


every_unit = pytest.mark.parametrize("entry", UNITS, ids=lambda entry: entry.key)
every_size = pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"{sizes[0]}to{sizes[1]}")


def make(entry, sizes=(2, 3), seed=0, dtype=torch.float64, random=True):
    """Build a unit; `random` moves every parameter off special values such as 0."""
    generator = torch.Generator().manual_seed(seed)
    unit = get("unit", entry.key)(*sizes, generator=generator, dtype=dtype)
    if random:
        for parameter in unit.parameters():
            nn.init.uniform_(parameter, 0.1, 0.9, generator=generator)
    return unit.eval() if entry.key in STOCHASTIC else unit


def inputs(*shape, seed=1, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(shape, dtype=dtype).uniform_(-3, 3, generator=generator)


def params_of(unit):
    return {name: parameter.detach().clone() for name, parameter in unit.named_parameters()}


def same(first, second):
    return set(first) == set(second) and all(torch.equal(first[k], second[k]) for k in first)


def test_there_are_units():
    assert {entry.key for entry in UNITS} >= {
        "nac_add", "nac_mul", "nalu", "gnalu", "inalu", "nau", "nmu", "npu", "real_npu",
        "linear", "mlp",
    }  # fmt: skip


def test_one_file_one_unit_one_test():
    stems = {path.stem for path in Path(str(files("wug.units"))).glob("[!_]*.py")}
    assert stems == {entry.key for entry in UNITS}
    tests = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert stems <= tests


@every_unit
def test_stands_in_the_file_of_its_key(entry):
    assert entry.target.startswith(f"wug.units.{entry.key}:")
    assert Path(inspect.getfile(get("unit", entry.key))).stem == entry.key


@every_unit
def test_docstring(entry):
    text = inspect.getdoc(get("unit", entry.key))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].endswith(".") and lines[1] == ""
    assert re.search(r"^Equation \([a-z]+\d{4}, ", text, re.MULTILINE)
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    assert ">>> " in text
    assert entry.equation and entry.failure_modes


@every_unit
def test_references(entry):
    bibliography = (files("wug") / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    cited = inspect.getdoc(get("unit", entry.key)).rpartition("References:")[2]
    listed = set(re.findall(r"[a-z]+\d{4}", cited))
    assert entry.references and set(entry.references) <= listed <= known


@every_unit
def test_arguments(entry):
    parameters = inspect.signature(get("unit", entry.key)).parameters
    assert list(parameters)[:2] == ["in_features", "out_features"]
    options = list(parameters.values())[2:]
    assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)
    assert {"generator", "device", "dtype"} <= set(parameters)
    described = inspect.getdoc(get("unit", entry.key))
    assert all(f"    {name}: " in described for name in parameters)


@every_unit
@every_size
@pytest.mark.parametrize("axes", [(), (4,), (2, 4), (0,)], ids=str)
def test_shapes(entry, sizes, axes):
    unit = make(entry, sizes)
    assert unit(inputs(*axes, sizes[0])).shape == (*axes, sizes[1])


@every_unit
@every_size
def test_rows_are_independent(entry, sizes):
    unit, x = make(entry, sizes), inputs(2, 4, sizes[0])
    alone = [[unit(row) for row in block] for block in x]
    assert_close(unit(x), torch.stack([torch.stack(block) for block in alone]))


@every_unit
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_dtypes(entry, dtype):
    unit = make(entry, dtype=dtype)
    assert {parameter.dtype for parameter in unit.parameters()} == {dtype}
    output = unit(inputs(4, 2, dtype=dtype))
    assert output.dtype == dtype
    exact = copy.deepcopy(unit).double()(inputs(4, 2, dtype=dtype).double())
    assert_close(output.double(), exact, rtol=1e-4, atol=1e-5)


@every_unit
@pytest.mark.parametrize("sizes", SIZES[1:], ids=str)  # of one input a comparison is constant
def test_gradients_reach_every_parameter(entry, sizes):
    unit, x = make(entry, sizes), inputs(16, sizes[0]).requires_grad_()
    unit(x).square().sum().backward()
    for name, leaf in [("x", x), *unit.named_parameters()]:
        assert leaf.grad is not None and leaf.grad.isfinite().all(), name
        assert leaf.grad.any(), name


@every_unit
def test_state_dict_round_trip(entry):
    unit, other, x = make(entry), make(entry, seed=1), inputs(4, 2)
    assert set(unit.state_dict()) == set(params_of(unit)), "a unit has no buffers"
    assert not torch.equal(unit(x), other(x))
    other.load_state_dict(unit.state_dict())
    assert torch.equal(unit(x), other(x))


@every_unit
def test_weights_come_from_the_generator_alone(entry):
    before = torch.get_rng_state()
    first, again, other = (make(entry, seed=seed, random=False) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert same(params_of(first), params_of(again))
    assert not same(params_of(first), params_of(other))
    first.reset_parameters(torch.Generator().manual_seed(6))
    assert same(params_of(first), params_of(other))


@every_unit
@every_size
def test_runs_under_vmap(entry, sizes):
    assert getattr(get("unit", entry.key), "stackable", True), "units stack; layers need not"
    units = [make(entry, sizes, seed) for seed in range(3)]
    params, buffers = stack_module_state(units)

    def run(params, buffers, x):
        return functional_call(units[0], (params, buffers), (x,))

    x = inputs(3, 4, sizes[0])
    own = torch.stack([unit(part) for unit, part in zip(units, x, strict=True)])
    assert_close(vmap(run)(params, buffers, x), own)
    shared = torch.stack([unit(x[0]) for unit in units])
    assert_close(vmap(run, in_dims=(0, 0, None))(params, buffers, x[0]), shared)


@every_unit
@pytest.mark.parametrize("training", [True, False])
def test_forward_only_computes(entry, training):
    unit, x = make(entry).train(training), inputs(4, 2)
    params, original, attributes = params_of(unit), x.clone(), set(vars(unit))
    repeatable = torch.equal(unit(x), unit(x))
    assert repeatable or (training and entry.key in STOCHASTIC)
    assert torch.equal(x, original)
    assert same(params_of(unit), params)
    assert set(vars(unit)) == attributes


@every_unit
def test_functions_of_parameters_are_pure(entry):
    unit, other = make(entry), make(entry, seed=1)
    given = params_of(other)
    nn.init.uniform_(given[next(iter(given))], -3, 3, generator=torch.Generator().manual_seed(2))
    other.load_state_dict(given)
    kept = {name: value.clone() for name, value in given.items()}
    own = params_of(unit)
    for name in ("weights", "project", "penalty", "penalties"):
        if not hasattr(unit, name):
            continue
        result = getattr(unit, name)(given)
        expected = getattr(other, name)(params_of(other))
        assert_close(result, expected, msg=f"{name} must read its argument, not the module")
        assert same(given, kept) and same(params_of(unit), own), f"{name} must not write"


@units_with("penalty")
def test_penalty_is_a_finite_scalar_that_pulls(entry):
    unit = make(entry)
    params = {name: value.requires_grad_() for name, value in params_of(unit).items()}
    penalty = unit.penalty(params)
    assert penalty.shape == () and penalty.isfinite()
    assert penalty >= 0 or entry.key in REWARDED
    if entry.key in UNPULLED:
        assert penalty == 0
        return
    pulls = torch.autograd.grad(penalty, params.values(), allow_unused=True)
    assert any(pull is not None and pull.any() for pull in pulls)


@units_with("penalties")
def test_penalties_are_finite_scalars_that_pull(entry):
    unit = make(entry)
    params = {name: value.requires_grad_() for name, value in params_of(unit).items()}
    for penalty in unit.penalties(params).values():
        assert penalty.shape == () and penalty.isfinite() and penalty >= 0
        pulls = torch.autograd.grad(penalty, params.values(), allow_unused=True)
        assert any(pull is not None and pull.any() for pull in pulls)


@units_with("project")
def test_projection_keeps_keys_and_shapes_and_is_idempotent(entry):
    unit = make(entry)
    params = {name: 4 * (value - 0.5) for name, value in params_of(unit).items()}
    once = unit.project(params)
    assert {name: value.shape for name, value in once.items()} == {
        name: value.shape for name, value in params.items()
    }
    assert same(once, params) == (entry.key in UNPULLED)
    assert same(unit.project(once), once)


@units_with("discrete")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_discrete_values_are_reached_exactly(entry, dtype):
    unit = make(entry, dtype=dtype)
    params = params_of(unit)
    for name, discrete in unit.discrete.items():
        names = discrete.parameters or (name,)
        if not set(names) <= set(params):
            continue  # an option that is off
        present = [params[n] for n in names]
        nearest = discrete.nearest(discrete.weight(*present))
        if discrete.values is not None:
            assert set(nearest.flatten().tolist()) <= set(discrete.values)
        reached = dict(zip(names, discrete.raw(nearest, *present), strict=True))
        assert {n: v.shape for n, v in reached.items()} == {n: params[n].shape for n in names}
        assert torch.equal(discrete.weight(*reached.values()), nearest)
        params |= reached
    for weight in unit.weights(params).values():
        assert torch.equal(2 * weight, (2 * weight).round()), "halves are the finest by default"


@units_with("guards")
def test_guards_are_attributes_that_can_go(entry):
    unit = make(entry)
    for name, plain in unit.guards.items():
        assert isinstance(getattr(unit, name), float)
        setattr(unit, name, plain)
    assert unit(inputs(4, 2).abs() + 1).isfinite().all()


@every_unit
def test_formula_and_trace(entry):
    unit = make(entry)
    expressions = unit.formula(["first", "second"])
    assert len(expressions) == 3
    assert {str(s) for e in expressions for s in e.free_symbols} == {"first", "second"}
    assert {str(s) for e in unit.formula() for s in e.free_symbols} == {"x1", "x2"}
    x = inputs(4, 2)
    trace = unit.trace(x)
    assert len(trace) > 1 and all(isinstance(value, torch.Tensor) for value in trace.values())
    assert torch.equal(trace["output"], unit(x))
    weights = unit.weights(params_of(unit))
    assert weights and all(weight.ndim == 2 for weight in weights.values())


@every_unit
def test_numbers_of_any_size(entry):
    """Neither NaN nor infinity: the epsilon of logarithmic units bounds their poles at 0.

    With epsilon=0, NAC•, NALU and G-NALU have true poles; see their own tests.
    """
    values = [-1e6, -1.0, -1e-7, -0.0, 0.0, 1e-30, 1e-7, 1.0, 1e6]
    for seed in range(5):
        unit = make(entry, (2, 3), seed, torch.float32, random=False)
        x = torch.tensor(list(itertools.product(values, repeat=2))).requires_grad_()
        output = unit(x)
        assert output.isfinite().all()
        gradients = torch.autograd.grad(output.sum(), [x, *unit.parameters()])
        assert not any(gradient.isnan().any() for gradient in gradients)


@every_unit
@pytest.mark.parametrize("sizes", [(2, 1), (6, 2)], ids=str)
def test_wrong_number_of_inputs(entry, sizes):
    unit = make(entry, sizes)
    for wrong in (1, sizes[0] - 1, sizes[0] + 1):
        with pytest.raises(UserError, match=f"must have {sizes[0]} inputs .* got {wrong}"):
            unit(inputs(4, wrong))


@every_unit
@pytest.mark.parametrize("name", ["in_features", "out_features"])
def test_sizes_below_one(entry, name):
    unit = get("unit", entry.key)
    sizes = {"in_features": 2, "out_features": 1} | {name: 0}
    with pytest.raises(UserError, match=f"{unit.__name__}: {name} must be at least 1; got 0."):
        unit(**sizes)


def test_importing_changes_nothing_in_torch():
    code = """
import torch
def state():
    return (torch.get_rng_state().tolist(), torch.get_default_dtype(), torch.get_num_threads(),
            torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled(),
            torch.get_float32_matmul_precision(), torch.get_default_device())
before = state()
import pkgutil, importlib, wug.units
for module in pkgutil.iter_modules(wug.units.__path__, "wug.units."):
    importlib.import_module(module.name)
assert state() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(str(files("wug"))).parent)
