"""How language models are compared: by blocks of the same text, and by seeds.

Two networks read the same test, cut into blocks, and seeds of the same number saw the same training
text. So differences are paired: of blocks, averaged over the seeds, and of seeds, averaged over the
blocks. A claim counts as decided where both 95 % intervals of Student's t agree, which takes two
seeds at least. Printed numbers are taken at face value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from wug.records import Record
from wug.stats.interval import Estimate
from wug.stats.measures import lookup
from wug.stats.runs import mean_with_t
from wug.study.claims import Cell, Key, Table
from wug.study.judgements import Judgement, decide

BITS = "bits_per_character"
# Row and column -> seed -> block -> bits per character.
Blocks = Mapping[Key, Mapping[int, Mapping[str, float]]]
# Bits per character are printed with two decimals, and so are perplexities.
ROUNDING = 0.005


def blocks_of(records: Sequence[Record], row: str, column: str) -> Blocks:
    """Return the bits of every block of the test, of the selected weights."""
    found: dict[Key, dict[int, Mapping[str, float]]] = defaultdict(dict)
    for record in records:
        bits: Any = lookup(record.outcome, f"groups.selected.test.{BITS}")
        if bits:
            found[str(record.key[row]), str(record.key[column])][record.seed] = bits
    return found


def difference_cells(
    records: Sequence[Record], row: str = "model", column: str = "data"
) -> dict[Key, Cell]:
    """Return the differences of all pairs of rows as cells under (first - second, column)."""
    blocks = blocks_of(records, row, column)
    cells: dict[Key, Cell] = {}
    for first, data in blocks:
        for second, other in blocks:
            if first != second and data == other:
                found = paired(blocks[first, data], blocks[second, data])
                if found:
                    cells[f"{first} - {second}", data] = found
    return cells


def paired(
    first: Mapping[int, Mapping[str, float]], second: Mapping[int, Mapping[str, float]]
) -> Cell | None:
    """Return by how much the first differs from the second, by block and by seed."""
    seeds = sorted(set(first) & set(second))
    if not seeds:
        return None
    shared = [block for block in first[seeds[0]] if block in second[seeds[0]]]
    table = [[first[seed][block] - second[seed][block] for block in shared] for seed in seeds]
    by_block = mean_with_t([sum(values) / len(seeds) for values in zip(*table, strict=True)])
    by_seed = mean_with_t([sum(values) / len(values) for values in table])
    return Cell(None, len(seeds), {"by_block": by_block, "by_seed": by_seed})


def exceeds_by_at_most(
    table: Table, first: str, second: str, column: str, margin: float = 0.0
) -> Judgement:
    """Judge whether the first row needs at most so many bits, or perplexity, more than the second.

    Args:
        table: Of printed numbers, or ours with `difference_cells`.
        first: Its row.
        second: Its row.
        column: Both are there.
        margin: How much more is allowed.
    """
    if table.exact:
        return _printed(table, first, second, column, margin)
    entry = table.at(f"{first} - {second}", column)
    block, seed = entry["by_block"], entry["by_seed"]
    held = block.high <= margin and seed.high <= margin
    broken = block.low > margin and seed.low > margin
    return Judgement(decide(held, broken), (f"{entry.name}: {_text(block, seed)}",))


def is_below(table: Table, first: str, second: str, column: str) -> Judgement:
    """Judge whether the first row needs fewer bits, or less perplexity, than the second."""
    if table.exact:
        return _printed(table, first, second, column, -ROUNDING)
    return exceeds_by_at_most(table, first, second, column)


def _printed(table: Table, first: str, second: str, column: str, margin: float) -> Judgement:
    one, other = table.at(first, column), table.at(second, column)
    measure = "perplexity" if isnan(one[BITS].value) else BITS
    a, b = one[measure].value, other[measure].value
    evidence = f"{one.name}: {a:.4g} vs {other.name}: {b:.4g}"
    return Judgement(decide(a - b <= margin, a - b > margin), (evidence,))


def _text(block: Estimate, seed: Estimate) -> str:
    if isnan(block.value):
        return "no runs"
    seeds = f"[{seed.low:+.4f}, {seed.high:+.4f}]" if seed.has_interval else "unknown"
    return (
        f"{block.value:+.4f} bits per character, by blocks [{block.low:+.4f}, {block.high:+.4f}], "
        f"by seeds {seeds}"
    )
