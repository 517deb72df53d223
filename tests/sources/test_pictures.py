"""Pictures with their classes."""

import torch

from wug.sources.pictures import held_out, part_of, pictures


def test_validation_is_the_end_of_the_training_pictures():
    x, labels = pictures("drawn", "", "train")
    train, _ = part_of("drawn", "", "train")
    for split in ("validation", "ood_validation"):
        held, held_labels = part_of("drawn", "", split)
        assert len(held) == held_out(len(x)) and len(train) + len(held) == len(x)
        assert torch.equal(held, x[-len(held) :])
        assert torch.equal(held_labels, labels[-len(held) :])
    assert part_of("drawn", "", "test")[0] is pictures("drawn", "", "test")[0]
