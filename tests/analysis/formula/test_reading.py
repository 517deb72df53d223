import pickle

import pytest
import sympy
import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap
from torch.testing import assert_close

from wug.analysis.formula import Formula, read_formula
from wug.analysis.formula.reading import num_nodes, num_terms, shortest
from wug.core.errors import UserError
from wug.core.index import entries, get
from wug.functional.expressions import input_symbols
from wug.layers.arithmetic_cell import ArithmeticCell
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.recurrent_stack import RecurrentStack
from wug.units.linear import Linear
from wug.units.mlp import MLP
from wug.units.nac_mul import NACMul
from wug.units.nau import NAU
from wug.units.nmu import NMU
from wug.units.real_npu import RealNPU

UNITS = [entry.key for entry in entries("unit") if entry.target.startswith("wug.")]
DOUBLE = torch.float64


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(4)


def symbols(*names):
    return input_symbols(names, len(names))


def with_weights(unit, **values):
    """Set a unit's parameters, in float64."""
    unit.double().load_state_dict({n: torch.tensor(v, dtype=DOUBLE) for n, v in values.items()})
    return unit


def sum_times_sum():
    return with_weights(
        ArithmeticStack(4, 1, units=("nau", "nmu")),
        **{"layers.0.weight": [[1, 1, 1, 1], [1, 1, 0, 0]], "layers.1.weight": [[1, 1]]},
    )


def test_stack_of_exact_weights():
    x1, x2, x3, x4 = symbols("x1", "x2", "x3", "x4")
    formula = read_formula(sum_times_sum())
    assert formula.expressions == ((x1 + x2 + x3 + x4) * (x1 + x2),)
    assert formula.names == ("x1", "x2", "x3", "x4")
    assert str(formula) == "(x1 + x2)*(x1 + x2 + x3 + x4)"


def test_names_of_a_stack_may_look_like_its_hidden_ones():
    a, b = symbols("_1", "_0")
    network = nn.Sequential(
        with_weights(NAU(2, 2), weight=[[1, 1], [1, -1]]), with_weights(NMU(2, 1), weight=[[1, 1]])
    )
    assert read_formula(network, ["_1", "_0"]).expressions == ((a + b) * (a - b),)


def test_sequential_with_identities():
    x1, x2 = symbols("x1", "x2")
    half = with_weights(Linear(1, 1), weight=[[0.5]], bias=[3])
    network = nn.Sequential(
        nn.Identity(), nn.Sequential(with_weights(NMU(2, 1), weight=[[1, 1]]), nn.Identity()), half
    )
    assert read_formula(network).expressions == (x1 * x2 / 2 + 3,)


@pytest.mark.parametrize(
    ("weight", "gate", "expected"),
    [
        ([[2, -1, 0]], [1, 1, 1], "x1**2/x2"),
        ([[3, 1, -2]], [1, 0, 1], "x1**3/x3**2"),
        ([[-1, -3, 0.5]], [1, 1, 0], "1/(x1*x2**3)"),
        ([[0.5, 1, 0]], [1, 1, 1], "x2*cos(pi*Heaviside(-x1, 0)/2)*sqrt(Abs(x1))"),
    ],
)
@pytest.mark.parametrize("key", ["real_npu", "npu"])
def test_whole_powers(key, weight, gate, expected):
    values = {"weight": weight, "gate": gate}
    if key == "npu":
        values["weight_imaginary"] = [[0, 0, 0]]
    unit = with_weights(get("unit", key)(3, 1, epsilon=0.0), **values)
    formula = read_formula(unit)
    assert str(formula) == expected
    x = torch.tensor([[2.0, -3.0, 5.0], [-2.0, 3.0, -5.0]], dtype=DOUBLE)
    assert_close(formula.module()(x), unit(x), rtol=1e-12, atol=1e-12)


def made_discrete(unit):
    """Set all parameters to the discrete values near them, and drop the guards."""
    own = dict(unit.named_parameters())
    for name, discrete in unit.discrete.items():
        names = discrete.parameters or (name,)
        if set(names) <= set(own):
            present = [own[n].detach() for n in names]
            raw = discrete.raw(discrete.nearest(discrete.weight(*present)), *present)
            for parameter, values in zip(present, raw, strict=True):
                parameter.copy_(values)
    for name, value in getattr(unit, "guards", {}).items():
        setattr(unit, name, value)
    return unit


@pytest.mark.parametrize(
    ("key", "options", "values", "expected"),
    [
        ("nac_add", {}, {"w_hat": [[3, -3]], "m_hat": [[3, 3]]}, "x1 - x2"),
        ("nac_mul", {}, {"w_hat": [[3, -3]], "m_hat": [[3, 3]]}, "Abs(x1)/Abs(x2)"),
        ("nac_mul", {"weight": "sigmoid"}, {"w_hat": [[3, -3]]}, "Abs(x1)"),
        ("nru", {}, {"weight": [[0.9, -0.8]]}, "x1/x2"),
        ("nmru", {}, {"weight": [[0.9, 0, 0.1, 0.8]]}, "x1/x2"),
        ("modified_real_npu", {}, {"weight": [[0.9, -1]], "gate": [0.8, 1]}, "x1/x2"),
        (
            "inalu",
            {},
            {"w_hat_add": [[1, 1]], "m_hat_add": [[1, 1]], "w_hat_mul": [[3, -3]],
             "m_hat_mul": [[3, 3]], "gate": [-2]},
            "x1/x2",
        ),
        ("mcfc", {}, {"junction": [[2, 0], [2, 0]], "gate_weight": [1], "gate_bias": [1]},
         "x1 + x2"),
        *[
            (
                "mul_mcfc",
                {"sign": sign},
                {"junction": [[2, 0], [2, 0]], "gate_weight": [1], "gate_bias": [1],
                 "bias": [0.1], **gate},
                expected,
            )
            for sign, gate, expected in [
                ("none", {}, "Abs(x1)*Abs(x2)"),
                ("inalu", {}, "x1*x2"),
                ("real_npu", {"sign_gate": [0.9, 0.8]}, "x1*x2"),
            ]
        ],
        ("snmu", {}, {"weight": [[0.9, 0.7]]}, "x1*x2"),
        ("nlrl", {}, {"weight": [[3, 3]], "negation": [[-3, 3]], "gate": [3]},
         "1 - x2*(1 - x1)"),
    ],
)  # fmt: skip
def test_snapped_units_print_their_operation(key, options, values, expected):
    with torch.no_grad():
        unit = made_discrete(with_weights(get("unit", key)(2, 1, **options), **values).eval())
    formula = read_formula(unit)
    inputs = {str(symbol): symbol for symbol in formula.symbols}
    assert formula.expressions == (sympy.sympify(expected, inputs),)
    x = torch.tensor([[2.0, -3.0], [-2.0, 5.0], [0.5, 0.25]], dtype=DOUBLE)
    assert_close(formula.module()(x), unit(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("key", UNITS)
def test_module_and_function_equal_the_unit(key, generator):
    unit = get("unit", key)(2, 1, dtype=DOUBLE).eval()
    for parameter in unit.parameters():
        nn.init.uniform_(parameter, 0.1, 0.9, generator=generator)
    x = torch.empty(20, 2, dtype=DOUBLE).uniform_(-2, 2, generator=generator).requires_grad_()
    formula = read_formula(unit, ["a", "b-b c"])
    expected, actual = unit(x), formula.module()(x)
    assert_close(actual, expected, rtol=1e-12, atol=1e-12)
    slow, fast = (torch.autograd.grad(y.square().sum(), x)[0] for y in (expected, actual))
    assert_close(fast, slow, rtol=1e-9, atol=1e-9)
    array = x.detach().numpy()
    assert_close(formula.python()(array), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    columns = dict(zip(formula.names, array.T, strict=True))
    assert_close(formula.python()(**columns), formula.python()(array))
    assert formula.latex() and formula.complexity > 3


def test_module_under_transforms_and_compiler(generator):
    module = read_formula(RealNPU(2, 1, epsilon=0.5, generator=generator)).module()
    x = torch.rand(5, 2, generator=generator) - 0.5
    assert module(x).dtype == torch.float32
    rows = torch.stack([jacrev(module)(row) for row in x])
    assert_close(vmap(jacrev(module))(x), rows)
    assert_close(functional_call(module, {}, (x,)), module(x))
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    assert_close(compiled(x), module(x))


def test_constants_broadcast():
    formula = read_formula(with_weights(NMU(2, 2), weight=[[0, 0], [1, 0]]))
    assert [str(e) for e in formula.expressions] == ["1", "x1"]
    x = torch.tensor([[2.0, 3.0], [4.0, 5.0]])
    assert formula.module()(x).tolist() == formula.python()(x).tolist() == [[1, 2], [1, 4]]


def test_wrong_inputs_of_module_and_function():
    formula = read_formula(with_weights(NAU(2, 1), weight=[[1, 1]]), ["x", "y"])
    with pytest.raises(UserError, match="must have 2 inputs in its last axis; got 3"):
        formula.module()(torch.ones(3))
    with pytest.raises(UserError, match="must have 2 inputs"):
        formula.python()([1.0, 2.0, 3.0])
    with pytest.raises(UserError, match="columns must be x, y; got x"):
        formula.python()(x=1.0)
    assert formula.python()(x=1.0, y=2.0).tolist() == [3.0]


def test_operation_without_a_version():
    (x,) = symbols("x")
    formula = Formula((sympy.gamma(x),), ("x",))
    for export in (formula.module, formula.python):
        with pytest.raises(UserError, match="there is no gamma here; known: .*Add"):
            export()
    with pytest.raises(UserError, match="y is not among its inputs"):
        Formula((sympy.Symbol("y"),), ("x",)).module()


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("nau", "x_1 + x_2 + x_3"), ("nmu", "x_1*x_2*x_3")],
)
def test_cell_unrolls(unit, expected):
    cell = with_weights(ArithmeticCell(1, 1, unit=unit), **{"unit.weight": [[1, 1]]})
    assert str(read_formula(cell, ["x"], steps=3)) == expected


@pytest.mark.parametrize("update", ["replace", "select", "accumulate"])
def test_unrolled_cell_equals_its_run(update, generator):
    cell = ArithmeticCell(2, 2, unit="inalu", update=update, generator=generator, dtype=DOUBLE)
    sequence = torch.rand(6, 2, 2, generator=generator, dtype=DOUBLE)
    formula = read_formula(cell, ["a", "b"], steps=2)
    assert formula.names == ("a_1", "b_1", "a_2", "b_2")
    assert_close(formula.module()(sequence.flatten(1)), cell.run(sequence)[:, -1])


def test_recurrent_stack():
    stack = with_weights(
        RecurrentStack(2, 1, cell="nau", readout="nmu"),
        **{"cell.unit.weight": [[1, 0, 1, 0], [0, 1, 0, 1]], "readout.weight": [[1, 1]]},
    )
    assert str(read_formula(stack, ["a", "b"], steps=2)) == "(a_1 + a_2)*(b_1 + b_2)"
    with pytest.raises(UserError, match="steps must be at least 1; got 0"):
        read_formula(stack, steps=0)


def test_what_has_no_formula():
    with pytest.raises(UserError, match="a Tanh has no formula"):
        read_formula(nn.Sequential(NAU(2, 1), nn.Tanh()))
    with pytest.raises(UserError, match="no part .* name its inputs"):
        read_formula(nn.Sequential(nn.Identity()))
    assert str(read_formula(nn.Identity(), ["a"])) == "a"


@pytest.mark.parametrize("names", [["a", "a"], ["a", ""]])
def test_names_differ(names):
    with pytest.raises(UserError, match="names must differ and not be empty"):
        read_formula(NAU(2, 1), names)


def test_wrong_number_of_names():
    with pytest.raises(UserError, match="names must have 2 entries; got 3"):
        read_formula(NAU(2, 1), ["a", "b", "c"])


def test_latex():
    unit = with_weights(RealNPU(2, 1, epsilon=0.0), weight=[[2, -1]], gate=[1, 1])
    assert read_formula(unit).latex() == r"\frac{x_{1}^{2}}{x_{2}}"
    odd = read_formula(unit, ["speed of 5%", "{d}"]).latex()
    assert odd == r"\frac{\mathrm{speed\ of\ 5\%}^{2}}{\mathrm{\{d\}}}"


def test_exact_numbers_are_rational_and_others_kept():
    unit = with_weights(Linear(2, 1), weight=[[1.0, 0.1]], bias=[-0.5])
    x1, x2 = symbols("x1", "x2")
    assert read_formula(unit).expressions == (x1 + 0.1 * x2 - sympy.Rational(1, 2),)


def test_simplified():
    x, y, z = symbols("x", "y", "z")
    third = Formula((x * 0.3333333333333333 + 3.7 * y,), ("x", "y")).simplified()
    assert str(third) == "x/3 + 3.7*y"
    assert str(Formula((x * (y + 1) - x * y,), ("x", "y")).simplified()) == "x"
    assert str(Formula((x * y + x * z,), ("x", "y", "z")).simplified()) == "x*(y + z)"
    product = Formula(((x + y) * (x + z),), ("x", "y", "z"))
    assert product.simplified() == product


def test_large_formulas_are_left_alone():
    names = [f"x{i}" for i in range(200)]
    x = symbols(*names)
    large = Formula((sympy.prod(sum(x[i : i + 20]) for i in range(0, 200, 20)) ** 50,), (*names,))
    assert num_terms(large.expressions[0]) > 10**100
    assert large.simplified() == large


def test_shortest_and_sizes():
    x, y = symbols("x", "y")
    assert shortest((x + y) ** 2 - x**2 - 2 * x * y) == y**2
    assert num_nodes(x / y) == 5
    assert num_terms((x + y) ** 3 * (x + 1)) == 16
    assert num_terms(1 / (x + y) ** 3) == num_terms(sympy.cos((x + y) ** 3)) == 8


def test_where_positive():
    unit = with_weights(NACMul(2, 1, weight="linear", epsilon=0.0), w_hat=[[1, 0.5]])
    formula = read_formula(unit, ["a", "b"])
    assert formula.where_positive([]) == formula
    assert str(formula.where_positive(["a", "b"])) == "a*sqrt(b)"
    assert formula.where_positive(["a", "b"]).positive == ("a", "b")
    once = formula.where_positive(["b"])
    assert once.positive == ("b",) and once.where_positive(["a"]).positive == ("a", "b")
    plain = read_formula(with_weights(NAU(2, 1), weight=[[1, 1]]), ["a", "b"])
    assert plain.where_positive(["a", "b"]).positive == ()
    with pytest.raises(UserError, match="c is not among its inputs a, b"):
        formula.where_positive(["c"])


def test_positive_together():
    x, y, z = symbols("x", "y", "z")
    formula = Formula((abs(x + y) * z,), ("x", "y", "z")).where_positive(["x", "y", "z"])
    assert str(formula) == "z*(x + y)" and formula.positive == ("x", "y")


def test_perceptron(generator):
    unit = MLP(2, 1, hidden_features=2, activation="prelu", generator=generator, dtype=DOUBLE)
    x = torch.randn(5, 2, generator=generator, dtype=DOUBLE)
    assert_close(read_formula(unit).module()(x), unit(x))
    assert_close(read_formula(unit).python()(x), unit(x).detach().numpy())


def test_pickles(generator):
    formula = read_formula(RealNPU(2, 1, generator=generator)).where_positive(["x1"])
    x = torch.rand(5, 2, generator=generator)
    again, function, module = (
        pickle.loads(pickle.dumps(made)) for made in (formula, formula.python(), formula.module())
    )
    assert again == formula
    assert (function(x) == formula.python()(x)).all()
    assert module(x).equal(formula.module()(x))
