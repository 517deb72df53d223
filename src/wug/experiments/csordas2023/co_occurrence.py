"""Which experts are chosen together (figure F.3).

The cells: (model, data). The figure is a map, the text says that "the network combines experts in a
rich way": for each expert, how evenly the others are distributed that its tokens chose with it, as
entropy, 1 if any other is as likely.

References:
    csordas2023
"""

from __future__ import annotations

import numpy as np
from torch import nn

from wug.analysis.experts import expert_use
from wug.experiments.csordas2023._language import (
    DEPARTURES,
    SIGMA,
    trained,
)
from wug.sources.text_task import TextTask
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.language_run import WATCHED_TOKENS, observe
from wug.study.paper_table import PaperTable
from wug.study.predicates import above
from wug.study.trainings import Run, Training

MODELS = {"sigma_moe": SIGMA}
COMPANY = Measure(
    name="company_entropy", title="Evenness of experts that are chosen together",
    path="observed.company_entropy", better="higher", interval="student-t",
    about="Entropy of the experts beside an expert, 1 if any other is as likely; mean of all",
)  # fmt: skip
# Groups of four that always go together would have log 3 / log 15 = 0.41.
RICH = 0.75


def rich(column: str) -> Claim:
    """Return the claim about a column."""
    return Claim(
        f"experts_are_combined_in_{column.lower().replace('-', '_')}",
        f"Experts are combined in many ways ({column}): the evenness of an expert's company is "
        f"above {RICH}, where groups that always go together would have 0.41.",
        "csordas2023, section F.1.4 and figure F.3",
        lambda t: above(t.at("sigma_moe", column), RICH, "company_entropy"),
    )


def watch(network: nn.Module, task: TextTask) -> dict[str, float]:
    """Measure the company of experts, beside what is always measured."""
    together = expert_use(network, task, num_tokens=WATCHED_TOKENS).together
    used = together.sum(-1) > 0
    entropy = -(together * np.log(np.where(together > 0, together, 1.0))).sum(-1)
    evenness = entropy[used] / np.log(max(together.shape[-1] - 1, 2))
    return {**observe(network, task), "company_entropy": float(evenness.mean())}


@PaperTable(
    name="Experts chosen together",
    title="Experts that are chosen together (Csordás, 2023, figure F.3)",
    references=("csordas2023",),
    source="figure F.3",
    labels=("model", "data"),
    rows=MODELS,
    columns=("E8", "WT-S"),
    claims=(rich("WT-S"), rich("E8")),
    departures=DEPARTURES,
    row_units={name: "transformer_xl" for name in MODELS},
    measures=(COMPANY,),
    measure="company_entropy",
)
def co_occurrence(run: Run, model: str, data: str) -> Training | None:
    """Train a language model and see which experts are chosen together."""
    return trained(run, MODELS[model], data, watch=watch)
