import math
import operator

import numpy as np
import pytest
import torch
from scipy.stats import kstest
from torch.func import vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.single_module import (
    EVALUATION_SEEDS,
    OPERATIONS,
    RANGES,
    SPLITS,
    SingleModule,
    parse_range,
)

FUNCTIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
MIRRORED = ((-6.0, -2.0), (2.0, 6.0))
# mistry2022, table 3: training -> test.
TABLE_3 = {
    "[-20,-10)": "[-40,-20)",
    "[-2,-1)": "[-6,-2)",
    "[-1.2,-1.1)": "[-6.1,-1.2)",
    "[-0.2,-0.1)": "[-2,-0.2)",
    "[-2,2)": "[-6,-2)u[2,6)",
    "[0.1,0.2)": "[0.2,2)",
    "[1,2)": "[2,6)",
    "[1.1,1.2)": "[1.2,6)",
    "[10,20)": "[20,40)",
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def key(*parts):
    return torch.tensor(stream_key(*parts))


def inside(x, intervals):
    # In float32 the upper end itself comes up by rounding, as for any float32 in [1, 2).
    return sum(((low <= x) & (x <= high)).int() for low, high in intervals) > 0


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_targets(operation, split, dtype):
    task = SingleModule(operation=operation, dtype=dtype)
    x, y = task.batch(split, generator(), size=64)
    assert x.shape == (64, 2) and y.shape == (64, 1)
    assert x.dtype == y.dtype == dtype
    expected = [FUNCTIONS[operation](a, b) for a, b in x.double().tolist()]
    assert y.flatten().tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("split", SPLITS)
def test_bounds(name, split):
    train, test = parse_range(name)
    task = SingleModule(train=train, test=test)
    intervals = train if split in ("train", "validation") else test
    x, _ = task.batch(split, generator(), size=2_000)
    assert inside(x, intervals).all()
    if split != "train":
        x = task.evaluation_inputs(split)
        assert x.shape == (10_000, 2) and inside(x, intervals).all()
    width = intervals[0][1] - intervals[0][0]
    assert x.min() < intervals[0][0] + 0.01 * width
    assert x.max() > intervals[-1][1] - 0.01 * width


def test_inputs_are_uniform_and_differ_between_steps_rows_and_columns():
    task = SingleModule(dtype=torch.float64)
    values = task.input_values()
    batches = [task.inputs(values, key("a"), torch.tensor(step), 500) for step in range(4)]
    x = torch.cat(batches).numpy()
    assert len(np.unique(x)) == x.size
    for column in x.T:
        assert kstest(column, "uniform", (1, 1)).pvalue > 1e-3
    assert abs(np.corrcoef(x.T)[0, 1]) * math.sqrt(len(x)) < 4


@pytest.mark.parametrize("drawn", ["stream", "evaluation"])
def test_two_intervals_are_chosen_by_each_number_on_its_own(drawn):
    task = SingleModule(train=MIRRORED, test=MIRRORED, dtype=torch.float64)
    if drawn == "stream":
        x, _ = task.batch("train", generator(), size=10_000)
    else:
        x = task.evaluation_inputs("test")
    positive = (x > 0).double()
    # Of 10,000 fair coins, within four standard deviations; and the two inputs agree half the time.
    assert (abs(positive.mean(0) - 0.5) < 4 * 0.005).all()
    assert abs((positive[:, 0] == positive[:, 1]).double().mean() - 0.5) < 4 * 0.005
    assert kstest(x.abs().flatten().numpy(), "uniform", (2, 4)).pvalue > 1e-3


def test_the_nine_ranges_are_those_of_table_3():
    assert list(RANGES) == list(TABLE_3)
    for train, test in TABLE_3.items():
        assert parse_range(train) == parse_range(f"{train}>{test}")


def test_parse_range():
    assert parse_range("[1, 2)") == (((1.0, 2.0),), ((2.0, 6.0),))
    assert parse_range("[3,4)>[4,8)") == (((3.0, 4.0),), ((4.0, 8.0),))
    assert parse_range(" [1,2) > [-6,-2) u [2,6) ") == (((1.0, 2.0),), MIRRORED)
    assert parse_range("[-.5,1e-1)>[+1E2,200.)") == (((-0.5, 0.1),), ((100.0, 200.0),))


@pytest.mark.parametrize("text", ["[2,1)", "[2,1)>[2,6)", "[1,2)>[6,2)", "[3,3)>[4,5)"])
def test_range_upside_down(text):
    with pytest.raises(UserError, match=r"range \[.*\): the lower end must be below the upper"):
        parse_range(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "1,2", "[3,4)", "[1,2]", "[a,b)>[c,d)", "[1,inf)>[2,3)", "[1,2)>[2,3)>[3,4)",
        "[1,2)junk>[2,3)", "[1,2)>", ">[1,2)", "[1,2)>[2,3)[4,5)", "[1,2)>[2,3)u[4,5)u[6,7)",
    ],
)  # fmt: skip
def test_range_that_is_none(text):
    with pytest.raises(UserError, match=r"unknown range .*Or give both: '\[3,4\)>\[4,8\)'"):
        parse_range(text)


def test_unknown_range_names_the_nearest():
    with pytest.raises(UserError, match=r"did you mean .*\[1\.1,1\.2\)"):
        parse_range("[1.1,1.3)")


@pytest.mark.parametrize("num_inputs", [2, 10, 100])
def test_adjacent_operands_follow_the_references_rule(num_inputs):
    task = SingleModule(num_inputs=num_inputs)
    places = [task.operand_places(seed) for seed in range(200)]
    offsets = [np.random.RandomState(seed).randint(0, num_inputs - 1) for seed in range(200)]
    assert places == [(offset, offset + 1) for offset in offsets]
    assert {0, num_inputs - 2} <= set(offsets) or num_inputs == 100


def test_random_operands():
    task = SingleModule(num_inputs=10, operands="random")
    places = [task.operand_places(seed) for seed in range(300)]
    assert places == [task.operand_places(seed) for seed in range(300)]
    assert all(0 <= a < 10 and 0 <= b < 10 and a != b for a, b in places)
    assert len(set(places)) > 80  # of 90
    assert any(abs(a - b) > 1 for a, b in places) and any(a > b for a, b in places)


@pytest.mark.parametrize("operands", ["adjacent", "random"])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_operands_are_the_same_in_all_splits(operands, seed):
    task = SingleModule(operation="sub", num_inputs=10, operands=operands)
    first, second = task.operand_places(seed)
    for split in SPLITS:
        x, y = task.batch(split, generator(), size=16, seed=seed)
        assert x.shape == (16, 10)
        assert_close(y[:, 0], x[:, first] - x[:, second])
        if split != "train":
            x = task.evaluation_inputs(split, 16)
            y = task.targets(task.target_values(seed), x)
            assert_close(y[:, 0], x[:, first] - x[:, second])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("split", EVALUATION_SEEDS)
def test_evaluation_sets_are_the_references(split, dtype):
    """The raw inputs are drawn in float64 with fixed seeds, so are the same for every run."""
    task = SingleModule(dtype=dtype)
    low, high = (1, 2) if split == "validation" else (2, 6)
    rows = np.random.RandomState(EVALUATION_SEEDS[split]).uniform(low, high, (10_000, 2))
    assert torch.equal(task.evaluation_inputs(split), torch.tensor(rows, dtype=dtype))


def test_seeds_of_the_evaluation_sets():
    assert EVALUATION_SEEDS["validation"] == 43953907 and EVALUATION_SEEDS["test"] == 8689336
    assert len(set(EVALUATION_SEEDS.values())) == 3
    task = SingleModule()
    assert not torch.equal(task.evaluation_inputs("ood_validation"), task.evaluation_inputs("test"))
    with pytest.raises(UserError, match="split must be one of .*; got 'train'"):
        task.evaluation_inputs("train")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("num_inputs", [2, 10])
@pytest.mark.parametrize("name", ["[1,2)", "[-2,2)", "[-0.2,-0.1)"])
def test_threshold_is_what_a_model_off_by_epsilon_gets(operation, num_inputs, name):
    train, test = parse_range(name)
    task = SingleModule(operation=operation, train=train, test=test, num_inputs=num_inputs)
    simulated = task.threshold(simulated=True, samples=100_000, seed=0)
    assert simulated == pytest.approx(task.threshold(), rel=0.05)
    assert task.threshold(epsilon=1e-4) == pytest.approx(100 * task.threshold(), rel=1e-2)


def test_threshold_judges_the_tasks_own_test_set():
    """A weight matrix off by epsilon everywhere, on the evaluation inputs, is at the threshold."""
    task = SingleModule(operation="add", dtype=torch.float64)
    x = task.evaluation_inputs("test")
    y = task.targets(task.target_values(0), x)
    assert task.loss((1 - 1e-5) * x.sum(-1, keepdim=True), y).item() == pytest.approx(
        task.threshold(), rel=0.02
    )


def test_loss_is_the_mean_squared_error():
    loss = SingleModule().loss(torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [2.0]]))
    assert loss.item() == 2.0


def test_batches_come_from_the_generator_alone():
    task, before = SingleModule(operation="mul"), torch.get_rng_state()
    first, again, other = (task.batch("train", generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])
    source = generator(1)
    assert torch.equal(task.batch("train", source)[0], first[0])
    assert not torch.equal(task.batch("train", source)[0], first[0])
    assert len(first[0]) == 128


@pytest.mark.parametrize("num_inputs", [2, 10])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_same_data_for_any_fleet(num_inputs, dtype):
    """Stacked over ranges and seeds, every replica sees what it sees alone."""
    tasks = [
        SingleModule(operation=operation, train=MIRRORED, num_inputs=num_inputs, dtype=dtype)
        for operation in OPERATIONS
    ]
    seeds = range(3)
    keys = torch.stack([key("train", seed) for seed in seeds])
    inputs = [task.input_values() for task in tasks]
    targets = [[task.target_values(seed) for seed in seeds] for task in tasks]

    def stack(rows):
        return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}

    def batch(values, places, one_key, step):
        x = tasks[0].inputs(values, one_key, step, 16)
        return x, tasks[0].targets(places, x)

    over_seeds = vmap(batch, in_dims=(None, 0, 0, None))
    stacked = vmap(over_seeds, in_dims=(0, 0, None, None))
    step = torch.tensor(49_999)
    x, y = stacked(stack(inputs), stack([stack(row) for row in targets]), keys, step)
    for t, s in np.ndindex(len(tasks), len(seeds)):
        alone = tasks[t].inputs(inputs[t], keys[s], step, 16)
        assert torch.equal(x[t, s], alone)
        assert torch.equal(y[t, s], tasks[t].targets(targets[t][s], alone))


def test_sizes():
    task = SingleModule(num_inputs=7)
    assert (task.in_features, task.out_features) == (7, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operation": "pow"}, "operation must be one of add, sub, mul, div; got 'pow'"),
        ({"operands": "far"}, "operands must be one of adjacent, random; got 'far'"),
        ({"num_inputs": 1}, "num_inputs must be at least 2; got 1"),
        ({"train": ((2.0, 1.0),)}, "the lower end below the upper"),
        ({"test": ((1.0, 2.0), (3.0, 5.0))}, "one or two intervals of one width"),
        ({"train": ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))}, "one or two intervals of one width"),
        ({"test": ()}, "one or two intervals of one width"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(UserError, match=message):
        SingleModule(**change)


def test_unknown_split():
    with pytest.raises(UserError, match="split must be one of train, .*; got 'dev'"):
        SingleModule().batch("dev", generator())
