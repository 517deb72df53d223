"""When a training goes on to the next level."""

import pytest

from wug.core.sequences import SequenceSet
from wug.fleet.curriculum import Curriculum
from wug.fleet.sequence_plan import SequencePlan

LEVELS = [1, 2, 3, 4, 5]
EXAMPLES = SequenceSet.from_lists([[0]] * 5, labels=[0] * 5, levels=LEVELS)
RIGHT = {level: (0, 10) for level in LEVELS}
WRONG = {level: (9, 10) for level in LEVELS}


def make(**plan):
    return Curriculum(EXAMPLES, SequencePlan(**{"steps": 60, "mastery": 0.9} | plan))


def test_begins_with_two_levels_and_adds_one_at_a_time():
    reached = [make().reached(added).levels.tolist() for added in range(5)]
    assert reached == [[1, 2], [1, 2, 3], [1, 2, 3, 4], LEVELS, LEVELS]


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({1: (1, 10), 2: (1, 10), 3: (9, 10)}, True),
        ({1: (2, 10), 2: (0, 10), 3: (0, 10)}, False),
        ({1: (0, 10), 2: (2, 10), 3: (0, 10)}, False),
        # What IID validation does not have is not mastered.
        ({3: (0, 10)}, False),
        ({}, False),
    ],
)
def test_every_level_so_far_is_to_be_mastered(errors, expected):
    assert make().goes_on(0, 0, errors) is expected


def test_comes_to_an_end():
    assert make().goes_on(2, 0, RIGHT) and not make().goes_on(3, 60, RIGHT)


@pytest.mark.parametrize("plan", [{}, {"steps": 9, "seconds": 60.0}])
def test_goes_on_at_the_latest_by_equal_parts_of_the_first_half(plan):
    curriculum = make(**plan)
    for added, latest in enumerate([10, 20, 30]):
        assert not curriculum.goes_on(added, latest - 0.1, WRONG)
        assert curriculum.goes_on(added, latest, WRONG)


def test_has_all_levels_without_a_mastery():
    curriculum = make(mastery=None)
    assert curriculum.reached(0) is EXAMPLES and not curriculum.goes_on(0, 60, RIGHT)
