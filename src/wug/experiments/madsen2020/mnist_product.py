"""The product of up to twenty handwritten digits, learnt from two (figures 4 and 15).

The cells of the claims: (model, "product", length). A network succeeds at a length if its test
error is below the upper end of the reference's interval (`_mnist`). The figures print no numbers,
so there are claims only (section 4.2 and appendix D.4). Rows that end in ``no_rz`` are those of
figure 15, without the regulariser R_z.

References:
    madsen2020
"""

from __future__ import annotations

from wug.experiments.madsen2020._mnist import (
    CRITERION,
    FITS,
    LITTLE,
    OVER_LENGTHS,
    REFERENCE,
    Network,
    as_many_lengths,
    batch_size,
    cells_by_length,
    evaluate_every,
    more_lengths,
    training,
)
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import less_sparse, most_succeed
from wug.study.trainings import Run, Training
from wug.tasks.perception.digit_sequences import DigitSequences

PRODUCT = "product"
NETWORKS = {
    REFERENCE: Network(cell=PRODUCT),
    "nmu": Network(cell="nmu", identity=True, sparse=True),
    "nac_mul_nmu": Network(
        cell="nac_mul", options={"weight": "linear"}, identity=True, sparse=True
    ),
    "nac_mul": Network(cell="nac_mul"),
    "nac_mul_sigmoid": Network(cell="nac_mul", options={"weight": "sigmoid"}),
    "nalu": Network(cell="nalu"),
    "lstm": Network(cell="lstm"),
    "nmu_no_rz": Network(cell="nmu", sparse=True),
    "nac_mul_nmu_no_rz": Network(cell="nac_mul", options={"weight": "linear"}, sparse=True),
}
TRAINED, LONGEST = 2, 20
# All lengths from 1 to 20 at paper scale.
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, LONGEST)
# Sequences of a batch below paper scale.
BATCH = 16
RIVALS = ("nac_mul", "nac_mul_sigmoid", "nac_mul_nmu", "nalu", "lstm")

FIGURE = "madsen2020, section 4.2 and figure 4"
ABLATION = "madsen2020, appendix D.4 and figure 15"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_lets_the_cnn_learn",
        "At the length of training NMU succeeds in most runs: it does not hinder the CNN.",
        FIGURE,
        lambda t: most_succeed(t.at("nmu", PRODUCT, str(TRAINED))),
    ),
    Claim(
        "nmu_extrapolates",
        "NMU succeeds in most runs at every length up to twenty.",
        FIGURE,
        lambda t: all_of(most_succeed(t.at("nmu", PRODUCT, str(n))) for n in LENGTHS),
    ),
    Claim(
        "nmu_outperforms",
        "Over all lengths NMU succeeds more often than NAC•, its variants, NALU and LSTM.",
        "madsen2020, section 5, of figure 4",
        lambda t: all_of(more_lengths(t, "nmu", rival, PRODUCT) for rival in RIVALS),
    ),
    Claim(
        "nmu_outperforms_nalu",
        "Over all lengths NMU succeeds more often than NALU.",
        "mistry2022, section 8.2",
        lambda t: more_lengths(t, "nmu", "nalu", PRODUCT),
    ),
    Claim(
        "rz_changes_little_in_success",
        "Over all lengths NMU and NAC•,NMU succeed nearly as often without R_z.",
        ABLATION,
        lambda t: all_of(
            as_many_lengths(t, model, f"{model}_no_rz", PRODUCT) for model in ("nmu", "nac_mul_nmu")
        ),
    ),
    Claim(
        "rz_makes_the_solution_sparse",
        "Where it succeeds at the length of training, NMU has a larger sparsity error without R_z.",
        ABLATION,
        lambda t: less_sparse(
            t.at("nmu_no_rz", PRODUCT, str(TRAINED)), t.at("nmu", PRODUCT, str(TRAINED))
        ),
    ),
)
MEASURES = tuple(
    Measure(
        name=f"error_at_{length}", title=f"Error at length {length}", interval="bootstrap",
        path=f"groups.selected.test.error.{length}",
    )
    for length in (1, TRAINED, 10, LONGEST)
)  # fmt: skip


@PaperTable(
    name="Product of MNIST digits",
    title="Product of sequential MNIST (Madsen and Johansen, 2020, figures 4 and 15)",
    references=("madsen2020",),
    source="figures 4 and 15",
    labels=("model", "operation"),
    rows=NETWORKS,
    columns=(PRODUCT,),
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=10, streams="independent"),
        "laptop": Size(seeds=5, steps=10_000, streams="independent"),
        "paper": Size(seeds=10, steps=388_000, streams="independent"),
    },
    settings=lambda run: {
        "batch_size": batch_size(run, BATCH), "evaluate_every": evaluate_every(run)
    },
    claims=CLAIMS,
    departures=(
        OVER_LENGTHS,
        f"Trainings succeed nearly as often if these shares are less than {LITTLE} apart.",
        "The reference's bound has the degrees of freedom of its own seeds; the authors' scripts "
        "have 8 for any number of them, and leave out three of ten seeds of the reference by hand.",
        "The error at a length is that of the last value; weights are chosen on validation "
        "sequences of two digits, as in the paper.",
        "Solved-at is the first evaluation whose error at length 10, on validation digits, is "
        "below the reference's bound there.",
        "LSTM has one hidden unit and no read-out, and NALU and LSTM start at 0, as in the "
        "authors' code: neither can represent a product.",
        "Below paper scale there are 10,000 steps of 16 sequences, 6.5 epochs instead of a "
        "thousand (after one epoch NMU's weights are still between 0.5 and 0.9), the penalty's "
        "ramp goes from half to three quarters of them, tests have 13 of the 20 lengths and 1,000 "
        "digits of each. Smoke trains on patterns that need no files.",
    ),
    cells=cells_by_length,
    series="length",
    criterion=CRITERION,
    row_units={
        "nac_mul_nmu": "nac_mul", "nac_mul_sigmoid": "nac_mul", "nmu_no_rz": "nmu",
        "nac_mul_nmu_no_rz": "nac_mul", "lstm": "recurrent_network", REFERENCE: "image_fold",
        "nmu": "nmu", "nac_mul": "nac_mul", "nalu": "nalu",
    },
    measures=(*MEASURES, *FITS),
    measure="error_at_10",
)  # fmt: skip
def mnist_product(run: Run, model: str, operation: str) -> Training:
    """Train recurrent units behind a CNN on the product of two digits."""
    whole = run.scale == "paper"
    task = DigitSequences(
        operation=operation,
        data="drawn" if run.scale == "smoke" else "mnist",
        train_length=TRAINED,
        ood_length=10,
        test_lengths=tuple(range(1, LONGEST + 1)) if whole else LENGTHS,
        evaluation_size=10_000 if whole else 1_000,
    )
    return training(run, NETWORKS[model], task, batch=BATCH)
