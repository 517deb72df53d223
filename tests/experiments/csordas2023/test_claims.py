"""The claims of csordas2023, judged on its own numbers and on tables made by hand."""

from itertools import product

import pytest

from wug.experiments.csordas2023 import (
    ctl,
    ctl_act,
    ctl_depth,
    ctlpp_ar,
    ctlpp_staged,
    listops,
    simple_arithmetic,
)
from wug.experiments.csordas2023._ctlpp import MODELS
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.undecided import why_undecided

MODULES = {
    "ctl": ctl,
    "ctl_act": ctl_act,
    "ctl_depth": ctl_depth,
    "ctlpp_ar": ctlpp_ar,
    "ctlpp_staged": ctlpp_staged,
    "listops": listops,
    "simple_arithmetic": simple_arithmetic,
}
EXPERIMENTS = {name: getattr(module, name)(RunOptions()) for name, module in MODULES.items()}
TABLES = {name: (each.claims, each.published_table) for name, each in EXPERIMENTS.items()}
# Sentences of the thesis that its own tables contradict.
BROKEN = {
    ("ctl", "readout_hardly_matters"),
    ("ctl_depth", "shallow_networks_solve_the_training_lengths"),
}
# Sentences about what no table shows.
OPEN = {
    ("ctl", "attention_readout_is_no_better"),
    ("ctl", "gates_open_in_turn"),
    ("ctl", "columns_attend_to_neighbours"),
    ("ctl_act", "longer_problems_take_longer"),
    ("ctlpp_ar", "failed_seeds_have_clusters"),
    ("ctlpp_ar", "successful_seeds_have_none"),
    ("listops", "branches_run_at_once"),
}

every_claim = pytest.mark.parametrize(
    ("name", "claim"),
    [
        pytest.param(name, claim, id=f"{name} {claim.key}")
        for name, (claims, _) in TABLES.items()
        for claim in claims
    ],
)


@every_claim
def test_on_the_published_numbers(name, claim):
    expected = "broken" if (name, claim.key) in BROKEN else "held"
    if (name, claim.key) in OPEN or name == "ctlpp_staged":
        expected = "undecided"
    assert claim.evaluate(TABLES[name][1]).verdict.value == expected


@every_claim
def test_undecided_without_runs(name, claim):
    assert claim.evaluate(Table({})).verdict.value == "undecided"


def cell(error, iid_error=None, steps=None):
    """Return our own cell, narrowly known."""
    iid_error = error if iid_error is None else iid_error
    numbers = {"error": error, "iid_error": iid_error, "halting_steps": steps}
    # What is seen inside a network goes with what it gets right.
    numbers |= dict.fromkeys(("in_turn", "operand_attention", "at_once"), 1 - error)
    numbers |= {"clustered_symbols": round(error)}
    return Cell(
        round(100 * (1 - error)),
        100,
        {n: Estimate.given(v, 0.99 * v, 1.01 * v) for n, v in numbers.items() if v is not None},
    )


def filled(name, error, iid_error=None):
    """Return a table of all cells of an experiment, with errors by key."""
    keys = list(TABLES[name][1].cells)
    if name == "ctlpp_staged":
        keys = list(product(MODELS, ctlpp_staged.FUNCTIONS, ctlpp_staged.SYMBOLS))
    if name == "ctl":
        keys += [(f"{m}_attention", o) for m in ctl.READ_OUT for o in ("forward", "backward")]
    if name == "ctlpp_ar":
        keys += [("ndr", "R", kind) for kind in ("failed", "successful")]
    cells = {key: cell(error(key), iid_error) for key in keys}
    for length in ctl_act.LENGTHS:
        cells[ctl_act.PONDERING, "length", length] = cell(0.5, steps=error((length,)) * 10)
    return Table(cells)


# Tables that contradict the claims: nobody learns anything; all solve everything; some that the
# thesis finds good are bad and the other way round.
GOOD = {"ndr", "bilstm", "lstm", "14", "12", "relative_gate", "absolute_relative_gate"}
CONTRARY = (
    lambda key: 0.9,
    lambda key: 0.001,
    lambda key: 0.9 if key[0] in GOOD or key[-1] in ("R", "end", "6", "10") else 0.001,
    lambda key: 0.9 if key[0] == "relative" else 0.001,
    lambda key: 0.9 if key[0] in ("ndr", "lstm", "2") else 0.001,
    lambda key: 0.001 if key[0].endswith("attention") else 0.9,
)


@every_claim
def test_can_be_broken(name, claim):
    verdicts = {claim.evaluate(filled(name, error)).verdict.value for error in CONTRARY}
    assert "broken" in verdicts


@pytest.mark.parametrize(("short", "long", "expected"), [(3, 9, "held"), (9, 3, "broken")])
def test_pondering(short, long, expected):
    steps = dict(zip(ctl_act.LENGTHS, (short, 6, long), strict=True))
    table = Table(
        {(ctl_act.PONDERING, "length", n): cell(0.5, steps=steps[n]) for n in ctl_act.LENGTHS}
    )
    assert ctl_act.CLAIMS[-1].evaluate(table).verdict.value == expected


def test_staged_claims_can_be_held():
    def error(key):
        model, functions, symbols = key
        if (functions, symbols) == ("16", "6"):
            return {"ndr": 0.001, "relative": 0.0005, "bilstm": 0.3}[model]
        worse = 2 if model == "bilstm" or (model == "relative" and functions != "16") else 1
        better = 0.5 if (model, functions) == ("relative", "16") else 1
        return 0.4 * worse * better

    table = filled("ctlpp_staged", lambda key: error(key) if len(key) == 3 else 0.5, 0.001)
    verdicts = {claim.evaluate(table).verdict.value for claim in ctlpp_staged.CLAIMS}
    assert verdicts == {"held"}


def test_attention_readout_can_be_no_better():
    (claim,) = (c for c in ctl.CLAIMS if c.key == "attention_readout_is_no_better")
    table = filled("ctl", lambda key: 0.3 if key[0].endswith("attention") else 0.2, 0.001)
    assert claim.evaluate(table).verdict.value == "held"


def test_keys_are_unique():
    for claims, _ in TABLES.values():
        assert len({claim.key for claim in claims}) == len(claims)
        assert all(claim.source.startswith("csordas2023, ") for claim in claims)


# Claims that networks fail outside, each with the rows that must have learnt the training set.
FAILURES = {
    "ctl": (
        "plain_transformers_fail", "geometric_attention_needs_the_gate",
        "no_readout_saves_plain_transformers",
    ),
    "ctl_act": ("halting_never_solves_the_backward_order",),
    "ctl_depth": ("shallow_networks_do_not_generalise",),
    "ctlpp_ar": ("only_bilstm_solves_new_compositions", "no_seed_solves_a"),
    "ctlpp_staged": ("ndr_needs_the_largest_overlap",),
    "listops": ("baselines_do_not_solve_deeper_problems",),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, keys in FAILURES.items() for key in keys]
)
def test_failures_count_of_networks_that_learnt_the_training_set(name, key):
    (claim,) = (c for c in TABLES[name][0] if c.key == key)
    learnt, unlearnt = (filled(name, lambda _: 1.0, iid) for iid in (0.01, 0.6))
    assert claim.evaluate(learnt).verdict.value == "held"
    assert claim.evaluate(unlearnt).verdict.value == "undecided"
    assert "(40 % in distribution)" in why_undecided(claim, unlearnt)
    assert "did not learn the training set here, so" in why_undecided(claim, unlearnt)


def test_a_rival_that_learnt_nothing_is_not_said_to_be_worse():
    for name in ("listops", "simple_arithmetic"):
        for claim in TABLES[name][0]:
            if claim.key in ("ndr_is_best", "no_rival_solves_deeper_problems"):
                held, undecided = (
                    filled(name, lambda key: 0.01 if key[0] == "ndr" else 0.8, iid)
                    for iid in (0.01, 0.6)
                )
                assert claim.evaluate(held).verdict.value == "held"
                assert claim.evaluate(undecided).verdict.value == "undecided"


@pytest.mark.parametrize(("name", "module"), [("ctl", ctl), ("ctl_depth", ctl_depth)])
def test_what_the_thesis_has_not_solved_inside_either(name, module):
    inside = {
        tuple(str(cell[field]) for field in EXPERIMENTS[name].layout.rows)
        + (str(cell[EXPERIMENTS[name].layout.column]),): cell["iid_accuracy"]["value"]
        for cell in EXPERIMENTS[name].published
    }
    assert {key: value for key, value in inside.items() if value < 0.95} == module.UNSOLVED_INSIDE
