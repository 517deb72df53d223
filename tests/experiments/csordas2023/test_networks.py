"""Which lots there are, and what the settings of the paper and laptop scale have in common."""

from dataclasses import replace

import pytest

from wug.core import index
from wug.core.configs import as_config
from wug.core.errors import UserError
from wug.core.schedules import Constant, Trapezoid, WarmUp
from wug.experiments.csordas2023 import _laptop as laptop
from wug.experiments.csordas2023._networks import Setting, num_layers
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module
from wug.training.plan import Plan

# The tables of chapters 5 and 6, whose networks say a class.
TABLES = ("ctl", "ctl_act", "ctl_depth", "ctlpp_ar", "ctlpp_staged", "listops", "simple_arithmetic")
KEYS = [f"csordas2023.{table}" for table in TABLES]
every_experiment = pytest.mark.parametrize("key", KEYS)


def lots(key, **options):
    return index.get("experiment", key)(RunOptions(**options)).lots


# Trainable parameters of the published networks, less those that nothing uses: a positional
# projection (65,536) in NDR, a layer norm (512) in the gated one, a scalar in relative attention.
PARAMETERS = {
    ("ctl", "ndr:forward"): 731_405 - 65_536,
    ("ctl", "absolute_relative_gate:forward"): 994_059 - 512 - 1,
    ("ctl", "relative:forward"): 152_330 - 1,
    ("ctlpp_ar", "ndr:A"): 673_299,
    ("ctlpp_ar", "relative:A"): 155_018 - 1,
}


@pytest.mark.parametrize(("table", "row"), PARAMETERS, ids=":".join)
def test_published_networks_have_their_sizes(table, row):
    (lot,) = lots(f"csordas2023.{table}", scale="paper", seeds=1, only=(row,))
    count = sum(parameter.numel() for parameter in initial_module(lot, seed=0).parameters())
    assert count == PARAMETERS[table, row]


def test_bilstm_has_the_parameters_of_table_e1():
    (lot,) = lots("csordas2023.ctlpp_ar", scale="paper", seeds=1, only=("bilstm:A",))
    count = sum(parameter.numel() for parameter in initial_module(lot, seed=0).parameters())
    assert round(count / 1000) == 408


@every_experiment
def test_lots_have_names_and_configurations_of_their_own(key):
    trained = lots(key, scale="paper")
    assert len({lot.name for lot in trained}) == len(trained)
    first = trained[0]
    config = first.variants[0].config
    assert config["options"] == as_config(first.build.options)
    assert config["plan"]["learning_rate"] == as_config(first.plan.learning_rate)


@every_experiment
def test_settings_do_not_depend_on_the_rows(key):
    make, (row, *_) = index.get("experiment", key), index.entry("experiment", key).details["rows"]
    some, every = make(RunOptions(scale="smoke", only=(row,))), make(RunOptions(scale="smoke"))
    assert some.settings == every.settings


@every_experiment
def test_rows_of_a_laptop_table_differ_in_the_network_and_its_rate_alone(key):
    columns = {}
    for training in lots(key, scale="laptop"):
        (named,) = training.variants
        column = tuple(v for k, v in named.labels.items() if k not in ("model", "layers"))
        build = training.build
        gated = build.model != "transformer" or build.options.get("gate", False)
        rate = laptop.RATE if gated else laptop.PLAIN_RATE
        assert training.plan.learning_rate.peak == rate
        same = replace(training.plan.learning_rate, peak=laptop.RATE)
        plan = replace(training.plan, learning_rate=same)
        # Halting costs something and takes twice the steps (table D.2).
        if not (plan.terms or named.terms):
            columns.setdefault(column, set()).add((repr(plan), repr(training.task)))
    assert all(len(settings) == 1 for settings in columns.values())


def test_laptop_seeds():
    trained = lots("csordas2023.ctl", scale="laptop")
    for lot in trained:
        labels = lot.variants[0].labels
        mine = [seed for o in trained if o.variants[0].labels == labels for seed in o.seeds]
        short = {"ndr": laptop.NDR_SEEDS, "lstm": laptop.SHORT_SEEDS}
        number = short.get(lot.build.model, laptop.RIVAL_SEEDS)
        assert mine == list(range(number))


def test_published_lengths():
    lengths = {}
    for key in ("csordas2023.ctl", "csordas2023.ctl_act"):
        for lot in lots(key, scale="paper", seeds=1):
            task = lot.task
            lengths[lot.variants[0].labels["model"]] = (
                task.ood_validation_lengths,
                task.test_lengths,
            )
    ungated = {row for row, ranges in lengths.items() if ranges == ((6, 7), (8, 10))}
    plain = {"transformer", "relative", "geometric"}
    readouts = {f"{row}_{r}" for row in plain - {"geometric"} for r in ("first", "attention")}
    assert ungated == plain | readouts
    assert all(lengths[row] == ((6, 8), (9, 10)) for row in lengths.keys() - ungated)


def test_steps_of_the_published_trainings():
    steps = {
        (variant.labels["model"], variant.labels["steps"]): lot.plan.steps
        for key in ("csordas2023.ctl_act", "csordas2023.simple_arithmetic")
        for lot in lots(key, scale="paper", seeds=1)
        for variant in lot.variants
    }
    assert steps["relative_graves", "early"] == 30_000
    assert steps["relative_graves", "end"] == 60_000
    assert steps["relative", "end"] == 200_000
    assert steps["ndr", "end"] == 100_000
    assert steps["lstm", "early"] == 50_000


@pytest.mark.parametrize("rate", [WarmUp(1.0, 2, steps=8), Trapezoid(1.0, 2, 8, falling=0.5)])
def test_a_setting_that_lasts_ends_its_learning_rate(rate):
    setting = Setting(options={}, plan=Plan(steps=8, learning_rate=rate))
    longer = setting.lasting(16).plan
    assert (longer.steps, longer.learning_rate) == (16, replace(rate, steps=16))
    constant = setting.trained(learning_rate=Constant(0.1)).lasting(4).plan
    assert (constant.steps, constant.learning_rate) == (4, Constant(0.1))


@every_experiment
def test_refuses_ranges_and_shared_streams(key):
    with pytest.raises(UserError, match="has one range"):
        lots(key, ranges=("[1,2)",))
    with pytest.raises(UserError, match="its own batches"):
        lots(key, streams="shared")


def test_the_rule_of_appendix_d_3_1():
    assert num_layers(10) == 12
    assert num_layers(10, extra=4) == 14
    assert num_layers(5, steps_per_operation=2, extra=0) == 10


@pytest.mark.parametrize(
    "numbers",
    [{"deepest_path": 0}, {"steps_per_operation": 0}, {"extra": -1}],
    ids=lambda numbers: next(iter(numbers)),
)
def test_refuses_numbers_that_are_too_small(numbers):
    with pytest.raises(UserError, match=next(iter(numbers))):
        num_layers(**{"deepest_path": 3, **numbers})
