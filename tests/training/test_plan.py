from typing import Any

import pytest

from wug.core.errors import UserError
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.plan import Lot, Restart, TrainingPlan, Variant
from wug.units.nau import NAU


def make_lot(**changes: Any) -> Lot:
    fields: dict[str, Any] = {
        "name": "nau",
        "build": lambda generator: NAU(2, 1, generator=generator),
        "variants": (Variant(labels={"range": "[1,2)"}, task=SingleModule()),),
        "seeds": (0, 1, 2),
        "plan": TrainingPlan(),
    }
    return Lot(**(fields | changes))


def test_the_number_of_replicas_is_variants_times_seeds() -> None:
    variants = tuple(Variant(labels={"range": r}, task=SingleModule()) for r in ("a", "b"))
    assert make_lot(variants=variants).num_replicas == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "TrainingPlan: steps must be at least 1; got 0."),
        ({"batch_size": 0}, "TrainingPlan: batch_size must be at least 1; got 0."),
        ({"evaluate_every": -1}, "TrainingPlan: evaluate_every must be at least 1; got -1."),
        ({"optimiser": "adamw"}, "optimiser must be one of adam, rmsprop, sgd; got 'adamw'."),
        ({"restart": Restart(min_stored=998)}, "restart.min_stored must be at least 999; got 998."),
    ],
)
def test_a_bad_plan_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        TrainingPlan(**changes)
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
