"""Segments of text are contiguous, cover everything, and are a pure function of seed and step."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources.text import ByteText, Segments, cut, enwik8, open_text

pytestmark = pytest.mark.usefixtures("own_folders")

quick = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that together hold 0, 1, 2 ... 255, 0, 1 ..., in the order of their paths."""
    content = bytes(range(256)) * 4
    for name, part in {
        "a.txt": content[:100], "b/c.txt": content[100:101], "b/d.txt": b"", "e.txt": content[101:],
        ".hidden": b"no",
    }.items():  # fmt: skip
        (tmp_path / "text" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "text" / name).write_bytes(part)
    return tmp_path / "text"


def test_files_are_read_one_after_the_other(folder: Path) -> None:
    text = open_text(folder)
    whole = bytes(range(256)) * 4
    assert len(text) == len(whole)
    for start, stop in ((0, 1024), (0, 1), (99, 102), (100, 101), (101, 101), (1000, 2000)):
        assert bytes(text[start:stop]) == whole[start:stop]
    assert text.splits == {"train": (0, 921), "validation": (921, 972), "test": (972, 1024)}


@given(st.integers(0, 10_000), st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_splits_follow_each_other(num_bytes: int, shares: list[int]) -> None:
    ranges = list(cut(num_bytes, {str(i): share for i, share in enumerate(shares)}).values())
    assert ranges[0][0] == 0 and ranges[-1][1] == num_bytes
    assert all(a[1] == b[0] for a, b in zip(ranges, ranges[1:], strict=False))
    for (start, stop), share in zip(ranges, shares, strict=True):
        assert abs((stop - start) - num_bytes * share / sum(shares)) < 1


def test_bad_texts_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        open_text(tmp_path / "nowhere")
    with pytest.raises(UserError, match="a folder without files"):
        open_text(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"")
    with pytest.raises(UserError, match="nothing in"):
        open_text(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"abc")
    with pytest.raises(UserError, match="must lie within 0 to 3"):
        open_text(tmp_path, {"train": (0, 4)})
    (tmp_path / "a.txt.gz").write_bytes(b"abc")
    with pytest.raises(UserError, match="is packed"):
        open_text(tmp_path)


def test_bad_segments_are_sentences(folder: Path) -> None:
    text = open_text(folder)
    with pytest.raises(UserError, match="one of train, validation, test"):
        Segments(text=text, split="valid", rows=1, length=1)
    with pytest.raises(UserError, match="at least 2 tokens"):
        Segments(text=open_text(folder, {"x": (3, 4)}), split="x", rows=1, length=1)
    with pytest.raises(UserError, match="Take fewer rows"):
        Segments(text=text, split="test", rows=60, length=1).batch(0, 0)
    with pytest.raises(UserError, match="below 51"):
        Segments(text=text, split="test", rows=1, length=1).part(51)


sizes = st.tuples(st.integers(1, 7), st.integers(1, 40))


@quick
@given(sizes, st.integers(0, 2**40), st.integers(0, 500))
def test_a_row_goes_on_where_it_ended(
    folder: Path, sizes: tuple[int, int], seed: int, step: int
) -> None:
    rows, length = sizes
    segments = Segments(text=open_text(folder), split="train", rows=rows, length=length)
    before, now = segments.batch(seed, step), segments.batch(seed, step + 1)
    again = Segments(text=open_text(folder), split="train", rows=rows, length=length)
    for name, leaf in again.batch(seed, step).items():
        assert torch.equal(leaf, before[name]) and leaf.shape[0] == rows
    assert now["inputs"].shape == now["targets"].shape == now["mask"].shape == (rows, length)
    assert now["mask"].all()
    goes_on = ~now["starts"]
    assert torch.equal(before["targets"][goes_on, -1], now["inputs"][goes_on, 0])
    # The text is 0, 1, 2 ...: every target is its input and one, and only the first byte starts.
    assert torch.equal((now["inputs"] + 1) % 256, now["targets"])
    assert (now["inputs"][now["starts"], 0] == 0).all()
    assert segments.batch(seed, 0)["starts"].all()


@quick
@given(sizes, st.integers(0, 2**40), st.integers(0, 50))
def test_each_row_reads_everything_and_all_rows_share_the_work(
    folder: Path, sizes: tuple[int, int], seed: int, first: int
) -> None:
    rows, length = sizes
    # 90 segments whose first bytes say which they are.
    text = open_text(folder, {"x": (0, 255)})
    segments = Segments(text=text, split="x", rows=rows, length=length)
    if segments.num_segments < rows:
        return
    steps = range(first, first + segments.num_segments)
    seen = np.stack([segments.batch(seed, step)["inputs"][:, 0].numpy() for step in steps])
    whole = set(range(0, segments.num_segments * length, length))
    assert all(set(seen[:, row]) == whole for row in range(rows))
    # One round of all rows together: each segment once, but for rows of unequal share.
    round_of_all = -(-segments.num_segments // rows)
    assert set(seen[:round_of_all].ravel()) == whole


@quick
@given(sizes, st.sampled_from(["train", "validation", "test"]))
def test_an_evaluation_predicts_each_byte_once(
    folder: Path, sizes: tuple[int, int], split: str
) -> None:
    rows, length = sizes
    text = open_text(folder)
    segments = Segments(text=text, split=split, rows=rows, length=length)
    parts = [segments.part(index) for index in range(segments.num_parts)]
    assert parts[0]["starts"].all() and not any(part["starts"].any() for part in parts[1:])
    # Row by row, then part by part, this is the split in order.
    targets = torch.cat([part["targets"] for part in parts], dim=1)
    mask = torch.cat([part["mask"] for part in parts], dim=1)
    start, stop = text.splits[split]
    assert bytes(targets[mask].to(torch.uint8).numpy()) == bytes(text[start + 1 : stop])
    inputs = torch.cat([part["inputs"] for part in parts], dim=1)
    assert bytes(inputs[mask].to(torch.uint8).numpy()) == bytes(text[start : stop - 1])


def test_seeds_begin_elsewhere(folder: Path) -> None:
    segments = Segments(text=open_text(folder), split="train", rows=1, length=5)
    begins = {int(segments.batch(seed, 0)["inputs"][0, 0]) for seed in range(40)}
    assert len(begins) > 20


@pytest.mark.data
def test_enwik8(shared_data: Path) -> None:
    text = enwik8(shared_data)
    assert isinstance(text, ByteText) and isinstance(text.parts[0], np.memmap)
    assert {name: stop - start for name, (start, stop) in text.splits.items()} == {
        "train": 90_000_000, "validation": 5_000_000, "test": 5_000_000,
    }  # fmt: skip
    assert bytes(text[:10]) == b"<mediawiki"
    batch = Segments(text=text, split="test", rows=4, length=512).part(0)
    assert bytes(batch["inputs"][0].to(torch.uint8).numpy()) == bytes(text[95_000_000:95_000_512])
