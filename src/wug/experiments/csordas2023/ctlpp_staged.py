"""How much must two paths share before their functions can be mixed (figures 6.4, E.3, E.4)?

The cells: (model, functions that are on both paths, symbols that each of these gets from both). The
sources are figures: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from itertools import product

from wug.core.schedules import WarmUp
from wug.experiments.csordas2023._ctlpp import (
    DEPARTURES,
    MODELS,
    SETTINGS,
    WARM_UP,
    last_networks,
)
from wug.experiments.csordas2023._judging import LEARNT, PERFECT, all_below, all_fail, worse
from wug.experiments.csordas2023._networks import DATA, EMBEDDINGS, FLOAT32, LAPTOP, NETWORKS
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of, count_at_least
from wug.study.paper_table import PaperTable, below_paper
from wug.study.trainings import Run, Training
from wug.tasks.systematicity.ctlpp import CTLpp
from wug.training.optimisers import Adam

FUNCTIONS = ("4", "8", "12", "16")
SYMBOLS = ("2", "3", "4", "5", "6")
FEW, MOST = FUNCTIONS[:-1], FUNCTIONS[-1]
# "Better" or "worse" with so many functions: for more than half of the numbers of symbols.
MAJORITY = len(SYMBOLS) // 2 + 1
TEXT = "csordas2023, section 6.3.2"


def _mostly_better(table: Table, first: str, second: str, functions: str) -> Judgement:
    return count_at_least(
        MAJORITY,
        (
            worse(table, (second, functions, symbols), (first, functions, symbols))
            for symbols in SYMBOLS
        ),
    )


def _better_with_few_functions(table: Table, second: str) -> Judgement:
    return all_of(_mostly_better(table, "ndr", second, functions) for functions in FEW)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "ndr_solves_the_largest_overlap",
        "With 16 of 32 functions on both paths and 6 of 8 symbols shared, NDR is perfect.",
        TEXT,
        lambda t: all_below(t, [("ndr", MOST, SYMBOLS[-1])], PERFECT),
    ),
    Claim(
        "ndr_needs_the_largest_overlap",
        "With fewer functions or symbols shared, it is not.",
        TEXT,
        lambda t: all_fail(
            t, [("ndr", *cell) for cell in product(FUNCTIONS, SYMBOLS)][:-1], PERFECT
        ),
    ),
    Claim(
        "overlap_helps_every_model",
        "Every model errs less with the largest than with the smallest overlap.",
        f"{TEXT} and figures E.3 and E.4",
        lambda t: all_of(
            worse(t, (model, FUNCTIONS[0], SYMBOLS[0]), (model, MOST, SYMBOLS[-1]))
            for model in MODELS
        ),
    ),
    Claim(
        "transformer_is_worse_with_few_functions",
        "With fewer than 16 functions shared, the transformer is worse than NDR (for most numbers "
        "of symbols).",
        "csordas2023, figure E.3",
        lambda t: _better_with_few_functions(t, "relative"),
    ),
    Claim(
        "transformer_is_better_with_many_functions",
        "With 16 functions shared, the transformer is better than NDR (for most numbers of "
        "symbols).",
        "csordas2023, figure E.3",
        lambda t: _mostly_better(t, "relative", "ndr", MOST),
    ),
    Claim(
        "bilstm_is_worse_with_few_functions",
        "With fewer than 16 functions shared, the bidirectional LSTM is worse than NDR (for most "
        "numbers of symbols).",
        "csordas2023, figure E.4",
        lambda t: _better_with_few_functions(t, "bilstm"),
    ),
    Claim(
        "bilstm_is_worse_with_many_functions",
        "With 16 functions shared, the bidirectional LSTM is worse than NDR (for most numbers of "
        "symbols).",
        "csordas2023, figure E.4",
        lambda t: _mostly_better(t, "ndr", "bilstm", MOST),
    ),
)

NUM_RUNS = 5


@PaperTable(
    name="CTL++, staged",
    title="CTL++, variant S (Csordás, 2023, figures 6.4, E.3 and E.4)",
    references=("csordas2023", "csordas2022ctl"),
    source="figures 6.4, E.3 and E.4",
    labels=("model", "functions", "symbols"),
    rows=tuple((row, number) for number in FUNCTIONS for row in MODELS),
    columns=SYMBOLS,
    usual=below_paper(
        model=("bilstm", "relative", "ndr"), functions=("4", "16"), symbols=("2", "6")
    ),
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "The bidirectional LSTM has a batch size of 128 and a learning rate of 0.001 by Adam, as "
        "published; the text has 512, 0.00015 and AdamW.",
        "At laptop scale only the corners of the grid are trained unless --only names rows.",
        EMBEDDINGS,
        FLOAT32,
        LAPTOP,
    ),
    cells=lambda records: last_networks(records, "model", "functions", "symbols", keep=NUM_RUNS),
    measure="accuracy",
    learnt=LEARNT,
)
def ctlpp_staged(run: Run, model: str, functions: str, symbols: str) -> Training:
    """Train a bidirectional LSTM, a transformer and NDR on paths that share some functions."""
    network = NETWORKS[model]
    setting = SETTINGS[run.scale][network.family]
    if run.scale == "paper" and model == "bilstm":
        rate = WarmUp(1e-3, WARM_UP)
        setting = setting.trained(batch_size=128, learning_rate=rate, optimiser=Adam())
    task = CTLpp(
        variant="S",
        num_overlap_functions=int(functions),
        num_overlap_symbols=int(symbols),
        **DATA[run.scale],
    )
    return network.trained(setting, task)
