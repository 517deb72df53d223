import random
from collections import Counter
from itertools import accumulate

import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency, chisquare

from wug.core.errors import UserError
from wug.sources.sequences import SPLITS
from wug.tasks.productivity.simple_arithmetic import (
    SimpleArithmetic,
    draw,
    num_expressions,
    single_operations,
)

TEXT = SimpleArithmetic(num_train=5_000)
PUBLISHED = SimpleArithmetic(version="as_published", num_train=5_000)


def written(task, problems):
    rows = zip(problems.tokens.tolist(), problems.lengths.tolist(), strict=True)
    return [task.decode(row[:length]) for row, length in rows]


def depth(text):
    """The deepest bracket is the innermost operation."""
    return max(accumulate({"(": 1, ")": -1}.get(character, 0) for character in text))


def operand(probability, deepest=None):
    """An operation with some probability, else a digit."""
    if deepest == 0 or random_numbers.random() >= probability:
        return str(random_numbers.randrange(10))
    deepest = None if deepest is None else deepest - 1
    return operation(operand(probability, deepest), operand(probability, deepest))


def operation(left, right):
    return f"({left}{random_numbers.choice('+*')}{right})"


def grown(probability, low, high):
    """The published generator: a tree that is too shallow becomes the right operand."""
    text = operand(probability, high)
    while depth(text) < low:
        text = operation(operand(probability, high - 1), text)
    return text


def kind(text):
    """What is compared: the shape of an expression, its operators and its answer."""
    return "".join("d" if one.isdigit() else one for one in text), eval(text) % 10  # noqa: S307


def same(first, second):
    """Return how likely two samples of one distribution are to differ so much."""
    samples = [list(map(kind, first)), list(map(kind, second))]
    # What is too rare to compare is one kind.
    common = {one for one, number in Counter(samples[0] + samples[1]).items() if number > 40}
    counts = [Counter(one if one in common else "rare" for one in sample) for sample in samples]
    return chi2_contingency([[c[one] for one in counts[0] | counts[1]] for c in counts]).pvalue


@pytest.fixture(autouse=True)
def fixed_numbers():
    global random_numbers
    random_numbers = random.Random(0)


@pytest.mark.parametrize("task", [TEXT, PUBLISHED], ids=["text", "as_published"])
@pytest.mark.parametrize("split", SPLITS)
def test_labels_and_levels(task, split):
    problems = task.generate(split)
    texts = written(task, problems)
    assert problems.labels.tolist() == [eval(text) % 10 for text in texts]  # noqa: S307
    assert problems.levels.tolist() == [depth(text) for text in texts]
    assert max(map(len, texts)) <= 50
    assert [task.answer(task.encode(text)) for text in texts[:50]] == problems.labels[:50].tolist()


@pytest.mark.parametrize(
    ("split", "counts"),
    [
        ("train", [20_000] * 5),
        ("validation", [200] * 5),
        ("ood_validation", [1_000]),
        ("test", [500, 500]),
    ],
)
def test_depths_are_balanced(split, counts):
    assert (
        SimpleArithmetic().generate(split).levels.unique(return_counts=True)[1].tolist() == counts
    )


def test_published_counts():
    task = SimpleArithmetic(version="as_published")
    train, validation = task.generate("train"), task.generate("validation")
    assert train.levels.bincount().tolist() == [0, 200, 25_000, 25_000, 25_000, 25_000]
    assert validation.levels.bincount().tolist() == [0, 200, 250, 250, 250, 250]
    assert len(set(written(task, train))) == 100_200
    # Of the labels of the published data, 26 % are 0.
    assert (train.labels == 0).float().mean().item() == pytest.approx(0.26, abs=0.01)


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_fast_generator_is_rejection(wanted):
    plain = []
    while len(plain) < 2_000:
        text = operand(0.2)
        if len(text) <= 50 and depth(text) == wanted:
            plain.append(text)
    fast = written(TEXT, draw(TEXT._grower("train", wanted), wanted, np.random.default_rng(0)))
    assert same(plain, fast) > 0.01


@pytest.mark.parametrize(("split", "low", "high"), [("train", 2, 5), ("ood_validation", 6, 6)])
def test_fast_generator_is_the_published_one(split, low, high):
    plain = [grown(0.2 if low == 2 else 0.3, low, high) for _ in range(10_000)]
    for wanted in {low, low + 1} & set(range(low, high + 1)):
        kept = [text for text in plain if len(text) <= 50 and depth(text) == wanted]
        grower = PUBLISHED._grower(split, wanted)
        fast = written(PUBLISHED, draw(grower, wanted, np.random.default_rng(0)))
        assert len(kept) > 500 and same(kept, fast) > 0.01


def test_all_single_operations_are_equally_likely():
    fast = draw(TEXT._grower("train", 1), 1, np.random.default_rng(0))
    counts = Counter(written(TEXT, fast))
    assert set(counts) == set(written(TEXT, single_operations()))
    assert chisquare(list(counts.values())).pvalue > 0.01


def test_no_training_problem_is_in_another_set():
    sets = {split: set(written(TEXT, TEXT.generate(split))) for split in SPLITS}
    for first in SPLITS:
        assert not any(sets[first] & sets[other] for other in SPLITS if other != first)


def test_seeds_give_other_problems_and_smaller_sets_begin_alike():
    small = SimpleArithmetic(num_train=100).generate("train")
    assert torch.equal(small.labels, TEXT.generate("train").labels[:100])
    other = SimpleArithmetic(num_train=100, seed=1).generate("train")
    assert written(TEXT, other) != written(TEXT, small)


def test_expressions_are_counted():
    def every(deepest):
        found = {str(digit) for digit in range(10)}
        for _ in range(deepest):
            found |= {f"({a}{o}{b})" for a in found for b in found for o in "+*"}
        return found

    assert [num_expressions(deepest) for deepest in (0, 1, 2)] == [
        len(every(deepest)) for deepest in (0, 1, 2)
    ]


def test_dependencies_are_the_operands():
    tokens = TEXT.encode("((4*7)+(2+(1*3)))")
    assert {place: needs for place, needs in enumerate(TEXT.dependencies(tokens)) if needs} == {
        3: (2, 4),
        6: (3, 9),
        9: (8, 12),
        12: (11, 13),
    }
    assert TEXT.answer(TEXT.encode("7")) == 7


@pytest.mark.parametrize("text", ["(1+2", "1+2", "(1+2))", "()", "(12)", "+", "(1++)", "(1+2+3)"])
def test_ill_formed(text):
    with pytest.raises(UserError, match=r"a problem must be a digit or two problems around"):
        TEXT.answer(TEXT.encode(text))


def test_bad_input():
    with pytest.raises(UserError, match="version must be one of text, as_published; got 'paper'"):
        SimpleArithmetic(version="paper")
    with pytest.raises(UserError, match="num_train must be at least 1; got 0"):
        SimpleArithmetic(num_train=0)
    with pytest.raises(UserError, match="unknown token '-'"):
        TEXT.encode("(1-2)")
