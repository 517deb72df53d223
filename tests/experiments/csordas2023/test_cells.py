"""Cells that claims need beyond those of the table, made from records."""

import pytest

from wug.experiments.csordas2023._ctlpp import last_networks
from wug.experiments.csordas2023.ctl_act import LENGTHS, pondering
from wug.records import Record
from wug.tasks.productivity.ctl import CTL


def record(seed, outcome, **labels):
    key = {**labels, "seed": seed}
    return Record(experiment="test", key=key, config={}, seed=seed, outcome=outcome)


def run(seed, final_error, iid_error=0.0):
    outcome = {
        "solved": False, "solved_at": None, "selected": {"test": {"accuracy": 1.0}},
        "final": {"test": {"accuracy": 1 - final_error}, "validation": {"accuracy": 1 - iid_error}},
    }  # fmt: skip
    return record(seed, outcome, model="ndr", variant="R")


def test_last_networks_of_runs_that_converged():
    runs = [run(3, 0.9), run(2, 0.04), run(1, 0.2, iid_error=0.6), run(0, 0.06)]
    (cell,) = last_networks(runs, "model", "variant", keep=2).values()
    assert (cell.successes, cell.trials) == (1, 2)
    assert cell["error"].value == pytest.approx(0.05)
    assert last_networks(runs[2:3], "model", "variant", keep=2) == {}


def test_pondering_by_length():
    labels = {"model": "relative_graves", "order": "forward", "steps": "end"}

    def halting(**splits):
        steps = {split: {"halting_steps": levels} for split, levels in splits.items()}
        return {"groups": {"selected": steps}}

    runs = [
        record(seed, halting(validation={"2": 3 + seed}, test={"9": 8}), **labels)
        for seed in range(2)
    ]
    others = [record(0, halting(test={"9": 1}), **{**labels, "order": "backward"})]
    cells = pondering([*runs, *others, record(2, {}, **labels)])
    assert cells["relative_graves", "length", "2"]["halting_steps"].value == 3.5
    assert cells["relative_graves", "length", "9"]["halting_steps"].value == 8
    assert cells["relative_graves", "length", "9"].trials == 2
    assert set(cells) == {("relative_graves", "length", n) for n in ("2", "9")}


def test_lengths_of_the_claim_are_measured():
    task = CTL(order="forward")
    splits = ("validation", "ood_validation", "test")
    measured = {level for split in splits for level in task.examples(split).levels.tolist()}
    assert set(map(int, LENGTHS)) <= measured
