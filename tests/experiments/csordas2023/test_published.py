"""The printed numbers: all cells, and that tables which repeat each other agree."""

import pytest

from wug.experiments.csordas2023.ctl import published as ctl
from wug.experiments.csordas2023.ctl_act import published as ctl_act
from wug.experiments.csordas2023.ctl_depth import published as ctl_depth
from wug.experiments.csordas2023.ctlpp_ar import published as ctlpp_ar
from wug.experiments.csordas2023.listops import published as listops
from wug.experiments.csordas2023.simple_arithmetic import published as simple_arithmetic

COUNTS = {ctl: 24, ctl_act: 36, ctl_depth: 12, ctlpp_ar: 6, listops: 6, simple_arithmetic: 12}
ORDERS = ("forward", "backward")


@pytest.mark.parametrize("module", COUNTS, ids=lambda module: module.__name__.split(".")[-2])
def test_every_cell_is_there_once(module):
    cells = module.published_cells()
    assert len({cell.key for cell in cells}) == len(cells) == COUNTS[module]
    for cell in cells:
        accuracy = cell.printed["accuracy"]
        assert 0 <= accuracy.value <= 1
        assert cell.printed["error"].value == pytest.approx(1 - accuracy.value)
        # A standard deviation is no interval.
        assert not accuracy.estimate.has_interval and "±" in cell.source
        assert cell.trials == module.PUBLISHED_TRIALS


def test_table_d2_repeats_table_5_1():
    first, second = ctl.load_published(), ctl_act.load_published()
    for model in ("transformer", "relative", "geometric", "relative_gate", "ndr"):
        for order in ORDERS:
            ours, theirs = first.at(model, order), second.at(model, order, "early")
            assert all(ours[name] == theirs[name] for name in ("error", "iid_error"))


def test_table_5_2_ends_with_the_network_of_table_5_1():
    for order in ORDERS:
        deepest = ctl_depth.load_published().at("14", order)
        assert deepest["error"] == ctl.load_published().at("ndr", order)["error"]


def test_accuracies_in_distribution_stand_once_in_a_row():
    for module in (ctl_act, simple_arithmetic):
        ends = [cell.key for cell in module.published_cells() if cell.key[-1] == "end"]
        for cell in module.published_cells():
            last = cell.key in ends or (*cell.key[:-1], "end") not in ends
            assert ("iid_accuracy" in cell.printed) == last


def test_shares_of_seeds_are_those_of_section_6_3_1():
    table = ctlpp_ar.load_published()
    assert table.at("ndr", "R").rate.value == 0.32
    assert table.at("relative", "R").rate.value == 0.2
    assert table.at("ndr", "A").rate.value == table.at("relative", "A").rate.value == 0
