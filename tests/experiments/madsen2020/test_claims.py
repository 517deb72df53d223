from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wug.core import index
from wug.experiments.madsen2020 import (
    ablation,
    dataset_parameters,
    four_inputs,
    gating,
    hidden_size,
    input_range,
    regularisation,
    two_layer,
)
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.experiment import RunOptions
from wug.study.judgements import Verdict
from wug.study.published import published_table, read_published

CLAIMS = {
    "ablation": ablation.CLAIMS,
    "dataset_parameters": dataset_parameters.CLAIMS,
    "four_inputs": four_inputs.CLAIMS,
    "gating": gating.CLAIMS,
    "hidden_size": hidden_size.CLAIMS,
    "input_range": input_range.CLAIMS,
    "regularisation": regularisation.CLAIMS,
    "two_layer": two_layer.CLAIMS,
}
PUBLISHED = {
    name: read_published(f"wug.experiments.madsen2020.{name}", ("model", "operation"), trials=100)
    for name in ("four_inputs", "gating", "two_layer")
}
# The claims that the paper's own tables contradict.
BROKEN: set[tuple[str, str]] = set()
# The claims that rest on figure 9, which prints no numbers.
FIGURE_9 = {
    ("gating", "separate_weights_favour_addition"),
    ("gating", "addition_depends_on_the_gate"),
    ("gating", "nmu_multiplies_behind_the_right_gate"),
    ("gating", "choice_is_random"),
    ("gating", "choice_ignores_the_task"),
}
# The cells that each file says it needs.
CELLS = {
    "ablation": set(product(ablation.MODELS, ablation.HIDDEN_SIZES)),
    "dataset_parameters": {
        (model, parameter, value)
        for model in dataset_parameters.MODELS
        for parameter, values in dataset_parameters.PARAMETERS.items()
        for value in values
    },
    "four_inputs": {(model, "mul") for model in four_inputs.MODELS},
    "gating": {
        *product(gating.MODELS, gating.OPERATIONS),
        *product(gating.MODELS, gating.OPERATIONS, ("add", "mul")),
    },
    "hidden_size": set(product(hidden_size.MODELS, hidden_size.HIDDEN_SIZES)),
    "input_range": set(product(input_range.MODELS, input_range.RANGES)),
    "regularisation": {
        (*row, strength) for row in regularisation.CHOSEN for strength in regularisation.STRENGTHS
    },
    "two_layer": set(product(two_layer.MODELS, two_layer.OPERATIONS)),
}


class Spy(Mapping[Key, Cell]):
    """An empty mapping that remembers what it was asked for, and says which cells there were."""

    def __init__(self, trained: set[Key] | None = None) -> None:
        self.asked: set[Key] = set()
        self.trained = trained

    def __getitem__(self, key: Key) -> Cell:
        self.asked.add(key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, key: object) -> bool:
        """Say whether a point of a sweep was trained; all of them unless it knows better."""
        return self.trained is None or key in self.trained


def each(names) -> list:
    return [
        pytest.param(name, claim, id=f"{name} {claim.key}")
        for name in names
        for claim in CLAIMS[name]
    ]


def verdict(claim: Claim, cells: Mapping[Key, Cell], *, exact: bool = True) -> Verdict:
    return claim.evaluate(Table(cells, exact=exact)).verdict


@pytest.mark.parametrize("name", CLAIMS)
def test_keys_are_unique(name):
    keys = [claim.key for claim in CLAIMS[name]]
    assert len(keys) == len(set(keys))
    assert all("madsen2020" in claim.source for claim in CLAIMS[name])


@pytest.mark.parametrize(("name", "claim"), each(PUBLISHED))
def test_claim_on_the_published_tables(name, claim):
    judgement = claim.evaluate(published_table(PUBLISHED[name]))
    undecided = Verdict.UNDECIDED if (name, claim.key) in FIGURE_9 else Verdict.HELD
    assert judgement.verdict is (Verdict.BROKEN if (name, claim.key) in BROKEN else undecided)
    assert judgement.evidence


def test_exceptions_are_claims():
    known = {(name, claim.key) for name, claims in CLAIMS.items() for claim in claims}
    assert known >= BROKEN | FIGURE_9


def test_consistency_is_judged_over_the_operations_together():
    # On + and − alone NAU and NAC+ tie at 100 %, as section 4.1.2 itself says.
    (claim,) = (c for c in two_layer.CLAIMS if c.key == "units_converge_more_consistently")
    assert claim.evaluate(published_table(PUBLISHED["two_layer"])).evidence == (
        "NAU and NMU: 298/300 vs NAC+ and NAC•: 231/300",
        "NAU and NMU: 298/300 vs NALU: 28/300",
    )


@pytest.mark.parametrize(("name", "claim"), each(CLAIMS))
def test_claim_without_runs_is_undecided(name, claim):
    assert verdict(claim, {}, exact=False) is Verdict.UNDECIDED


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_read_the_cells_that_their_file_names(name):
    spy = Spy()
    for claim in CLAIMS[name]:
        claim.evaluate(Table(spy))
    assert spy.asked <= CELLS[name]
    # The two-layer claims leave out what the text says nothing of.
    assert name == "two_layer" or spy.asked == CELLS[name]


@pytest.mark.parametrize("name", sorted(set(CLAIMS) - {"two_layer", "four_inputs"}))
def test_claims_of_laptop_scale_read_what_is_trained_there(name):
    lots = index.get("experiment", f"madsen2020.{name}")(RunOptions(scale="laptop")).lots
    trained = {tuple(v.labels.values()) for lot in lots for v in lot.variants}
    spy = Spy(trained)
    for claim in CLAIMS[name]:
        claim.evaluate(Table(spy))
    assert {key for key in spy.asked if len(key) == len(next(iter(trained)))} <= trained


@st.composite
def cells(draw) -> Cell:
    trials = draw(st.integers(1, 60))
    solved_at, sparsity = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    spread = draw(st.sampled_from([0.1, 1.0, 4.0]))
    return Cell(
        draw(st.integers(0, trials)),
        trials,
        {
            name: Estimate.given(value, value - spread, value + spread)
            for name, value in (("solved_at", solved_at), ("sparsity", sparsity))
        },
    )


@pytest.mark.parametrize("name", CLAIMS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_uncertainty_never_reverses_a_verdict(name, data):
    few = data.draw(st.lists(cells(), min_size=4, max_size=4))
    keys = sorted(CELLS[name])
    picks = data.draw(st.lists(st.integers(0, 3), min_size=len(keys), max_size=len(keys)))
    table = {key: few[pick] for key, pick in zip(keys, picks, strict=True)}
    for claim in CLAIMS[name]:
        uncertain = verdict(claim, table, exact=False)
        assert uncertain in (Verdict.UNDECIDED, verdict(claim, table))


@pytest.mark.parametrize(("name", "claim"), each(PUBLISHED))
def test_halved_sparsity_errors_decide_nothing(name, claim):
    """Which printed errors are halved is unknown; undoing it in any one row changes no verdict."""
    table = published_table(PUBLISHED[name]).cells
    for key, cell in table.items():
        error = cell["sparsity"]
        if error.has_interval:
            doubled = Estimate.given(2 * error.value, 2 * error.low, 2 * error.high)
            whole = replace(cell, values={**cell.values, "sparsity": doubled})
            assert verdict(claim, {**table, key: whole}) is verdict(claim, table)


@pytest.mark.parametrize(("name", "claim"), each(PUBLISHED))
def test_medians_confirm_what_means_say(name, claim):
    """The printed means of solved-at are no sample means; the medians are sound."""
    rows = PUBLISHED[name]
    medians = {}
    for row in rows:
        # No interval of a median is printed: "significantly" is judged at face value here.
        median = Estimate.given(*[row.cell["solved_at_median"].value] * 3)
        medians[row.key] = replace(row.cell, values={**row.cell.values, "solved_at": median})
    assert verdict(claim, medians) is verdict(claim, {row.key: row.cell for row in rows})


@pytest.mark.parametrize("name", PUBLISHED)
def test_experiments_take_the_published_table(name):
    experiment = getattr(globals()[name], name)(RunOptions())
    assert experiment.published_table == published_table(PUBLISHED[name])
    assert experiment.published == [cell.to_json() for cell in PUBLISHED[name]]
