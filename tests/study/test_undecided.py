"""Why a claim is undecided, and how many seeds would decide it."""

import pytest

from wug.stats.interval import Estimate
from wug.study.claims import Cell, Claim, Table
from wug.study.predicates import better, error_below, full_success, larger
from wug.study.undecided import Never, many_times, why_undecided

BETTER = Claim("b", "A beats B.", "none", lambda t: better(t.at("a"), t.at("b")))


def test_cells_without_runs_are_named() -> None:
    assert why_undecided(BETTER, Table({("a",): Cell(5, 5)})) == "Not run yet: b."


def test_a_decided_claim_has_no_reason() -> None:
    assert why_undecided(BETTER, Table({("a",): Cell(25, 25), ("b",): Cell(0, 25)})) == ""


@pytest.mark.parametrize(("first", "second"), [((4, 5), (2, 5)), ((13, 25), (8, 25))])
def test_so_many_seeds_do_decide_it(first: tuple[int, int], second: tuple[int, int]) -> None:
    """The number that is named gives a verdict at the same rates, and half of it does not."""
    table = Table({("a",): Cell(*first), ("b",): Cell(*second)})
    reason = why_undecided(BETTER, table)
    assert reason.startswith(f"Open after {first[1]} seeds: about ")
    named = int(reason.split("about ")[1].split()[0])

    def at(trials: int) -> str:
        cells = {
            (name,): Cell(round(successes * trials / of), trials)
            for name, (successes, of) in (("a", first), ("b", second))
        }
        return str(BETTER.evaluate(Table(cells)).verdict)

    assert at(named) == "held" and at(first[1]) == "undecided"


def test_one_seed_of_a_measure_has_no_interval() -> None:
    claim = Claim("e", "It errs little.", "none", lambda t: error_below(t.at("a"), 0.5))
    table = Table({("a",): Cell(1, 1, {"error": Estimate.point(0.1)})})
    assert why_undecided(claim, table) == "One seed gives no interval: 3 are the least."


def test_records_without_the_number_are_named() -> None:
    claim = Claim("e", "It errs little.", "none", lambda t: error_below(t.at("a"), 0.5))
    reason = why_undecided(claim, Table({("a",): Cell(1, 1)}))
    assert reason == "The records of a lack the number that this is about."


def test_what_is_at_the_boundary_stays_open() -> None:
    claim = Claim("e", "It errs little.", "none", lambda t: error_below(t.at("a"), 0.5))
    table = Table({("a",): Cell(5, 5, {"error": Estimate(0.5, 0.4, 0.6, "given", 5)})})
    assert "right at the boundary" in why_undecided(claim, table)


def test_twenty_runs_are_needed_for_every_run() -> None:
    claim = Claim("f", "All solve it.", "none", lambda t: full_success(t.at("a")))
    assert "about 20 would" in why_undecided(claim, Table({("a",): Cell(5, 5)}))


def test_intervals_shrink_with_the_root() -> None:
    cell = many_times(Cell(2, 4, {"error": Estimate(1.0, 0.8, 1.4, "given", 4)}), 4)
    assert cell.trials == 16 and cell.successes == 8
    assert (cell["error"].low, cell["error"].high) == pytest.approx((0.9, 1.2))


def test_printed_cells_of_others_are_there_and_need_no_runs():
    prior = Cell(None, 1, {"accuracy": Estimate(0.5, 0.5, 0.5, "exact", 1)})
    claim = Claim("x", "x", "x", lambda t: larger(t.at("a"), t.at("prior"), "accuracy"))
    ours = Cell(None, 5, {"accuracy": Estimate(0.6, 0.4, 0.8, "bootstrap", 5)})
    never = Never({("prior",): prior})
    reason = why_undecided(claim, Table({("a",): ours, ("prior",): prior}), never)
    assert reason.startswith("Open after 5 seeds: about ")
    assert why_undecided(claim, Table({("prior",): prior}), never) == "Not run yet: a."


def test_stand_in_data_decides_nothing():
    never = Never((), {("a",): "CFQ"})
    assert why_undecided(BETTER, Table({("b",): Cell(5, 5)}), never) == (
        "a: data of ours stands in for CFQ, and says nothing of this."
    )
