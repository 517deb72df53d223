"""Does a unit beside the convolutions help to count more cells than in training?

The primer (mistry2022, section 8, of rana2020) says that NAC+ and NALU as connections beside a
convolutional network generalise better to higher counts; it has no numbers, and networks, pictures
and sizes are ours. The cells: (network, "few to many").

References:
    rana2020, mistry2022
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wug.core.schedules import Constant
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import clearly_below
from wug.study.trainings import Run, Training, registered
from wug.tasks.perception.cell_counting import CellCounting
from wug.training.plan import Plan

PLAIN, DENSE = "plain", "dense"
NETWORKS: dict[str, Mapping[str, Any]] = {
    PLAIN: {},
    "nac_add": {"unit": "nac_add"},
    "nalu": {"unit": "nalu"},
    "nau": {"unit": "nau"},
    DENSE: {"read_out": "dense"},
}
COLUMN = "few to many"
SOURCE = "mistry2022, section 8"
TEST = {"1-10": "as in training", "16-20": "16 to 20 cells", "21-30": "21 to 30 cells"}
MOST = "mse_21-30"

CLAIMS = (
    Claim(
        "units_help_with_more_cells",
        "With NAC+ or NALU beside the convolutions the error on pictures with more cells is "
        "smaller.",
        SOURCE,
        lambda t: all_of(
            clearly_below(t.at(unit, COLUMN), t.at(PLAIN, COLUMN), MOST)
            for unit in ("nac_add", "nalu")
        ),
    ),
    Claim(
        "a_dense_read_out_counts_no_further",
        "A read-out with a weight for every place errs more on more cells than a sum of places.",
        "ours",
        lambda t: clearly_below(t.at(PLAIN, COLUMN), t.at(DENSE, COLUMN), MOST),
    ),
)


@PaperTable(
    name="Cell counting",
    title="Counting cells with units beside convolutions (after Rana et al., 2020)",
    references=("rana2020", "mistry2022"),
    source=SOURCE,
    labels=("network", "cells"),
    rows=NETWORKS,
    columns=(COLUMN,),
    stream=("cells",),
    scales={
        "smoke": Size(seeds=2, steps=10, streams="independent"),
        "laptop": Size(seeds=5, steps=2_000, streams="independent"),
        "paper": Size(seeds=10, steps=20_000, streams="independent"),
    },
    claims=CLAIMS,
    departures=(
        "Rana et al. train a U-Net and a fully convolutional regression network on synthetic "
        "fluorescence pictures and their density maps. Here pictures of 32 x 32 are drawn anew for "
        "every step, with 1 to 10 cells in training and up to 30 in the test; a network has two "
        "convolutions of 12 channels and learns from counts alone, with Adam at 0.003.",
    ),
    row_units={name: name if "unit" in how else "cell_counter" for name, how in NETWORKS.items()},
    measures=tuple(
        Measure(
            name=f"mse_{group}", title=f"MSE, {title}",
            path=f"groups.selected.test.error.{group}", interval="student-t", digits=2,
            about=f"Mean squared error of the count, {title}, mean of all trainings",
        )
        for group, title in TEST.items()
    ),
    measure=MOST,
)  # fmt: skip
def cell_counting(run: Run, network: str, cells: str) -> Training:
    """Train networks to count few cells, and test them on many."""
    task = CellCounting(evaluation_size=100 if run.scale == "smoke" else 1_000)
    return Training(
        build=registered("cell_counter", task, **NETWORKS[network]),
        task=task,
        plan=Plan(
            steps=run.steps,
            batch_size=32,
            evaluate_every=max(run.steps // 10, 5),
            learning_rate=Constant(3e-3),
        ),
    )
