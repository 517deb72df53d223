"""Batches of sequences: training, evaluation, stages."""

import pytest
import torch

from wug.sources.finite import EVALUATION_SIZE, FiniteSource, widths_below
from wug.sources.samplers import Bucketed, Curriculum
from wug.sources.sequence_set import SequenceSet


class Lists:
    """Sequences of lengths 1 to 5, forty of each; IID validation has half as many."""

    def examples(self, split):
        levels = [1 + i % 5 for i in range(200 if split == "train" else 100)]
        lists = [[level] * level for level in levels]
        return SequenceSet.from_lists(lists, labels=levels, levels=levels)


def make(**options):
    return FiniteSource(Lists(), options.pop("batch_size", 10), Bucketed(), **options)


def test_batches_are_no_wider_than_needed():
    for step in range(20):
        batch = make().draw({}, (0,), step, 0)
        assert batch["tokens"].shape == (10, batch["lengths"].max())
        assert batch["tokens"].dtype == torch.int64


def test_few_shapes_pad_to_widths():
    source = make(few_shapes=True)
    widths = widths_below(5)
    assert source.num_shapes() == len(widths)
    for step in range(20):
        batch = source.draw({}, (0,), step, 0)
        assert batch["tokens"].shape[1] in widths
        assert batch["tokens"].shape[1] >= batch["lengths"].max()


@pytest.mark.parametrize("split", ["validation", "ood_validation", "test"])
def test_parts_hold_every_example_once_with_its_level(split):
    source = make()
    parts = [source.part(split, index) for index in range(source.num_parts(split))]
    assert max(len(part["labels"]) for part in parts) <= EVALUATION_SIZE
    groups = torch.cat([part["group"] for part in parts])
    labels = torch.cat([part["labels"] for part in parts])
    assert source.groups(split) == ("1", "2", "3", "4", "5")
    assert labels.tolist() == [int(source.groups(split)[group]) for group in groups]
    assert len(labels) == 100


def test_a_curriculum_begins_with_two_grades_and_examines_what_is_there():
    source = make(curriculum=Curriculum(mastery=0.9))
    for stage, highest in ((0, 2), (1, 3), (3, 5), (9, 5)):
        batches = [source.draw({}, (0,), step, stage) for step in range(50)]
        assert max(int(batch["labels"].max()) for batch in batches) == highest
    assert [source.exam(stage) for stage in (0, 2, 3)] == ["exam 0", "exam 2", None]
    exam = source.part("exam 1", 0)
    assert sorted(set(exam["labels"].tolist())) == [1, 2, 3]
    assert sorted(set(exam["group"].tolist())) == [0, 1, 2]
    assert source.next_stage(0, 0.0, {"0": 0.0, "1": 0.0}) == 1


def test_without_a_curriculum_everything_is_there():
    source = make()
    assert source.exam(0) is None and source.next_stage(0, 1.0, {}) == 0
    assert max(int(source.draw({}, (0,), s, 0)["labels"].max()) for s in range(20)) == 5


def test_widths_are_few_and_wide_enough():
    assert widths_below(6) == [1, 2, 3, 4, 5, 6]
    widths = widths_below(1_000)
    assert widths[-1] == 1_000 and len(widths) < 30
