"""The printed numbers, and how the relative tables (7 and 9) follow from the raw ones (6 and 8)."""

import pytest

from wug.experiments.trask2018 import identity, recurrent, static
from wug.study.experiment import RunOptions
from wug.study.published import read_published

OPERATIONS_7 = ("add", "sub", "mul", "div", "square", "sqrt")
MODELS_7 = (
    "relu6", "softsign", "tanh", "sigmoid", "selu", "elu", "relu", "crelu", "identity", "nac_add",
    "nalu",
)  # fmt: skip
INSIDE_7 = (
    (0.2, 0.3, 0.2, 0.1, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.5, 0.3, 0.1, 0.8, 0.2, 0.1, 0.0, 0.0, 0.0),
    (3.2, 8.6, 9.3, 5.2, 5.1, 2.5, 2.6, 15.5, 20.9, 21.4, 0.0),
    (4.2, 4.7, 4.4, 3.58, 10.4, 10.5, 10.5, 8.6, 35.0, 37.1, 5.3),
    (0.7, 1.0, 0.2, 0.0, 4.3, 0.1, 0.5, 0.1, 4.3, 22.4, 0.0),
    (0.5, 0.7, 31.6, 24.2, 0.3, 0.4, 1.8, 0.2, 2.2, 3.6, 0.0),
)
OUTSIDE_7 = (
    (42.6, 39.5, 43.3, 42.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (29.0, 23.1, 27.3, 22.8, 13.3, 8.2, 14.5, 0.0, 0.0, 0.0, 0.0),
    (10.1, 27.4, 26.6, 16.7, 10.4, 5.1, 5.0, 5.4, 29.5, 33.3, 0.0),
    (37.2, 32.6, 35.3, 32.1, 17.4, 17.5, 17.5, 16.2, 52.3, 61.3, 0.7),
    (47.0, 41.5, 46.4, 45.8, 26.5, 8.7, 12.2, 8.7, 25.1, 53.3, 0.0),
    (10.3, 7.7, 11.2, 8.5, 1.7, 2.4, 12.1, 1.5, 20.0, 16.4, 0.0),
)
OPERATIONS_9 = ("first", "add", "sub", "mul", "div", "square", "sqrt")
OUTSIDE_9 = {
    "lstm": (100.0, 96.1, 97.0, 98.2, 95.6, 98.0, 95.8),
    "gru": (100.0, 96.2, 95.6, 99.0, 94.7, 99.2, 95.4),
    "tanh": (100.0, 96.2, 96.2, 98.0, 96.3, 97.8, 95.4),
    "relu": (98.6, 85.5, 70.9, 97.9, 862.5, 98.0, 34.1),
    "nac_add": (0.0, 0.0, 0.0, 88.4, None, 123.7, None),
    "nalu": (0.0, 0.0, 0.0, 0.0, None, 0.0, 0.0),
}
# Most of the percentages are cut off, not rounded.
DIGIT = 0.1
CONTRADICTIONS_7 = {("tanh", "sqrt"), ("sigmoid", "sqrt")}
CONTRADICTIONS_9 = {("tanh", "first"), ("nalu", "square"), ("nalu", "sqrt")}


def published_cells(module):
    """Return the cells of a table's CSV."""
    trials = 100 if module is identity else 1
    return read_published(module.__name__, ("model", "operation"), trials=trials)


def relative(table, model, operation, measure):
    value = table.at(model, operation)[measure].value
    return 100 * value / table.at("random", operation)[measure].value


def disagreements(table, printed, measure):
    return {
        key
        for key, per_cent in printed.items()
        if abs(relative(table, *key, measure) - per_cent) >= DIGIT
    }


@pytest.mark.parametrize(
    ("rows", "measure", "contradictions"),
    [(INSIDE_7, "iid_error", CONTRADICTIONS_7), (OUTSIDE_7, "error", set())],
    ids=["inside", "outside"],
)
def test_table_7_follows_from_table_6(rows, measure, contradictions):
    printed = {
        (model, operation): per_cent
        for operation, row in zip(OPERATIONS_7, rows, strict=True)
        for model, per_cent in zip(MODELS_7, row, strict=True)
    }
    assert (
        disagreements(static.static(RunOptions()).published_table, printed, measure)
        == contradictions
    )


def test_table_9_follows_from_table_8():
    table = recurrent.recurrent(RunOptions()).published_table
    printed = {
        (model, operation): per_cent
        for model, row in OUTSIDE_9.items()
        for operation, per_cent in zip(OPERATIONS_9, row, strict=True)
        if per_cent is not None
    }
    assert disagreements(table, printed, "error") == CONTRADICTIONS_9
    # Printed as >999.9; table 8 itself has only a bound for NALU's division.
    assert relative(table, "nac_add", "div", "error") > 999.9
    assert relative(table, "nac_add", "sqrt", "error") > 999.9
    # All but NAC's are printed as 0.0.
    assert relative(table, "tanh", "square", "iid_error") == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize(
    ("module", "count"), [(identity, 15), (static, 84), (recurrent, 49)], ids=lambda part: str(part)
)
def test_every_cell_is_there_once(module, count):
    cells = published_cells(module)
    operations = [module.OPERATION] if module is identity else list(module.OPERATIONS)
    keys = [(model, operation) for model in module.MODELS for operation in operations]
    assert [cell.key for cell in cells] == keys and len(keys) == count
    assert all("error" in cell.printed and "success" not in cell.printed for cell in cells)
    assert all(("iid_error" not in cell.printed) == (module is identity) for cell in cells)


def test_bounds_are_marked():
    marked = {
        (module.__name__.split(".")[-1], *cell.key)
        for module in (identity, static, recurrent)
        for cell in published_cells(module)
        if "than this" in cell.source
    }
    assert ("identity", "identity", "identity") in marked
    assert ("recurrent", "nalu", "div") in marked
    # Tables 5, 6, 12 and 8.
    assert len(marked) == 1 + 7 + 6 + 4


def test_table_5_in_per_cent():
    percentages = (99.1, 98.9, 98.8, 98.7, 98.6, 86.6, 73.1, 28.4, 23.8, 16.7, 15.4, 11.4, 7.5, 2.9)
    for cell, per_cent in zip(published_cells(identity), percentages, strict=False):
        agrees = abs(cell.printed["error"].value / 5 - per_cent) <= 0.05 + 1e-9
        assert agrees == (cell.labels["model"] != "elu")
