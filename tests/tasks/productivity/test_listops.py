import random
import time
from collections import Counter
from statistics import median

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from wug.core.errors import UserError
from wug.interfaces.interface import SPLITS
from wug.tasks.productivity.listops import DEPTHS, ListOps, draw

OPERATORS = {"[MIN": min, "[MAX": max, "[MED": median, "[SM": sum}
TEXT = ListOps(num_train=2_000)
PUBLISHED = ListOps(version="as_published", num_train=2_000)


def written(task, problems):
    rows = zip(problems.tokens.tolist(), problems.lengths.tolist(), strict=True)
    return [task.decode(row[:length]) for row, length in rows]


def parse(words):
    """Read a problem as nested lists."""
    word = words.pop(0)
    if word.isdigit():
        return int(word)
    tree = [word]
    while words[0] != "]":
        tree.append(parse(words))
    words.pop(0)
    return tree


def read(text):
    return parse(text.replace("]", " ]").split())


def results(tree):
    """Value, dependency depth, depth and number of tokens of a tree."""
    if not isinstance(tree, list):
        return tree, 0, 0, 1
    below = [results(one) for one in tree[1:]]
    values = [one[0] for one in below]
    value = int(OPERATORS[tree[0]](values)) % 10
    order = sorted(range(len(values)), key=values.__getitem__)
    needed = {
        "[MIN": order[:1],
        "[MAX": [values.index(max(values))],
        "[MED": order[(len(order) - 1) // 2 : len(order) // 2 + 1],
        "[SM": order,
    }[tree[0]]
    depth = 1 + max(one[2] for one in below)
    return value, 1 + max(below[i][1] for i in needed), depth, 2 + sum(one[3] for one in below)


def operand(deepest=None):
    """An operation with probability 0.3, else a digit."""
    if deepest == 0 or numbers.random() >= 0.3:
        return numbers.randrange(10)
    below = None if deepest is None else deepest - 1
    return operation([operand(below) for _ in range(numbers.randint(2, 5))])


def operation(operands):
    return [numbers.choice(list(OPERATORS)), *operands]


def grown(low, high):
    """The published generator: a tree that is too shallow becomes an operand, never the last."""
    tree = operand(high)
    while results(tree)[2] < low:
        operands = [operand(high - 1) for _ in range(numbers.randint(2, 4))]
        operands.insert(numbers.randrange(len(operands)), tree)
        tree = operation(operands)
    return tree


def kind(tree):
    """What is compared: operator, which operands are operations, size and answer."""
    value, _, _, length = results(tree)
    return tree[0], tuple(isinstance(one, list) for one in tree[1:]), length // 8, value // 5


def same(first, second):
    """Return how likely two samples of one distribution are to differ so much."""
    samples = [list(map(kind, first)), list(map(kind, second))]
    # What is too rare to compare is one kind.
    common = {one for one, number in Counter(samples[0] + samples[1]).items() if number > 40}
    counts = [Counter(one if one in common else "rare" for one in sample) for sample in samples]
    return chi2_contingency([[c[one] for one in counts[0] | counts[1]] for c in counts]).pvalue


@pytest.fixture(autouse=True)
def fixed_numbers():
    global numbers
    numbers = random.Random(0)


@pytest.mark.parametrize("task", [TEXT, PUBLISHED], ids=["text", "as_published"])
@pytest.mark.parametrize("split", ["train", "validation", "ood_validation"])
def test_labels_and_levels(task, split):
    check(task, split)


def check(task, split):
    problems = task.generate(split)
    texts = written(task, problems)
    trees = [results(read(text)) for text in texts]
    assert problems.labels.tolist() == [value for value, *_ in trees]
    assert problems.levels.tolist() == [needed for _, needed, _, _ in trees]
    assert problems.lengths.tolist() == [length for *_, length in trees]
    assert max(depth for _, _, depth, _ in trees) == DEPTHS[split][1]
    # Three tokens per operation are 50 for at most 42 that are there.
    assert problems.lengths.max() == (50 if task.version == "text" else 42)
    assert [task.answer(task.encode(text)) for text in texts[:50]] == problems.labels[:50].tolist()


def test_thousand_deep_problems_take_seconds():
    start = time.process_time()
    problems = TEXT.generate("test")
    assert time.process_time() - start < 10
    assert problems.levels.bincount().tolist() == [0] * 7 + [500, 500]
    check(TEXT, "test")


@pytest.mark.slow
def test_million_problems_take_minutes():
    start = time.process_time()
    problems = ListOps().generate("train")
    assert time.process_time() - start < 300
    assert problems.levels.bincount().tolist() == [0] + [200_000] * 5


@pytest.mark.slow
def test_published_deep_problems():
    check(PUBLISHED, "test")


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_fast_generator_is_rejection(wanted):
    plain = []
    while len(plain) < 2_000:
        # Deeper trees are of no use; without an end they would be infinite.
        tree = operand(6)
        _, needed, depth, length = results(tree)
        if needed == wanted and depth <= 5 and length <= 50:
            plain.append(tree)
    grower = TEXT._grower("train", wanted)
    fast = draw(grower, (1, 50), 2, wanted, np.random.default_rng(0))
    assert same(plain, [read(text) for text in written(TEXT, fast)]) > 0.01


@pytest.mark.parametrize(
    ("split", "depths"), [("train", (1, 2, 3)), ("ood_validation", (6,))], ids=["train", "ood"]
)
def test_fast_generator_is_the_published_one(split, depths):
    plain = [grown(*DEPTHS[split]) for _ in range(8_000)]
    found = [(tree, results(tree)) for tree in plain]
    for wanted in depths:
        kept = [
            tree
            for tree, (_, needed, _, length) in found
            if needed == wanted and length + str(tree).count("[M") + str(tree).count("[S") <= 50
        ]
        grower = PUBLISHED._grower(split, wanted)
        chunks = [draw(grower, (1, 50), 3, wanted, np.random.default_rng(i)) for i in range(3)]
        fast = [read(text) for chunk in chunks for text in written(PUBLISHED, chunk)]
        assert len(kept) > 50 and same(kept, fast) > 0.01


def test_published_problems_are_distinct_and_as_long():
    train = PUBLISHED.generate("train")
    assert len(set(written(PUBLISHED, train))) == 2_000
    # The published data has 23 tokens on average; half of its trees are as deep as they may be.
    assert train.lengths.float().mean().item() == pytest.approx(23, abs=0.7)
    deepest = [results(read(text))[2] == 5 for text in written(PUBLISHED, train)]
    assert np.mean(deepest) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("variant", ["balanced", "original", "short"])
def test_no_training_problem_is_in_another_set(variant):
    task = ListOps(variant=variant, num_train=600, num_evaluation=200)
    sets = {split: set(written(task, task.generate(split))) for split in SPLITS}
    for first in SPLITS:
        assert not any(sets[first] & sets[other] for other in SPLITS if other != first)


@pytest.mark.parametrize(
    ("variant", "operands", "lengths", "deepest"),
    [("original", 5, (1, 2_000), 19), ("long_range", 10, (501, 1_999), 9), ("short", 5, (4, 9), 3)],
)
def test_variants_without_depth_control(variant, operands, lengths, deepest):
    task = ListOps(variant=variant, num_train=500, num_evaluation=100)
    problems = task.generate("train")
    texts = written(task, problems)
    assert len(set(texts)) == len(problems) == 500
    trees = [results(read(text)) for text in texts]
    assert problems.labels.tolist() == [value for value, *_ in trees]
    assert problems.levels.tolist() == [needed for _, needed, _, _ in trees]
    assert all(lengths[0] <= length <= lengths[1] for *_, length in trees)
    assert max(depth for _, _, depth, _ in trees) <= deepest
    arities = Counter(
        len(needs) for text in texts for needs in task.dependencies(task.encode(text))
    )
    assert set(arities) - {0} == set(range(2, operands + 1))


def test_problems_read_and_write_alike():
    text = "[MAX 2 4 [MIN 3 9]]"
    tokens = TEXT.encode(text)
    assert TEXT.decode(tokens) == text
    assert TEXT.encode("[MAX 2 4 [MIN 3 9 ] ]") == tokens
    needs = {place: found for place, found in enumerate(TEXT.dependencies(tokens)) if found}
    assert needs == {0: (1, 2, 3), 3: (4, 5)}
    assert TEXT.answer(tokens) == 4 and TEXT.answer(TEXT.encode("7")) == 7


@pytest.mark.parametrize("text", ["[MAX 1 2", "1 2", "[MAX 1 2]]", "[MAX]", "]", "[SM 1 [MIN]]"])
def test_ill_formed(text):
    with pytest.raises(UserError, match=r"a problem must be a digit or an operator with its"):
        TEXT.answer(TEXT.encode(text))


def test_bad_input():
    with pytest.raises(UserError, match="variant must be one of balanced, original, long_range"):
        ListOps(variant="tiny")
    with pytest.raises(UserError, match="version must be one of text; got 'as_published'"):
        ListOps(variant="original", version="as_published")
    with pytest.raises(UserError, match="num_evaluation must be at least 1; got 0"):
        ListOps(num_evaluation=0)
