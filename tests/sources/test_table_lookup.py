import numpy as np
import pytest

from wug.core.errors import UserError
from wug.sources.table_lookup import (
    bijections,
    chain,
    look_up,
    read_problem,
    require_tables,
    write_problems,
)

TABLES = np.array([[1, 2, 0], [0, 2, 1]])


def test_bijections():
    tables = bijections(24, 4, np.random.default_rng(0))
    assert {tuple(sorted(row)) for row in tables.tolist()} == {(0, 1, 2, 3)}
    assert len({tuple(row) for row in tables.tolist()}) == 24
    assert np.array_equal(tables, bijections(24, 4, np.random.default_rng(0)))


def test_looked_up_by_hand():
    # 0 -> 1 -> 2 -> 0 is function 0; function 1 swaps 1 and 2.
    problems = np.array([[0, 0, 1], [1, 1, 0], [2, 0, 0]])
    assert look_up(TABLES, problems).tolist() == [2, 0, 1]


@pytest.mark.parametrize("symbol_first", [True, False])
def test_written_and_read(symbol_first):
    parts = [np.array([[2, 1]]), np.zeros((0, 3), dtype=np.int64), np.array([[0, 0, 1, 1]] * 2)]
    written = write_problems(TABLES, [*parts, parts[0]], symbol_first=symbol_first)
    long, short = [0, 3, 4, 4], [2, 4]
    if not symbol_first:
        long, short = long[::-1], short[::-1]
    assert written.tokens.tolist() == [[*short, 0, 0], long, long, [*short, 0, 0]]
    assert written.lengths.tolist() == [2, 4, 4, 2]
    assert written.levels.tolist() == [1, 3, 3, 1]
    assert written.labels.tolist() == [1, 1, 1, 1]
    read = read_problem("Test", TABLES, long, symbol_first=symbol_first)
    assert read.tolist() == [[0, 0, 1, 1]]


def test_chain_of_a_symbol():
    assert chain(1, symbol_first=True) == chain(1, symbol_first=False) == [()]


@pytest.mark.parametrize("tokens", [[], [0], [3], [0, 3], [4, 3], [3, 0, 1], [5, 0], [3, 4, 0, 0]])
def test_what_is_no_problem(tokens):
    with pytest.raises(UserError, match="Test: a problem is .* which stands last"):
        read_problem("Test", TABLES, tokens, symbol_first=False)
    with pytest.raises(UserError, match="which stands first"):
        read_problem("Test", TABLES, tokens[::-1], symbol_first=True)


def test_bad_input():
    require_tables("Test", 52, 5)
    with pytest.raises(UserError, match="Test: num_functions must be at most 6, of 3 symbols; got"):
        require_tables("Test", 7, 3)
    with pytest.raises(UserError, match="num_functions must be at most 52"):
        require_tables("Test", 53, 8)
    with pytest.raises(UserError, match="num_functions must be at least 1; got 0"):
        require_tables("Test", 0, 8)
    with pytest.raises(UserError, match="num_symbols must be at least 2; got 1"):
        require_tables("Test", 1, 1)
    with pytest.raises(UserError, match="num_symbols must be at most 204; got 205"):
        require_tables("Test", 9, 205)
