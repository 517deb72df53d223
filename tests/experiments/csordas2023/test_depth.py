import pytest

from wug.core.errors import UserError
from wug.experiments.csordas2023.depth import num_layers


def test_the_rule_of_appendix_d_3_1():
    assert num_layers(10) == 12
    assert num_layers(10, extra=4) == 14
    assert num_layers(5, steps_per_operation=2, extra=0) == 10


@pytest.mark.parametrize(
    "numbers",
    [{"deepest_path": 0}, {"steps_per_operation": 0}, {"extra": -1}],
    ids=lambda numbers: next(iter(numbers)),
)
def test_refuses_numbers_that_are_too_small(numbers):
    with pytest.raises(UserError, match=next(iter(numbers))):
        num_layers(**{"deepest_path": 3, **numbers})
