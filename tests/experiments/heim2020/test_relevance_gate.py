"""The relevance gate: less of the grid is flat with it."""

from wug.experiments.heim2020.relevance_gate import flatness
from wug.tasks.extrapolation.chosen_input import ChosenInput
from wug.units.real_npu import RealNPU


def test_the_gate_leaves_less_flat():
    with_gate = flatness(RealNPU(2, 1), ChosenInput())["flat"]
    without = flatness(RealNPU(2, 1, relevance_gate=False), ChosenInput())["flat"]
    assert 0 <= with_gate < without <= 1
