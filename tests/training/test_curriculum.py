"""When a training goes on to harder problems."""

import pytest

from wug.core.errors import UserError
from wug.sources.sequences import SequenceSet
from wug.training.curriculum import Curriculum
from wug.training.sequence_plan import SequencePlan

LEVELS = [1, 2, 3, 4, 5]
EXAMPLES = SequenceSet.from_lists([[0]] * 5, labels=[0] * 5, levels=LEVELS)
RIGHT, WRONG = {0: (0, 10), 1: (1, 10)}, {0: (0, 10), 1: (2, 10)}


def make(examples=EXAMPLES, **plan):
    return Curriculum(examples, SequencePlan(**{"steps": 60, "mastery": 0.9} | plan))


def test_begins_with_two_levels_and_adds_one_at_a_time():
    reached = [make().reached(EXAMPLES, added).levels.tolist() for added in range(5)]
    assert reached == [[1, 2], [1, 2, 3], [1, 2, 3, 4], LEVELS, LEVELS]
    assert make().graded(EXAMPLES).levels.tolist() == [0, 1, 2, 3, 4]


def test_lengths_are_graded_by_how_many_problems_have_them():
    # 24 problems of lengths 1, 1, 2, 2, 3, 3 and so on to 10, and four more of length 10.
    lists = [[0] * min(1 + i // 2, 10) for i in range(24)]
    examples = SequenceSet.from_lists(lists, labels=[0] * 24, levels=[1] * 24)
    curriculum = make(examples, grading="length")
    assert curriculum.edges.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert curriculum.reached(examples, 0).lengths.tolist() == [1, 1, 2, 2]
    assert curriculum.reached(examples, 1).lengths.tolist() == [1, 1, 2, 2, 3, 3]
    assert len(curriculum.reached(examples, 8)) == 24 and not curriculum.num_more(8)
    # Other sets have the grades of the training set; what is longer is never reached.
    other = SequenceSet.from_lists([[0] * 2, [0] * 20], labels=[0, 0], levels=[1, 1])
    assert curriculum.graded(curriculum.reached(other, 99)).levels.tolist() == [1]


def test_few_problems_and_few_grades():
    examples = SequenceSet.from_lists([[0], [0, 1]], labels=[0, 1], levels=[1, 2])
    for grading in ("level", "length"):
        curriculum = make(examples, grading=grading)
        assert not curriculum.num_more(0) and len(curriculum.reached(examples, 0)) == 2


@pytest.mark.parametrize(
    ("errors", "expected"),
    # What IID validation does not have is not mastered.
    [(RIGHT, True), (WRONG, False), ({0: (2, 10), 1: (0, 10)}, False), ({}, False)],
)
def test_every_grade_so_far_is_to_be_mastered(errors, expected):
    assert make().goes_on(0, 0, errors) is expected


def test_comes_to_an_end():
    assert make().goes_on(2, 0, RIGHT) and not make().goes_on(3, 60, RIGHT)


@pytest.mark.parametrize(
    ("plan", "all_latest"),
    [
        ({}, [10, 20, 30]),
        ({"steps": 9, "seconds": 60.0}, [10, 20, 30]),
        ({"complete_by": 0.25}, [5, 10, 15]),
    ],
)
def test_goes_on_at_the_latest_by_equal_parts(plan, all_latest):
    curriculum = make(**plan)
    for added, latest in enumerate(all_latest):
        assert not curriculum.goes_on(added, latest - 0.1, WRONG)
        assert curriculum.goes_on(added, latest, WRONG)


def test_has_everything_without_a_mastery():
    curriculum = make(mastery=None)
    assert curriculum.reached(EXAMPLES, 0).levels.tolist() == LEVELS
    assert not curriculum.goes_on(0, 60, RIGHT)


def test_configurations_name_a_curriculum_if_there_is_one():
    assert "mastery" not in SequencePlan(steps=1).config
    assert SequencePlan(steps=1, mastery=0.9).config["mastery"] == 0.9
    graded = SequencePlan(steps=1, mastery=0.9, grading="length").config
    assert graded["grading"] == "length" and graded["learning_rate"] == "Constant(value=0.001)"


def test_unknown_grading():
    with pytest.raises(UserError, match="grading must be one of level, length; got 'depth'"):
        make(grading="depth")
