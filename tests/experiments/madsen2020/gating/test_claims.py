import pytest

from wug.experiments.madsen2020.gating.claims import CLAIMS
from wug.experiments.madsen2020.gating.published import MODELS, load_published
from wug.study.claims import Cell, Table
from wug.study.judgements import Verdict

# Of 100 gates, how many choose the sum; of the other gates, how many runs solve the product.
CHOOSING_SUM = {"gated_nau_nmu": 37, "nalu_separate": 70, "nalu": 40}
SOLVING_PRODUCT = {"gated_nau_nmu": 62, "nalu_separate": 10, "nalu": 24}


def verdicts(figure: dict[tuple[str, str, str], Cell]) -> dict[str, Verdict]:
    """Judge table 5 with these cells of figure 9 beside it."""
    table = Table({**load_published().cells, **figure})
    return {claim.key: claim.evaluate(table).verdict for claim in CLAIMS}


def figure(**changes: tuple[int, int]) -> dict[tuple[str, str, str], Cell]:
    """Return gates that ignore the task, and sums that are solved wherever the gate is right."""
    cells = {}
    for model in MODELS:
        sums, solved = changes.get(model, (CHOOSING_SUM[model], SOLVING_PRODUCT[model]))
        if sums:
            cells[model, "add", "add"] = Cell(sums, sums)
            cells[model, "mul", "add"] = Cell(0, sums)
        if sums < 100:
            cells[model, "add", "mul"] = Cell(0, 100 - sums)
            cells[model, "mul", "mul"] = Cell(solved, 100 - sums)
    return cells


def test_figure_9_as_the_text_has_it():
    assert set(verdicts(figure()).values()) == {Verdict.HELD}


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"nalu": (90, 5)}, "separate_weights_favour_addition"),
        ({"gated_nau_nmu": (100, 0)}, "choice_is_random"),
        ({"gated_nau_nmu": (0, 98)}, "choice_is_random"),
        ({"nalu": (40, 60)}, "nmu_multiplies_behind_the_right_gate"),
    ],
)
def test_figure_9_otherwise(changes, broken):
    ours = verdicts(figure(**changes))
    assert {key for key, verdict in ours.items() if verdict is Verdict.BROKEN} == {broken}


def test_gates_that_follow_the_task():
    cells = {}
    for model in MODELS:
        for operation, other in (("add", "mul"), ("mul", "add")):
            cells[model, operation, operation] = Cell(80, 90)
            cells[model, operation, other] = Cell(0, 10)
    ours = verdicts(cells)
    assert ours["choice_ignores_the_task"] is Verdict.BROKEN
    assert ours["addition_depends_on_the_gate"] is Verdict.HELD


def test_sums_that_need_no_gate():
    cells = {(model, "add", gate): Cell(25, 50) for model in MODELS for gate in ("add", "mul")}
    assert verdicts(cells)["addition_depends_on_the_gate"] is not Verdict.HELD
