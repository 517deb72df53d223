"""The claims of trask2018, judged on its own numbers and on tables made by hand."""

import pytest

from wug.experiments.trask2018._relative import above, below
from wug.experiments.trask2018.identity import identity
from wug.experiments.trask2018.recurrent import recurrent
from wug.experiments.trask2018.static import static
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions

EXPERIMENTS = {make.__name__: make(RunOptions()) for make in (identity, static, recurrent)}
TABLES = {name: (each.claims, each.published_table) for name, each in EXPERIMENTS.items()}
# What the paper's raw numbers contradict: two relative tables, and the size of the targets.
BROKEN = {
    ("static", "saturating_models_do_not_interpolate_roots"),
    ("recurrent", "interpolation_is_perfect"),
    ("recurrent", "nalu_extrapolates_perfectly"),
    ("recurrent", "targets_have_the_sizes_of_their_definition"),
}

every_claim = pytest.mark.parametrize(
    ("name", "claim"),
    [
        pytest.param(name, claim, id=f"{name} {claim.key}")
        for name, (claims, _) in TABLES.items()
        for claim in claims
    ],
)


def filled(table, error, iid_error):
    """Return our own table of the same cells, all with these errors, narrowly known."""
    cells = {}
    for key in table.cells:
        errors = {"error": error(key), "iid_error": iid_error(key)}
        values = {name: Estimate.given(v, 0.99 * v, 1.01 * v) for name, v in errors.items()}
        cells[key] = Cell(0, 100, values)
    return Table(cells)


@every_claim
def test_on_the_published_numbers(name, claim):
    expected = "broken" if (name, claim.key) in BROKEN else "held"
    assert claim.evaluate(TABLES[name][1]).verdict.value == expected


@every_claim
def test_undecided_without_runs(name, claim):
    assert claim.evaluate(Table({})).verdict.value == "undecided"


# Tables that contradict the claims: nobody learns anything; or all but a few solve everything.
FEW = ("random", "nalu", "identity", "prelu")
NOTHING_LEARNED = (lambda key: 1.0, lambda key: 1.0)
FEW_FAIL = (
    lambda key: 1e3 if key[0] in FEW else 1e-9,
    lambda key: 1e3 if key[0] in FEW else 1e-9,
)


@every_claim
def test_can_be_broken(name, claim):
    verdicts = {
        claim.evaluate(filled(TABLES[name][1], *errors)).verdict.value
        for errors in (NOTHING_LEARNED, FEW_FAIL)
    }
    assert "broken" in verdicts


def test_relative_to_the_untrained_model():
    cells = {
        (model, "add"): Cell(
            None, 1, {"error": Estimate.given(error), "iid_error": Estimate.given(iid_error)}
        )
        for model, error, iid_error in (("random", 200.0, 10.0), ("tanh", 90.0, 1.0))
    }
    table = Table(cells, exact=True)
    assert below(table, "tanh", "add", 46).verdict.value == "held"
    assert below(table, "tanh", "add", 45).verdict.value == "broken"
    assert above(table, "tanh", "add", 45).verdict.value == "held"
    assert above(table, "tanh", "add", 11, iid=True).verdict.value == "broken"


def test_keys_are_unique():
    for claims, _ in TABLES.values():
        assert len({claim.key for claim in claims}) == len(claims)
        assert all(claim.source.startswith("trask2018, ") for claim in claims)
