from typing import Any

import pytest

from wug.core.errors import UserError
from wug.core.schedules import Constant
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.optimisers import Muon
from wug.training.plan import Clip, Lot, Plan, Registered, Restart, Variant
from wug.units.nau import NAU


def make_lot(**changes: Any) -> Lot:
    fields: dict[str, Any] = {
        "name": "nau",
        "build": lambda generator: NAU(2, 1, generator=generator),
        "variants": (Variant(labels={"range": "[1,2)"}, task=SingleModule()),),
        "seeds": (0, 1, 2),
        "plan": Plan(steps=10),
    }
    return Lot(**(fields | changes))


def test_the_number_of_replicas_is_variants_times_seeds() -> None:
    variants = tuple(Variant(labels={"range": r}, task=SingleModule()) for r in ("a", "b"))
    assert make_lot(variants=variants).num_replicas == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "Plan: steps must be at least 1; got 0."),
        ({"batch_size": 0}, "Plan: batch_size must be at least 1; got 0."),
        ({"evaluate_every": -1}, "Plan: evaluate_every must be at least 1; got -1."),
        ({"precision": "float16"}, "precision must be one of float32, bfloat16; got 'float16'."),
        ({"restart": Restart(min_stored=998)}, "restart.min_stored must be at least 999; got 998."),
    ],
)
def test_a_bad_plan_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        Plan(**({"steps": 10} | changes))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": ()}, "Lot nau: needs at least one variant and one seed."),
        ({"variants": ()}, "Lot nau: needs at least one variant and one seed."),
        ({"seeds": (1, 1)}, "Lot nau: labels of variants and seeds must be distinct."),
        ({"streams": "own"}, "Lot: streams must be one of shared, independent; got 'own'."),
    ],
)
def test_a_bad_lot_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        make_lot(**changes)
    assert str(error.value) == message


def test_tasks_that_do_not_stack_are_refused() -> None:
    two_intervals = SingleModule(train=((-2.0, -1.0), (1.0, 2.0)))
    tasks = {"one": SingleModule(), "two": two_intervals}
    variants = tuple(Variant(labels={"range": n}, task=task) for n, task in tasks.items())
    with pytest.raises(UserError, match="Lot nau: its tasks differ .*; put them into lots"):
        make_lot(variants=variants)


def test_a_stream_is_named_by_labels() -> None:
    variant = Variant(labels={"range": "[1,2)"}, task=SingleModule(), stream=("operation",))
    with pytest.raises(UserError, match="operation is none of range"):
        make_lot(variants=(variant,))


def test_configurations_hold_the_parts_in_use_and_no_others() -> None:
    config = Plan(steps=10, optimiser=Muon(weight_decay=0.1), clip=Clip(norm=1.0)).config
    assert config == {
        "steps": 10,
        "batch_size": 128,
        "evaluate_every": 1_000,
        "optimiser": {"kind": "Muon", "weight_decay": 0.1, "momentum": 0.95},
        "learning_rate": {"kind": "Constant", "value": 1e-3},
        "clip": {"kind": "Clip", "norm": 1.0, "value": None, "groups": {}},
    }
    assert "terms" in Plan(steps=10, terms={"penalty": Constant(1.0)}).config


def test_a_lot_is_plain_data() -> None:
    build = Registered(model="ndr", sizes={"num_tokens": 3, "num_classes": 2}, options={"tied": 1})
    config = make_lot(build=build, streams="independent").config
    assert config["network"] == {
        "model": "ndr", "sizes": {"num_tokens": 3, "num_classes": 2}, "options": {"tied": 1},
    }  # fmt: skip
    (variant,) = config["variants"]
    assert variant["task"]["kind"] == "SingleModule" and variant["task"]["edition"] == 1


@pytest.mark.parametrize(
    ("part", "stacks"),
    [
        ({}, True),
        ({"averaging": 0.9}, False),
        ({"precision": "bfloat16"}, False),
        ({"accumulation": 2}, False),
        ({"optimiser": Muon()}, False),
    ],
)
def test_parts_without_a_stacked_form(part: dict[str, Any], stacks: bool) -> None:
    assert Plan(steps=1, **part).stacks() is stacks
