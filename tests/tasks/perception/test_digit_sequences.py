"""Sequences of digits."""

import pytest
import torch

from wug.core.errors import UserError
from wug.sources.pictures import part_of
from wug.tasks.perception.digit_sequences import DigitSequences, is_right, running


@pytest.mark.parametrize("operation", ["sum", "product", "count", "parity"])
def test_running_values_one_by_one(operation):
    digits = torch.tensor([3, 0, 3, 9])
    values = running(operation, digits)
    for end in range(1, 5):
        seen = digits[:end].tolist()
        expected = {
            "sum": [sum(seen)],
            "product": [torch.tensor(seen).prod().item()],
            "count": [seen.count(digit) for digit in range(10)],
            "parity": [sum(seen) % 2],
        }[operation]
        assert values[end - 1].tolist() == expected


def by_picture(task, split):
    """Return what is on each picture."""
    x, labels = part_of(task.data, "", split)
    return {tuple(picture.tolist()): int(label) for picture, label in zip(x, labels, strict=True)}


def test_batches_are_sequences_of_the_pictures():
    task = DigitSequences(operation="product", train_length=2, evaluation_size=100)
    source, known = task.source(8), by_picture(task, "train")
    batch = source.draw({}, (3,), 0, 0)
    for pictures, values in zip(batch["x"], batch["y"], strict=True):
        first, second = (known[tuple(picture.tolist())] for picture in pictures)
        assert values.flatten().tolist() == [first, first * second] and first * second > 0


def test_a_seed_keeps_its_sequences_and_changes_their_order():
    task = DigitSequences(train_length=10)
    source = task.source(16)

    def epoch(seed, number):
        steps = 1600 // 10 // 16
        batches = [source.draw({}, (seed,), number * steps + s, 0)["x"] for s in range(steps)]
        return {tuple(sequence[:, :3].flatten().tolist()) for x in batches for sequence in x}

    assert epoch(0, 0) == epoch(0, 1) != epoch(1, 0)
    first, again = (source.draw({}, (0,), step, 0)["x"] for step in (0, 10))
    assert not torch.equal(first, again)
    assert torch.equal(task.source(16).draw({}, (0,), 10, 0)["x"], again)


def test_lengths_of_a_test_are_groups():
    task = DigitSequences(test_lengths=(1, 3, 1200), evaluation_size=500)
    source = task.source(8)
    assert source.groups("test") == ("1", "3", "1200") and source.groups("validation") == ("10",)
    seen = {}
    for index in range(source.num_parts("test")):
        batch = source.part("test", index)
        assert len(batch["group"].unique()) == 1
        seen.setdefault(int(batch["group"][0]), []).append(batch["x"].shape[:2])
    assert seen == {0: [(500, 1)], 1: [(166, 3)], 2: [(1, 1200)]}


def test_losses_and_errors():
    target = torch.tensor([[[1.0], [4.0]], [[2.0], [2.0]]])
    prediction = target + torch.tensor([[[1.0], [0.4]], [[0.0], [2.0]]])
    assert DigitSequences().loss(prediction, target).item() == pytest.approx(5.16 / 4)
    last = DigitSequences(judged="last")
    assert last.loss(prediction, target).item() == pytest.approx(4.16 / 2)
    assert last.error(prediction, target).item() == pytest.approx(4.16 / 2)
    assert is_right(prediction, target).item() == 0.5


def test_mnist_if_it_is_here():
    task = DigitSequences(data="mnist", operation="product", train_length=2)
    try:
        places = task.places("train")
    except UserError as error:
        pytest.skip(str(error))
    labels = part_of("mnist", "", "train")[1]
    assert len(labels) == 55_000 and len(places) == int((labels > 0).sum())


def test_missing_files_are_named_in_one_sentence(tmp_path, monkeypatch):
    from wug.sources import files, pictures

    pictures.pictures.cache_clear()
    monkeypatch.setattr(files, "search_folders", lambda folder=None: [tmp_path])
    with pytest.raises(UserError, match=r"mnist/train-images-idx3-ubyte is missing: .*\.$"):
        DigitSequences(data="mnist").source(8).draw({}, (0,), 0, 0)
    pictures.pictures.cache_clear()


def test_bad_options():
    for options in ({"operation": "no"}, {"data": "no"}, {"test_lengths": ()}, {"ood_length": 0}):
        with pytest.raises(UserError):
            DigitSequences(**options)
