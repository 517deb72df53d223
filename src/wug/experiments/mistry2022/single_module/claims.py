"""What the primer says of its Single Module Task (mistry2022, section 6.5.1), as predicates.

Every statement that the two-input task can test, each judged the same way on the published tables
and on ours. What the section says of redundant inputs rests on figures 18-20 and is not here.

References:
    mistry2022
"""

from collections.abc import Callable, Iterable
from itertools import pairwise, product

from wug.experiments.mistry2022.single_module.published import (
    GENERAL_UNITS,
    MIXED,
    NEGATIVE,
    RANGES,
    ROWS,
    SPECIAL_UNITS,
    UNITS,
    PublishedCell,
    load_published,
    published_cells,
)
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, any_of, count_at_least, count_is, negate
from wug.study.predicates import (
    better,
    full_success,
    larger_lead,
    leads_by,
    less_sparse,
    no_success,
    rate_at_least,
    rate_at_most,
    same_rate,
    slower,
    some_success,
    sparsity_at_most,
)

__all__ = ["CLAIMS", "PublishedCell", "load_published", "published_cells"]

NARROW = ("[-1.2,-1.1)", "[1.1,1.2)")
WIDE = tuple(span for span in RANGES if span not in NARROW)

# The text says "near 0" of cells at 0 of 25, whose own interval reaches 0.133.
NEAR_ZERO_RATE = 0.15
# Ten times the epsilon of the success criterion, on a scale that ends at 0.5.
LOW_SPARSITY = 1e-4
# One float32 rounding away from a whole number.
PERFECT_SPARSITY = 2.0**-23

Statements = dict[str, tuple[str, Callable[[Table], Judgement]]]


def _row(table: Table, unit: str, operation: str, ranges: Iterable[str] = RANGES) -> list[Entry]:
    return [table.at(unit, operation, span) for span in ranges]


def _pool(
    table: Table, units: Iterable[str], operations: Iterable[str], ranges: Iterable[str] = RANGES
) -> Entry:
    units, operations = tuple(units), tuple(operations)
    name = f"{'+'.join(units)} {'+'.join(operations)} over ranges"
    return table.pooled(name, product(units, operations, ranges))


def _solves(table: Table, unit: str, operation: str, ranges: Iterable[str] = RANGES) -> Judgement:
    return all_of(map(full_success, _row(table, unit, operation, ranges)))


def _unsolved(table: Table, unit: str, operation: str, ranges: Iterable[str] = RANGES) -> Judgement:
    return all_of(negate(full_success(entry)) for entry in _row(table, unit, operation, ranges))


def _uneven(table: Table, unit: str, operation: str) -> Judgement:
    row = _row(table, unit, operation)
    often, seldom = (rate_at_least(e, 0.5) for e in row), (rate_at_most(e, 0.5) for e in row)
    return all_of([any_of(often), any_of(seldom)])


def _nalu_worst_at_addition(table: Table) -> Judgement:
    worst = ("[0.1,0.2)", "[10,20)", MIXED)
    return all_of(
        better(other, low)
        for low in _row(table, "nalu", "add", worst)
        for other in _row(table, "nalu", "add", (span for span in RANGES if span not in worst))
    )


def _nalu_subtracts_worse(table: Table) -> Judgement:
    # On U[-2,2) both rates are 0: so it must be worse in sum, and better nowhere.
    *others, large = zip(_row(table, "nalu", "sub"), _row(table, "nalu", "add"), strict=True)
    sums = (_pool(table, ["nalu"], [op], RANGES[:-1]) for op in ("add", "sub"))
    never_better = [negate(better(*pair)) for pair in others]
    return all_of([*never_better, better(*sums), negate(better(*reversed(large)))])


def _nac_multiplies(table: Table) -> Judgement:
    row = _row(table, "nac_mul", "mul")
    ahead = map(better, row, _row(table, "nalu", "mul"))
    beats_where_it_succeeds = map(any_of, zip(map(no_success, row), ahead, strict=True))
    return all_of([count_is(2, map(some_success, row)), *beats_where_it_succeeds])


def _inalu_multiplies(table: Table) -> Judgement:
    row = _row(table, "inalu", "mul")
    ahead = list(map(better, row, _row(table, "nalu", "mul")))
    solved_too = map(all_of, zip(map(full_success, row), ahead, strict=True))
    return all_of([count_is(7, ahead), count_is(5, solved_too)])


def _solved_rows_are(table: Table, *solved: tuple[str, str]) -> Judgement:
    verdicts = {row: _solves(table, *row) for row in ROWS}
    return all_of(v if row in solved else negate(v) for row, v in verdicts.items())


def _most_units_depend_on_range(table: Table) -> Judgement:
    units = dict.fromkeys(unit for unit, _ in ROWS)
    fails = [negate(all_of(_solves(table, *row) for row in ROWS if row[0] == u)) for u in units]
    return count_at_least(len(fails) // 2 + 1, fails)


def _harder_in_order(table: Table, *operations: str) -> Judgement:
    totals = [_pool(table, UNITS[operation], [operation]) for operation in operations]
    return all_of(better(easier, harder) for harder, easier in pairwise(totals))


def _special_units_win(table: Table) -> Judgement:
    wins = [
        better(_pool(table, [unit], [operation]), _pool(table, ["nalu"], [operation]))
        for operation, units in SPECIAL_UNITS.items()
        for unit in units
    ]
    return count_at_least(len(wins) // 2 + 1, wins)


def _inalu_best(table: Table) -> Judgement:
    totals = {unit: _pool(table, [unit], UNITS) for unit in GENERAL_UNITS}
    return all_of(better(totals["inalu"], totals[unit]) for unit in ("nalu", "gnalu"))


def _inalu_gains_less(table: Table) -> Judgement:
    def pair(operation: str) -> tuple[Entry, Entry]:
        return _pool(table, ["inalu"], [operation]), _pool(table, ["nalu"], [operation])

    return all_of(
        larger_lead(pair(easy), pair(hard)) for easy in ("add", "sub") for hard in ("mul", "div")
    )


ADDITION: Statements = {
    "nau_adds": ("NAU solves addition on every range.", lambda t: _solves(t, "nau", "add")),
    "nau_adds_sparsely": (
        "NAU's sparsity error on addition is close to 0 on every range.",
        lambda t: all_of(sparsity_at_most(e, LOW_SPARSITY) for e in _row(t, "nau", "add")),
    ),
    "inalu_adds": ("iNALU solves addition on every range.", lambda t: _solves(t, "inalu", "add")),
    "inalu_adds_slower_than_nau": (
        "iNALU takes longer than NAU to solve addition, on every range.",
        lambda t: all_of(map(slower, _row(t, "inalu", "add"), _row(t, "nau", "add"))),
    ),
    "inalu_adds_less_sparsely_than_nau": (
        "iNALU's sparsity error on addition is larger than NAU's, on every range.",
        lambda t: all_of(map(less_sparse, _row(t, "inalu", "add"), _row(t, "nau", "add"))),
    ),
    "nalu_adds_unevenly": (
        "NALU solves addition in most runs on some ranges, and in few on others.",
        lambda t: _uneven(t, "nalu", "add"),
    ),
    "nalu_adds_worst": (
        "NALU does worst on addition on U[0.1,0.2), U[10,20) and U[-2,2).",
        _nalu_worst_at_addition,
    ),
    "nalu_adds_sparsely": (
        "NALU's sparsity error on addition is low wherever it has success.",
        lambda t: all_of(
            any_of([no_success(entry), sparsity_at_most(entry, LOW_SPARSITY)])
            for entry in _row(t, "nalu", "add")
        ),
    ),
    "nac_adds_unevenly": (
        "NAC+ solves addition in most runs on some ranges, and in few on others.",
        lambda t: _uneven(t, "nac_add", "add"),
    ),
    "gnalu_adds_worst": (
        "G-NALU has the least success on addition of all units, over all ranges.",
        lambda t: all_of(
            better(_pool(t, [unit], ["add"]), _pool(t, ["gnalu"], ["add"]))
            for unit in UNITS["add"]
            if unit != "gnalu"
        ),
    ),
    "gnalu_adds_on_four": (
        "G-NALU has some success on addition on exactly 4 of the 9 ranges.",
        lambda t: count_is(4, map(some_success, _row(t, "gnalu", "add"))),
    ),
}

SUBTRACTION: Statements = {
    "nau_subtracts": ("NAU solves subtraction on every range.", lambda t: _solves(t, "nau", "sub")),
    "nau_subtracts_as_fast_as_it_adds": (
        "Off the two narrow ranges around 1, NAU needs at most twice its iterations for addition.",
        lambda t: all_of(
            negate(slower(t.at("nau", "sub", span), t.at("nau", "add", span), factor=2))
            for span in WIDE
        ),
    ),
    "nau_subtracts_perfectly_sparsely": (
        "NAU's weights for subtraction are perfectly sparse on every range.",
        lambda t: all_of(sparsity_at_most(e, PERFECT_SPARSITY) for e in _row(t, "nau", "sub")),
    ),
    "nau_subtracts_slowly_on_narrow": (
        "On U[-1.2,-1.1) and U[1.1,1.2) NAU takes over twice as long as on any other range.",
        lambda t: all_of(
            slower(narrow, wide, factor=2)
            for narrow in _row(t, "nau", "sub", NARROW)
            for wide in _row(t, "nau", "sub", WIDE)
        ),
    ),
    "others_fail_to_subtract_on_narrow": (
        "On U[-1.2,-1.1) and U[1.1,1.2) NAC+, NALU and G-NALU have next to no success.",
        lambda t: all_of(
            rate_at_most(entry, NEAR_ZERO_RATE)
            for unit in ("nac_add", "nalu", "gnalu")
            for entry in _row(t, unit, "sub", NARROW)
        ),
    ),
    "inalu_subtracts_on_narrow": (
        "On U[-1.2,-1.1) and U[1.1,1.2) iNALU solves subtraction in at least 40 % of the runs.",
        lambda t: all_of(rate_at_least(entry, 0.4) for entry in _row(t, "inalu", "sub", NARROW)),
    ),
    "inalu_subtracts_elsewhere": (
        "iNALU solves subtraction on every range but U[-1.2,-1.1) and U[1.1,1.2).",
        lambda t: all_of([_solves(t, "inalu", "sub", WIDE), _unsolved(t, "inalu", "sub", NARROW)]),
    ),
    "inalu_subtracts_slower_than_nau": (
        "iNALU takes longer than NAU to solve subtraction, on every range.",
        lambda t: all_of(map(slower, _row(t, "inalu", "sub"), _row(t, "nau", "sub"))),
    ),
    "inalu_subtracts_less_sparsely_than_nau": (
        "iNALU's sparsity error on subtraction is larger than NAU's, on every range.",
        lambda t: all_of(map(less_sparse, _row(t, "inalu", "sub"), _row(t, "nau", "sub"))),
    ),
    "nalu_subtracts_worse_than_it_adds": (
        "NALU is much worse at subtraction than at addition, except on U[10,20).",
        _nalu_subtracts_worse,
    ),
    "nac_subtracts_better_than_nalu": (
        "NAC+ beats NALU on subtraction on exactly 4 of the 9 ranges.",
        lambda t: count_is(4, map(better, _row(t, "nac_add", "sub"), _row(t, "nalu", "sub"))),
    ),
    "gnalu_never_subtracts_better_than_nalu": (
        "G-NALU beats NALU on subtraction on no range.",
        lambda t: count_is(0, map(better, _row(t, "gnalu", "sub"), _row(t, "nalu", "sub"))),
    ),
}

MULTIPLICATION: Statements = {
    "four_units_multiply_one_to_two": (
        "NMU, iNALU, NPU and RealNPU solve multiplication on U[1,2).",
        lambda t: all_of(
            full_success(t.at(unit, "mul", "[1,2)")) for unit in ("nmu", "inalu", "npu", "real_npu")
        ),
    ),
    "nmu_multiplies_some_negatives": (
        "Of the negative ranges, NMU fails to solve multiplication on U[-1.2,-1.1) and U[-2,-1).",
        lambda t: all_of(
            [
                _unsolved(t, "nmu", "mul", ("[-1.2,-1.1)", "[-2,-1)")),
                _solves(t, "nmu", "mul", ("[-20,-10)", "[-0.2,-0.1)")),
            ]
        ),
    ),
    "npus_fail_to_multiply_negatives": (
        "NPU and RealNPU solve multiplication on no range with negative inputs.",
        lambda t: all_of(
            _unsolved(t, unit, "mul", (*NEGATIVE, MIXED)) for unit in ("npu", "real_npu")
        ),
    ),
    "npus_multiply_alike": (
        "NPU and RealNPU have equal success on multiplication on all ranges but one.",
        lambda t: count_is(8, map(same_rate, _row(t, "npu", "mul"), _row(t, "real_npu", "mul"))),
    ),
    "npu_multiplies_mixed_signs_better": (
        "On U[-2,2) NPU's success on multiplication is 32 percentage points above RealNPU's.",
        lambda t: leads_by(t.at("npu", "mul", MIXED), t.at("real_npu", "mul", MIXED), 0.32),
    ),
    "nalu_never_multiplies_fully": (
        "NALU has some success on multiplication on some ranges, and solves it on none.",
        lambda t: all_of(
            [any_of(map(some_success, _row(t, "nalu", "mul"))), _unsolved(t, "nalu", "mul")]
        ),
    ),
    "nac_multiplies_on_two": (
        "NAC• has success on multiplication on exactly 2 ranges, and beats NALU on both.",
        _nac_multiplies,
    ),
    "inalu_multiplies_better_than_nalu": (
        "iNALU beats NALU on multiplication on exactly 7 ranges, and solves it on 5 of these.",
        _inalu_multiplies,
    ),
    "gnalu_never_multiplies_better_than_nalu": (
        "G-NALU beats NALU on multiplication on no range.",
        lambda t: count_is(0, map(better, _row(t, "gnalu", "mul"), _row(t, "nalu", "mul"))),
    ),
}

DIVISION: Statements = {
    "no_unit_divides": (
        "No unit solves division on every range.",
        lambda t: all_of(negate(_solves(t, unit, "div")) for unit in UNITS["div"]),
    ),
    "only_inalu_divides_a_range": (
        "iNALU is the only unit that solves division on any range.",
        lambda t: all_of(
            [
                any_of(map(full_success, _row(t, "inalu", "div"))),
                *(_unsolved(t, unit, "div") for unit in UNITS["div"] if unit != "inalu"),
            ]
        ),
    ),
    "inalu_divides_on_three": (
        "iNALU solves division on exactly 3 of the 9 ranges.",
        lambda t: count_is(3, map(full_success, _row(t, "inalu", "div"))),
    ),
    "npus_divide_one_to_two": (
        "NPU and RealNPU solve division on U[1,2).",
        lambda t: all_of(full_success(t.at(unit, "div", "[1,2)")) for unit in ("npu", "real_npu")),
    ),
    "real_npu_divides_negatives_better": (
        "RealNPU beats NPU on division on every negative range.",
        lambda t: all_of(
            better(t.at("real_npu", "div", span), t.at("npu", "div", span)) for span in NEGATIVE
        ),
    ),
    "nac_divides_on_four": (
        "NAC• has some success on division on exactly 4 ranges.",
        lambda t: count_is(4, map(some_success, _row(t, "nac_mul", "div"))),
    ),
    "nalu_and_gnalu_never_divide": (
        "NALU and G-NALU have no success on division on any range.",
        lambda t: all_of(no_success(e) for unit in ("nalu", "gnalu") for e in _row(t, unit, "div")),
    ),
    "general_units_fail_to_divide_mixed_signs": (
        "NALU, iNALU and G-NALU have no success on division on U[-2,2).",
        lambda t: all_of(no_success(t.at(unit, "div", MIXED)) for unit in GENERAL_UNITS),
    ),
}

TESTING_LIMITS: Statements = {
    "three_rows_are_solved": (
        "Only iNALU on addition and NAU on addition and subtraction solve all their ranges.",
        lambda t: _solved_rows_are(t, ("inalu", "add"), ("nau", "add"), ("nau", "sub")),
    ),
}

SUMMARY: Statements = {
    "most_units_depend_on_range": (
        "Most of the nine units don't solve each of their operations on every range.",
        _most_units_depend_on_range,
    ),
    "difficulty_order": (
        "Division is hardest, then multiplication, subtraction and addition, over all units.",
        lambda t: _harder_in_order(t, "div", "mul", "sub", "add"),
    ),
    "special_units_beat_nalu": (
        "Units for one or two operations beat NALU on most of their operations, over all ranges.",
        _special_units_win,
    ),
    "inalu_best_general_unit": (
        "Of the units for all four operations iNALU does best on average.",
        _inalu_best,
    ),
    "inalu_gains_less_on_products": (
        "iNALU's lead over NALU is smaller on multiplication and division than on the other two.",
        _inalu_gains_less,
    ),
}

CLAIMS: tuple[Claim, ...] = tuple(
    Claim(key, statement, f"mistry2022, section 6.5.1, {paragraph}", evaluate)
    for paragraph, statements in {
        "addition": ADDITION,
        "subtraction": SUBTRACTION,
        "multiplication": MULTIPLICATION,
        "division": DIVISION,
        "testing limits": TESTING_LIMITS,
        "summary": SUMMARY,
    }.items()
    for key, (statement, evaluate) in statements.items()
)
