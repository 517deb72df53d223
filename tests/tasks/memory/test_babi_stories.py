import gzip

import torch

from wug.tasks.memory._babi_stories import (
    NUM_TASKS,
    SOLVED,
    error_counts,
    error_rates,
    read_lines,
    split_words,
    tell,
)

TEXT = "1 Al went home.\n2 Where is Al?\thome\t1\n1 Bo is here.\n"
STORIES = [("Al went home.", "Where is Al?\thome\t1"), ("Bo is here.",)]


def test_files_are_cut_into_stories(tmp_path):
    plain, packed = tmp_path / "qa1.txt", tmp_path / "qa1.txt.gz"
    plain.write_text(TEXT, encoding="utf-8")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert list(read_lines(plain)) == list(read_lines(packed)) == STORIES


def test_thinking_steps():
    story = tell(1, ["Where is Al?\tn,s\t1"], thinking_steps=0)
    assert story.words == ("where", "is", "al", "?", "-", "-") and story.answers == {4: "n", 5: "s"}
    assert split_words("A, b.") == ["a", ",", "b", "."]


def test_errors_are_counted_in_answer_words():
    targets = torch.tensor([[0, 3, 4, 5], [6, 0, 0, 0]])
    asked, tasks = targets > 0, torch.tensor([2, 20])
    predictions = torch.tensor([[9, 3, 9, 5], [6, 9, 9, 9]])
    counts = error_counts(predictions, targets, asked, tasks)
    assert counts.shape == (NUM_TASKS, 2)
    assert error_rates(counts) == {2: 1 / 3, 20: 0.0}
    assert error_rates(counts)[20] < SOLVED < error_rates(counts)[2]
    assert error_rates(2 * counts) == error_rates(counts)  # counts of parts add up
