import pytest

from wug.study.claims import Cell, Table


def test_table_names_and_pools():
    table = Table({("nau", "add"): Cell(3, 5), ("nau", "sub"): Cell(4, 5)})
    assert str(table.at("nau", "add")) == "nau add: 3/5"
    assert str(table.at("nmu", "mul")) == "nmu mul: no runs"
    assert table.pooled("nau", [("nau", "add"), ("nau", "sub")]).cell == Cell(7, 10)
    assert table.pooled("nau", [("nau", "add"), ("nau", "mul")]).cell is None
    assert table.pooled("nothing", []).cell is None


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (-1, 5), (6, 5)])
def test_impossible_cell_is_refused(successes, trials):
    with pytest.raises(ValueError, match=f"got {successes} of {trials}"):
        Cell(successes, trials)
