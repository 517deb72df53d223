from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.memory._babi_stories import read_lines
from wug.tasks.memory.babi import NUM_STORIES, Babi

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "babi"
needs_files = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the bAbI files are not beside the project"
)

TRAIN = """1 Mary went to the office.
2 Where is Mary? \toffice\t1
3 Mary got the milk, gladly.
4 What is Mary carrying? \tmilk,apple\t3
1 John went home.
2 Where is John?\thome\t1
1 Al is here.
2 Where is Al?\there\t1
"""
TEST = """1 Mary went home.
2 Where is Mary?\thome\t1
1 Al went home.
2 Where is Al?\there\t1
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "en-10k").mkdir()
    for part, text in (("train", TRAIN), ("test", TEST)):
        path = tmp_path / "en-10k" / f"qa1_single-supporting-fact_{part}.txt"
        path.write_text(text, encoding="utf-8")
    return tmp_path


def make(folder, **options):
    return Babi(folder=folder, tasks=(1,), **({"validation_share": 0} | options))


def test_a_story_goes_word_by_word(folder):
    task = make(folder)
    story = task.stories("train")[0]
    expected = (
        "mary went to the office . where is mary ? - - - - "
        "mary got the milk , gladly . what is mary carrying ? - - - - -"
    )
    assert " ".join(story.words) == expected
    assert story.answers == {13: "office", 29: "milk", 30: "apple"}
    batch = task.encode([story, task.stories("train")[1]])
    vocabulary = task.vocabulary
    assert vocabulary[:3] == ("-", "?", "<unknown>") and len(set(vocabulary)) == len(vocabulary)
    assert [vocabulary[token] for token in batch.inputs[0]] == expected.split()
    assert batch.asked[0].nonzero().flatten().tolist() == [13, 29, 30]
    assert [vocabulary[token] for token in batch.targets[batch.asked]] == [
        "office", "milk", "apple", "home",
    ]  # fmt: skip
    assert not batch.inputs[1, 8:].any() and batch.level.tolist() == [1, 1]


def test_the_last_story_is_kept_and_dropped_as_published(folder):
    assert len(make(folder).stories("train")) == 3 and len(make(folder).stories("test")) == 2
    published = make(folder, version="as_published")
    assert len(published.stories("train")) == 2 and len(published.stories("test")) == 1


def test_what_is_missing_is_said(folder):
    assert make(folder).gaps() == ("task 1: 3 of 2,000 training stories",)
    short = make(folder, longest=12)  # john went home . where is john ? - - - -
    assert short.gaps()[1:] == ("task 1: 1 of 3 train stories have more than 12 steps",)
    assert len(short.stories("train")) == 2


def test_partial_files_are_joined_and_counted_once(folder):
    path = folder / "en-10k" / "qa1_single-supporting-fact_train.txt"
    (folder / "qa1-partial").mkdir()
    for name in ("one", "two"):
        (folder / "qa1-partial" / f"{name}.txt").write_text(path.read_text(), encoding="utf-8")
    path.unlink()
    assert len(make(folder).stories("train")) == 3


def test_validation_is_taken_from_training(folder):
    task = make(folder, validation_share=0.34)
    parts = [[story.words for story in task.stories(split)] for split in ("train", "validation")]
    assert [len(part) for part in parts] == [2, 1] and not set(parts[0]) & set(parts[1])


def test_most_frequent_answers(folder):
    # here, home, milk, apple and office once each: the first of the alphabet
    assert make(folder).most_frequent_answers() == {1: ("apple", 1.0)}


def test_batches_depend_on_split_seed_and_step_alone(folder):
    task = make(folder)
    first, again = (task.batch("train", seed=1, step=2, size=9) for _ in range(2))
    assert all(map(torch.equal, first, again))
    others = [task.batch("train", seed=1, step=step, size=9).inputs for step in range(3, 8)]
    assert any(other.shape != first.inputs.shape or not torch.equal(other, first.inputs)
               for other in others)  # fmt: skip


def test_bad_arguments(folder):
    with pytest.raises(UserError, match=r"has no file of task 2 \(test\)"):
        Babi(folder=folder, tasks=(2,)).stories("test")
    with pytest.raises(UserError, match="tasks must be numbers from 1 to 20; got"):
        Babi(folder=folder, tasks=(21,))
    with pytest.raises(UserError, match="there are no train stories of up to 3 steps"):
        make(folder, longest=3).batch("train")


@pytest.fixture(scope="module")
def standard():
    return Babi(folder=FOLDER)


@needs_files
def test_numbers_of_stories(standard):
    assert standard.gaps() == ("task 3: 385 of 2,000 training stories",)
    parts = {split: Counter(s.task for s in standard.stories(split))
             for split in ("train", "validation", "test")}  # fmt: skip
    for number, full in enumerate(NUM_STORIES, 1):
        total = parts["train"][number] + parts["validation"][number]
        assert total == (385 if number == 3 else full)
    # A tenth of the training stories but for tasks 18 and 20, which count questions.
    assert parts["test"] == Counter(
        {n: 199 if n == 18 else 93 if n == 20 else full // 10
         for n, full in enumerate(NUM_STORIES, 1)}
    )  # fmt: skip


@needs_files
def test_every_question_has_its_answers(standard):
    path = next((FOLDER / "en-10k").glob("qa19_*_test.txt.gz"))
    for story, lines in zip(
        [s for s in standard.stories("test") if s.task == 19], read_lines(path), strict=True
    ):
        answers = [a for line in lines if "\t" in line for a in line.split("\t")[1].split(",")]
        assert list(story.answers.values()) == answers
        assert all(story.words[step] == "-" for step in story.answers)


@needs_files
@needs_files
def test_stories_of_a_batch_are_of_similar_lengths(standard):
    short = replace(standard, similar_lengths=500)
    batches = [short.batch("train", step=step, size=16) for step in range(60)]
    widths = [batch.inputs.shape[1] for batch in batches]
    # Half of all stories have at most 56 steps, most others 100 to 250.
    assert min(widths) < 60 and max(widths) > 120
    assert len({int(task) for batch in batches for task in batch.level}) > 12
    every = [len(story.words) for story in short.stories("train")]
    assert sum(widths) / len(widths) < 1.5 * sum(every) / len(every)


def test_vocabulary(standard):
    assert len(standard.vocabulary) == 160
    assert all(word.isalpha() for word in standard.vocabulary[3:] if word not in ".,")
    longest = max(len(s.words) for split in ("train", "validation") for s in standard.stories(split)
                  if s.task == 3)  # fmt: skip
    assert longest <= 1641


@needs_files
def test_a_batch_of_all_tasks(standard):
    batch = standard.batch("train", size=64)
    assert len(batch.level.unique()) > 5 and batch.asked.any(1).all()
    assert batch.targets[batch.asked].min() > 2


@needs_files
def test_most_frequent_answers_of_all_tasks(standard):
    answers = standard.most_frequent_answers()
    assert answers[6][0] in ("yes", "no") and 0.4 < answers[6][1] < 0.6
    assert len(answers) == 20 and all(0 < error < 1 for _, error in answers.values())


def test_a_task_is_solved_up_to_five_in_a_hundred_wrong_words(folder):
    assert make(folder).threshold() == 0.05


def test_the_shortest_story_of_a_task(folder):
    task = make(folder)
    batch = task.shortest(1, "train")
    words = ["john", "went", "home", ".", "where", "is", "john", "?", "-", "-", "-", "-"]
    assert task.spell(batch.inputs[0]) == words and batch.asked.sum() == 1
    with pytest.raises(UserError, match="no test stories of task 2"):
        task.shortest(2)
