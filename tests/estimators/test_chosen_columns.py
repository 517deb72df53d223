"""Which columns and rows are fitted, and the sentences about the others."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.estimators.chosen_columns import check_request, choose_columns, identifiers
from wug.estimators.number_tables import NumberTable


def table(text: dict[str, str] | None = None, **columns: Sequence[float]) -> NumberTable:
    return NumberTable({name: np.array(c, dtype=float) for name, c in columns.items()}, text or {})


def test_all_columns_of_numbers_but_the_target_are_inputs() -> None:
    chosen = choose_columns(table({"t": "'x' in row 1"}, y=[1, 2], a=[3, 4], b=[6, 5]), "y")
    assert chosen.names == ("a", "b")
    assert chosen.inputs.tolist() == [[3, 6], [4, 5]] and chosen.values.tolist() == [1, 2]
    assert chosen.notices[0] == "left out, not numbers: t ('x' in row 1)"


def test_text_is_an_error_where_it_was_asked_for() -> None:
    data = table({"t": "'x' in row 1"}, y=[1, 2], a=[3, 4])
    for target, features in (("y", ["a", "t"]), ("t", ["a"]), ("t", None)):
        with pytest.raises(UserError, match=r"there is text in t \('x' in row 1\)"):
            choose_columns(data, target, features)


def test_missing_and_infinite_cells_are_counted_or_dropped() -> None:
    data = table(y=[1, 2, 3, math.nan], a=[math.inf, 5, 6, 7], b=[1, 2, 3, 4], c=[math.nan] * 4)
    with pytest.raises(UserError, match=r"y \(1 missing\), a \(1 infinite\)\. --drop-missing"):
        choose_columns(data, "y")
    chosen = choose_columns(data, "y", drop_missing=True)
    assert chosen.values.tolist() == [2, 3] and chosen.names == ("a", "b")
    assert "left out, without a number: c" in chosen.notices
    assert "left out, 2 of 4 rows: cells of y (1 missing), a (1 infinite)" in chosen.notices
    with pytest.raises(UserError, match=r"c \(4 missing\)"):
        choose_columns(data, "y", ["b", "c"])


def test_constant_columns_are_left_out() -> None:
    data = table(y=[1, 1], a=[3, 4], b=[7, 7])
    chosen = choose_columns(data, "y", ["a", "b"])
    assert chosen.names == ("a",)
    assert "left out, the same in every row: b (7)" in chosen.notices
    assert "the target is the same in every row: y (1)" in chosen.notices
    with pytest.raises(UserError, match="no column is left to fit 'y' from"):
        choose_columns(data, "y", ["b"])
    with pytest.raises(UserError, match=r"no column is left to fit 'y' from\.$"):
        choose_columns(table(y=[1, 2]), "y")


def test_few_rows() -> None:
    with pytest.raises(UserError, match="at least 2 rows are needed; got 1"):
        choose_columns(table(y=[1], a=[2]), "y")
    few, none_held_out = choose_columns(table(y=[1, 2], a=[2, 3], b=[4, 3]), "y").notices
    assert few.startswith("2 rows for 2 inputs") and "too few to hold some out" in none_held_out
    many = table(y=range(20), a=range(20))
    assert choose_columns(many, "y").notices == ()


@pytest.mark.parametrize("extreme", [1e200, -1e101, 1e-200])
def test_numbers_whose_squares_are_no_floats(extreme: float) -> None:
    with pytest.raises(UserError, match="choose another unit for a"):
        choose_columns(table(y=[1, 0], a=[extreme, 4]), "y")
    with pytest.raises(UserError, match="choose another unit for y"):
        choose_columns(table(y=[extreme, 1], a=[0, 1]), "y")


def test_requests_that_contradict_themselves() -> None:
    with pytest.raises(UserError, match="'y' is the target and can't be a feature, too"):
        check_request("y", ["a", "y"])
    with pytest.raises(UserError, match="named twice: a"):
        check_request("y", ["a", "b", "a"])


@given(st.lists(st.text(max_size=8), unique=True, max_size=8))
def test_identifiers_are_different_and_can_be_read(names: list[str]) -> None:
    found = identifiers(names)
    assert len(set(found)) == len(names)
    for name in found:
        assert name.isidentifier() and "__" not in name
