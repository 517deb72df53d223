"""The printed numbers: all cells, and that tables which repeat each other agree."""

import pytest

from wug.experiments.csordas2023 import (
    ctl,
    ctl_act,
    ctl_depth,
    ctlpp_ar,
    listops,
    simple_arithmetic,
)
from wug.study.experiment import RunOptions
from wug.study.published import read_published

COUNTS = {ctl: 24, ctl_act: 36, ctl_depth: 12, ctlpp_ar: 6, listops: 6, simple_arithmetic: 12}
ORDERS = ("forward", "backward")


def experiment(module):
    """Return the experiment of a table."""
    return getattr(module, module.__name__.split(".")[-1])(RunOptions())


def published_table(module):
    """Return the published numbers as claims see them."""
    return experiment(module).published_table


def published_cells(module):
    """Return the cells of a table's CSV."""
    layout = experiment(module).layout
    return read_published(module.__name__, (*layout.rows, layout.column), trials=1)


@pytest.mark.parametrize("module", COUNTS, ids=lambda module: module.__name__.split(".")[-1])
def test_every_cell_is_there_once(module):
    cells = published_cells(module)
    assert len({cell.key for cell in cells}) == len(cells) == COUNTS[module]
    for cell in cells:
        accuracy = cell.printed["accuracy"]
        assert 0 <= accuracy.value <= 1
        assert cell.printed["error"].value == pytest.approx(1 - accuracy.value)
        # A standard deviation is no interval.
        assert not accuracy.estimate.has_interval and "±" in cell.source
    trials = {cell.trials for cell in published_table(module).cells.values()}
    assert trials == {25 if module is ctlpp_ar else 5}


def test_table_d2_repeats_table_5_1():
    first, second = published_table(ctl), published_table(ctl_act)
    for model in ("transformer", "relative", "geometric", "relative_gate", "ndr"):
        for order in ORDERS:
            ours, theirs = first.at(model, order), second.at(model, order, "early")
            assert all(ours[name] == theirs[name] for name in ("error", "iid_error"))


def test_table_5_2_ends_with_the_network_of_table_5_1():
    for order in ORDERS:
        deepest = published_table(ctl_depth).at("14", order)
        assert deepest["error"] == published_table(ctl).at("ndr", order)["error"]


def test_accuracies_in_distribution_stand_once_in_a_row():
    for module in (ctl_act, simple_arithmetic):
        ends = [cell.key for cell in published_cells(module) if cell.key[-1] == "end"]
        for cell in published_cells(module):
            last = cell.key in ends or (*cell.key[:-1], "end") not in ends
            assert ("iid_accuracy" in cell.printed) == last


def test_shares_of_seeds_are_those_of_section_6_3_1():
    table = published_table(ctlpp_ar)
    assert table.at("ndr", "R").rate.value == 0.32
    assert table.at("relative", "R").rate.value == 0.2
    assert table.at("ndr", "A").rate.value == table.at("relative", "A").rate.value == 0
