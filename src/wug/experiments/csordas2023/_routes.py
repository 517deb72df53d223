"""What trained routers do inside, as numbers in their records (sections 5.3, 6.3.1 and D.4).

The thesis shows the gates and attention of single problems; here are means over test problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from wug.analysis.routing import measure_routing
from wug.analysis.symbols import compare_symbols
from wug.core.errors import UserError
from wug.experiments.csordas2023._judging import where_learnt
from wug.records import Record, group_by
from wug.sources.sequence_task import SequenceTask
from wug.stats.measures import Measure, lookup
from wug.study.catalog import measured_cell
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.judgements import Judgement
from wug.study.predicates import above, below
from wug.tasks.systematicity.ctlpp import CTLpp

TEXT, SYMBOLS_TEXT = "csordas2023, section 5.3", "csordas2023, section 6.3.1"
# Test problems that are looked at, evenly spaced.
NUM_PROBLEMS = 200
# Of openings, results or attention that a sentence without a number speaks of: nearly all, most.
NEARLY_ALL, MOST = 0.9, 0.5
# Two clusters of a symbol are less alike than this, as cosines.
ALIKE = 0.5
# A training that found out how functions compose, and one that did not (table 6.1 counts these).
SUCCESS = 0.95


def _measure(name: str, title: str, about: str, better: Any = "higher") -> Measure:
    return Measure(
        name=name, title=title, path=f"observed.{name}", about=f"{about}, mean of all trainings",
        better=better, interval="bootstrap",
    )  # fmt: skip


ROUTES = (
    _measure(
        "routing_score", "Gates that wait",
        "Share of gate openings that come when all operands are ready",
    ),
    _measure(
        "in_turn", "Results in turn",
        "Share of results that are first written after those that they need",
    ),
    _measure(
        "operand_attention", "Attention to operands",
        "Attention of a column to what it needs in the step in which it is first written",
    ),
    _measure(
        "at_once", "Branches at once",
        "Share of pairs of equally high operations that are written in the same steps",
    ),
)  # fmt: skip
CLUSTERED = _measure(
    "clustered_symbols", "Symbols in clusters",
    "Share of symbols that functions write in two ways or more", "lower",
)  # fmt: skip


def observe_routes(network: nn.Module, task: SequenceTask) -> dict[str, float]:
    """Return how a router works on test problems; nothing of a network without gates."""
    examples = task.examples("test")
    places = torch.linspace(0, len(examples) - 1, min(NUM_PROBLEMS, len(examples))).long()
    try:
        routing = measure_routing(network, task, examples[places])
    except UserError:  # no gates
        return {}
    found = {
        "routing_score": routing.score, "in_turn": routing.in_turn,
        "operand_attention": routing.operand_attention, "at_once": routing.at_once,
    }  # fmt: skip
    return {name: value for name, value in found.items() if np.isfinite(value)}


def observe_symbols(network: nn.Module, task: CTLpp) -> dict[str, float]:
    """Return the share of symbols that the functions of CTL++ write in two ways or more."""
    try:
        clusters = compare_symbols(network, task, least=ALIKE).clusters
    except UserError:  # no linear map to the logits
        return {}
    return {"clustered_symbols": float((clusters.max(-1) > 0).mean())}


def observe(network: nn.Module, task: Any) -> dict[str, float]:
    """Return what is read off a network at the end of its training."""
    return (observe_symbols if isinstance(task, CTLpp) else observe_routes)(network, task)


def by_success(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return cells of trainings that succeeded and of those that did not, apart.

    Returns:
        (model, variant, "successful") and (.., "failed") -> with the share of clustered symbols.
    """
    cells: dict[Key, Cell] = {}
    for key, runs in group_by(records, "model", "variant").items():
        for kind in ("successful", "failed"):
            outcomes = [
                run.outcome
                for run in runs
                if (float(lookup(run.outcome, "selected.test.accuracy") or 0) >= SUCCESS)
                == (kind == "successful")
            ]
            if outcomes:
                cells[(*map(str, key), kind)] = measured_cell(outcomes, (CLUSTERED,))
    return cells


def gates_open_in_turn(*cell: str) -> Claim:
    """Return the claim about the gates of a router on table lookup."""
    return Claim(
        "gates_open_in_turn",
        "NDR's gates open one after the other: nine in ten results are written after what they "
        "need.",
        f"{TEXT} and figure 5.3",
        lambda t: above(t.at(*cell), NEARLY_ALL, "in_turn"),
    )


def columns_attend_to_neighbours(*cell: str) -> Claim:
    """Return the claim about the attention of a router on table lookup."""
    return Claim(
        "columns_attend_to_neighbours",
        "Each column attends to its neighbour, whose result it needs, when that is there (most of "
        "the attention of some head).",
        f"{TEXT} and figure 5.3",
        lambda t: above(t.at(*cell), MOST, "operand_attention"),
    )


def branches_run_at_once(*cell: str) -> Claim:
    """Return the claim about independent branches of nested operations."""
    return Claim(
        "branches_run_at_once",
        "Independent branches are worked on in parallel: most operations that are equally high are "
        "written in the same steps.",
        f"{TEXT}, section 5.4 and figure D.10",
        lambda t: above(t.at(*cell), MOST, "at_once"),
    )


def clusters_where_it_failed(*cell: str) -> Claim:
    """Return the claim about seeds that did not learn to compose functions."""

    def clustered(table: Table) -> Judgement:
        failed = table.at(*cell, "failed")
        return where_learnt(failed, above(failed, 0.0, "clustered_symbols"))

    return Claim(
        "failed_seeds_have_clusters",
        "In seeds of NDR that fail, symbols are written in two ways.",
        f"{SYMBOLS_TEXT} and figure 6.3",
        clustered,
    )


def no_clusters_where_it_succeeded(*cell: str) -> Claim:
    """Return the claim about seeds that did."""
    return Claim(
        "successful_seeds_have_none",
        "In seeds that succeed symbols are written in one way (all but fewer than one in eight).",
        f"{SYMBOLS_TEXT} and figure E.5",
        lambda t: below(t.at(*cell, "successful"), 1 / 8, "clustered_symbols"),
    )
