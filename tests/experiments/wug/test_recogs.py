"""ReCOGS: the numbers of wu2023's logs, what they say, and what is trained beside them."""

import pytest

from wug.core import index
from wug.experiments.wug.recogs import FORMS, TRAINED, TYPES
from wug.study.experiment import RunOptions

EXPERIMENT = index.get("experiment", "wug.recogs")(RunOptions())
PRINTED = EXPERIMENT.published_table


def test_all_set_ups_are_there():
    assert len(EXPERIMENT.published) == 34 == 2 * len(FORMS)
    assert {key[0] for key in EXPERIMENT.reported} == set(FORMS) - set(TRAINED)


@pytest.mark.parametrize(
    ("form", "model", "measure", "value"),
    [
        # The means that wu2023 prints, too.
        ("cogs", "transformer", "accuracy", 0.814), ("cogs", "lstm", "accuracy", 0.276),
        ("cogs", "transformer", "lexical_accuracy", 0.974),
        ("cogs", "transformer", "pp_recursion", 0.087),
        ("concat_3072", "transformer", "accuracy", 0.856),
        ("recogs", "transformer", "accuracy", 0.862),
    ],
)  # fmt: skip
def test_means_of_the_logs(form, model, measure, value):
    assert PRINTED.at(form, model)[measure].value == pytest.approx(value, abs=6e-4)


def test_the_mean_over_all_types_is_that_of_its_parts():
    for cell in PRINTED.cells.values():
        parts = 15 * cell["lexical_accuracy"].value + sum(cell[name].value for name in TYPES)
        assert cell["accuracy"].value == pytest.approx(parts / 21, abs=2e-4)
        assert all(0 <= cell[name].value <= 1 for name in TYPES)


@pytest.mark.parametrize("claim", EXPERIMENT.claims, ids=lambda claim: claim.key)
def test_claims_on_the_published_numbers(claim):
    assert claim.evaluate(PRINTED).verdict.value == "held"
