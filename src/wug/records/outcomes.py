"""Outcomes of trainings: older ones are read in the form of today, which is schema 2.

Schema 2 says once what each number is: ``selected`` and ``final`` hold split -> measure -> number
for the selected and for the last weights, ``groups`` the same by length, depth or type, and
``observed`` what was read off the weights or the training. Schema 1 had one flat name for each,
which meant different things in the two engines. Nothing outside this file knows those names.
"""

from collections.abc import Mapping
from typing import Any

SCHEMA = 2

# What schema 1 has under the same names; all other numbers of it are observations.
KEPT = frozenset({
    "status", "solved", "diverged", "threshold", "selected_step", "solved_at", "steps", "restarts",
    "promoted", "training_seconds", "weights",
})  # fmt: skip
# Of a network of numbers, whose selected weights alone were measured.
ERRORS = {
    "validation_error": ("selected", "validation"),
    "test_error": ("selected", "test"),
}
# Of a network that answers: shares of wrong answers; in distribution the last weights counted.
SHARES = {
    "validation_error": ("final", "validation"),
    "ood_validation_error": ("selected", "ood_validation"),
    "test_error": ("selected", "test"),
    "selected_validation_error": ("selected", "validation"),
    "final_ood_validation_error": ("final", "ood_validation"),
    "final_test_error": ("final", "test"),
}
# Split -> group -> number.
GROUPS = {
    "levels": ("selected", "accuracy"),
    "final_levels": ("final", "accuracy"),
    "halting_steps": ("selected", "halting_steps"),
}
OBSERVED = {"sparsity_error": "sparsity"}


def read_outcome(outcome: Any) -> Any:
    """Return the outcome of a training in schema 2; what is none, or is in it already, as it is.

    Nothing is checked: a number that is none stands where the number should.

    Args:
        outcome: As a line holds it.

    Example:
        >>> old = {"solved": True, "solved_at": 100, "validation_error": 0.5, "test_error": 0.25}
        >>> read_outcome(old)["selected"]
        {'validation': {'error': 0.5}, 'test': {'error': 0.25}}
        >>> read_outcome({**old, "error_is_share": True})["final"]
        {'validation': {'accuracy': 0.5, 'error': 0.5}}
    """
    if not isinstance(outcome, Mapping) or "solved" not in outcome or "schema" in outcome:
        return outcome
    answers = outcome.get("error_is_share") is True
    places = SHARES if answers else ERRORS
    new: dict[str, Any] = {"schema": SCHEMA, "engine": "single" if answers else "stacked"}
    groups: dict[str, Any] = {}
    observed: dict[str, Any] = {}
    name: str
    for name, value in outcome.items():
        if name in KEPT:
            new[name] = value
        elif name in places:
            weights, split = places[name]
            new.setdefault(weights, {})[split] = _right_and_wrong(value, answers)
        elif name in GROUPS and isinstance(value, Mapping):
            weights, measure = GROUPS[name]
            for split, numbers in value.items():
                groups.setdefault(weights, {}).setdefault(split, {})[measure] = numbers
        elif name != "error_is_share":
            observed[OBSERVED.get(name, name)] = value
    if groups:
        new["groups"] = groups
    if observed:
        new["observed"] = observed
    return new


def kept_accuracy(about: Mapping[str, Any]) -> float | None:
    """Return the share of right answers in the test that a kept network's description tells.

    Args:
        about: With results as an outcome has them; older networks have the share of wrong answers.

    Example:
        >>> kept_accuracy({"model": "ndr", "test_error": 0.25})
        0.75
    """
    old = {"solved": False, "error_is_share": True, "test_error": about.get("test_error")}
    found: Any = about if "selected" in about else read_outcome(old)
    for name in ("selected", "test", "accuracy"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, int | float) else None


def _right_and_wrong(error: Any, answers: bool) -> dict[str, Any]:
    is_share = answers and isinstance(error, int | float)
    return {"accuracy": 1 - error, "error": error} if is_share else {"error": error}
