"""Tables of numbers: separators, quotes, compression, missing cells, and files that don't serve."""

import gzip
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.estimators import number_tables
from wug.estimators.number_tables import NotNumbers, open_table, read_table, to_numbers


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".txt", ".csv.gz"])
def test_separators_are_found_and_gz_is_opened(tmp_path: Path, separator: str, suffix: str) -> None:
    text = separator.join("ab") + "\r\n" + separator.join(("1", "2.5")) + "\r\n"
    path = tmp_path / f"data{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
    table = read_table(path)
    assert {name: column.tolist() for name, column in table.numbers.items()} == {
        "a": [1.0],
        "b": [2.5],
    }


def test_a_tsv_may_have_commas_in_its_names(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.tsv", "a, in m\tb, in s\n1\t2\n"))
    assert list(table.numbers) == ["a, in m", "b, in s"]


def test_quotes_line_breaks_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = written(tmp_path / "data.csv", '\ufeff"a\nb","say ""c""",\n"1","2",3\n\n4,5,6\n')
    table = read_table(path)
    assert {name: column.tolist() for name, column in table.numbers.items()} == {
        "a b": [1, 4], 'say "c"': [2, 5], "column 3": [3, 6],
    }  # fmt: skip


def test_text_columns_are_named_with_their_first_text(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", "a,when\n1,2024-01-01\n2,2024-01-02\n"))
    assert table.text == {"when": "'2024-01-01' in row 1"}
    assert table.names == ["a", "when"]


def test_rows_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_tables, "ROWS_OF_A_BLOCK", 2)
    rows = ["1,1", "2,2", "3,3", "4,4", "5,oh"]
    table = read_table(written(tmp_path / "data.csv", "\n".join(["a,b", *rows])))
    assert table.numbers["a"].tolist() == [1, 2, 3, 4, 5]
    assert table.text == {"b": "'oh' in row 5"}
    rows[3] = "4"
    with pytest.raises(UserError, match="row 4 has 1 cells, but the table has 2 columns"):
        read_table(written(tmp_path / "data.csv", "\n".join(["a,b", *rows])))


def test_only_wanted_columns_are_converted(tmp_path: Path) -> None:
    path = written(tmp_path / "data.csv", "a,b,c\n1,x,3\n")
    assert read_table(path, ["c", "a"], others=False).names == ["c", "a"]
    with pytest.raises(UserError, match="did you mean distance"):
        read_table(written(tmp_path / "data.csv", "distance,time\n1,2\n"), ["distanse"])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"a,b\n", "has a line of names and no rows"),
        (b"a,b,a\n1,2,3\n", "more than one column is called a"),
        (b"1,2\n3,4\n", "must hold the names of the columns"),
        (b"a,b\n1\n", "row 1 has 1 cells"),
        (b"a,b\n1,2,3\n", "row 1 has 3 cells"),
        (b"a,\xe9\n1,2\n", "not text in UTF-8"),
    ],
)
def test_files_that_do_not_serve(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        read_table(path)


def test_files_that_are_not_there_or_not_whole(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_table(tmp_path / "data.csv")
    with pytest.raises(UserError, match="Is a directory"):
        read_table(tmp_path)
    path = tmp_path / "data.csv.gz"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(UserError, match=r"can't be read: Not a gzipped file"):
        read_table(path)
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-12])
    with pytest.raises(UserError, match="can't be read"):
        read_table(path)


def test_names_are_printable(tmp_path: Path) -> None:
    path = written(tmp_path / "data.csv", "\x1b[31mred,a\tb\n1,2\n")
    assert read_table(path).names == ["[31mred", "a b"]
    with open_table(path) as source:
        assert source.header == ["\x1b[31mred", "a\tb"]


@given(st.lists(st.floats(), min_size=1))
def test_numbers_survive(values: list[float]) -> None:
    np.testing.assert_array_equal(to_numbers([repr(value) for value in values]), values)


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "NaN", "null", "None", "?", "-", None])
def test_missing_cells_are_nan(cell: str | None) -> None:
    one, missing, two = to_numbers(["1", cell, "2"])
    assert (one, two) == (1, 2) and math.isnan(missing)


@pytest.mark.parametrize("cell", ["x", "1,5", "1 2", "0x1F", "true"])
def test_other_cells_are_text(cell: str) -> None:
    with pytest.raises(NotNumbers, match="in row 8"):
        to_numbers(["", cell], first_row=7)


def test_parquet_without_pyarrow_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"needs pyarrow: pip install 'wug\[parquet\]'"):
        read_table(tmp_path / "data.parquet")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    columns = {"a": [1, 2, None], "b": [0.5, float("inf"), 2.0], "c": ["x", None, "y"]}
    parquet.write_table(pyarrow.table(columns), path)
    table = read_table(path)
    np.testing.assert_array_equal(table.numbers["a"], [1, 2, math.nan])
    np.testing.assert_array_equal(table.numbers["b"], [0.5, math.inf, 2])
    assert table.text == {"c": "'x' in row 1"}
    path.write_bytes(b"no parquet")
    with pytest.raises(UserError, match="can't be read"):
        read_table(path)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_twenty_thousand_columns(tmp_path: Path, separator: str) -> None:
    names = [f"column{place}" for place in range(20_000)]
    path = written(
        tmp_path / "data.csv", f"{separator.join(names)}\n{separator.join('1' * 20_000)}\n"
    )
    assert read_table(path).names == names


def test_a_cell_may_not_be_endless(tmp_path: Path) -> None:
    for text in (f"a,b\n1,{'2' * 200_000}\n", f"a{'b' * 200_000}\n1\n", f'a,"{"b" * 200_000}\n'):
        with pytest.raises(UserError, match="can't be read: a cell has more than 131072 letters"):
            read_table(written(tmp_path / "data.csv", text))


@pytest.mark.parametrize("content", [b"a,b\n" + b"1,2\n" * 250_000, bytes(2_000_000), b"a" * 10**6])
def test_unpacking_stops_at_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(content))
    monkeypatch.setenv("WUG_UNPACK_GB", "0.0005")
    sentence = r"can't be read: it holds more than 0\.0005 GB unpacked; .* set WUG_UNPACK_GB"
    with pytest.raises(UserError, match=sentence):
        read_table(path)


def test_the_limit_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 250_000))
    monkeypatch.setenv("WUG_UNPACK_GB", "0.0011")
    assert len(read_table(path).numbers["a"]) == 250_000
    monkeypatch.setenv("WUG_UNPACK_GB", "lots")
    with pytest.raises(UserError, match="WUG_UNPACK_GB must be a number of gigabytes"):
        read_table(path)


def test_a_parquet_file_of_few_bytes_and_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"a": np.zeros(10**6)}), path)
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("WUG_UNPACK_GB", "0.007")
    with pytest.raises(UserError, match=r"more than 0\.007 GB unpacked"):
        read_table(path)


def test_quoted_decimal_commas(tmp_path: Path) -> None:
    text = 'a,b,c\n"3,05","1,234",1\n4,2,1\n"1,234",3,"12,5"\n'
    table = read_table(written(tmp_path / "data.csv", text))
    assert table.numbers["a"].tolist() == [3.05, 4, 1.234]
    assert table.numbers["c"].tolist() == [1, 1, 12.5]
    # 1,234 alone may be a thousand and more.
    assert table.text == {"b": "'1,234' in row 1"}
    table = read_table(written(tmp_path / "data.csv", "a;b\n1,234;1\n2,345;2\n"))
    assert table.numbers["a"].tolist() == [1.234, 2.345]


def test_decimal_commas_in_cells_of_text_of_a_sheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "b"], ["3,05", 1], ["4", 2.5]):
        book.active.append(row)
    book.save(tmp_path / "data.xlsx")
    table = read_table(tmp_path / "data.xlsx")
    assert table.numbers["a"].tolist() == [3.05, 4] and not table.text
