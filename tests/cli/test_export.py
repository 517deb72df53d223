"""wug export: records and curves for other programs."""

import csv
from pathlib import Path

import pyarrow.parquet
import pytest

from wug.cli.export import to_parquet
from wug.cli.main import main
from wug.core.folders import results_folder
from wug.records import RunStore

RUN = "mistry2022.redundancy@shipped"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_records_as_csv_and_parquet_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", RUN, "records.csv"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{RUN}: our results") and "(675 rows, " in said
    rows = read(Path("records.csv"))
    assert len(rows) == 675
    assert {"unit", "operation", "range", "seed", "solved", "seconds"} <= rows[0].keys()
    assert main(["export", RUN, "records.parquet"]) == 0
    table = pyarrow.parquet.read_table("records.parquet")
    assert table.column_names == list(rows[0])
    assert table.column("seed").to_pylist() == [int(row["seed"]) for row in rows]
    assert [str(value) for value in table.column("solved").to_pylist()] == [
        row["solved"] for row in rows
    ]


def test_curves_have_a_line_for_each_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    folder = results_folder() / "csordas2023.ctl" / "laptop"
    assert main(["export", str(folder), "curves.csv", "--curves"]) == 0
    assert main(["export", str(folder), "curves.parquet", "--curves"]) == 0
    rows = read(Path("curves.csv"))
    assert {"model", "order", "seed", "step", "validation"} <= rows[0].keys()
    assert pyarrow.parquet.read_table("curves.parquet").num_rows == len(rows) > 100


def test_columns_of_several_types_are_texts() -> None:
    rows = [{"odd": 1, "whole": 1}, {"odd": "two", "late": 0.5, "whole": 2}]
    Path("odd.parquet").write_bytes(to_parquet(rows))
    table = pyarrow.parquet.read_table("odd.parquet").to_pydict()
    assert table == {"odd": ["1", "two"], "whole": [1, 2], "late": [None, 0.5]}


def test_what_can_not_be_written_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", RUN, "records.xls"]) == 2
    assert "must be one of .csv, .parquet" in capsys.readouterr().err
    RunStore.open("empty", "demo", {})
    assert main(["export", "empty", "a.csv"]) == 2
    assert "empty has no records" in capsys.readouterr().err
