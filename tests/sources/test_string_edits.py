from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources import string_edits as edits
from wug.sources.files import lines

strings = st.lists(st.sampled_from(edits.SYMBOLS), min_size=1, max_size=5).map(" ".join)


@given(strings, strings)
def test_laws(x, y):
    evaluate = edits.evaluate
    for twice in ("reverse reverse", "swap_first_last swap_first_last", "copy"):
        assert evaluate(f"{twice} {x}") == x
    assert evaluate(f"append {x} , {y}") == evaluate(f"prepend {y} , {x}") == f"{x} {y}"
    assert evaluate(f"remove_first {x} , {y}") == evaluate(f"remove_second {y} , {x}") == y
    assert evaluate(f"repeat {x}") == evaluate(f"append {x} , {x}")
    assert evaluate("shift " * len(x.split()) + x) == x
    assert evaluate(f"echo {x}").split() == [*x.split(), x.split()[-1]]


@pytest.mark.data
@pytest.mark.parametrize("name", ["pcfgset", "productivity", "systematicity"])
def test_official_targets(name):
    try:
        sources, targets = (lines(f"pcfg/{name}/test.{end}") for end in ("src", "tgt"))
    except UserError as error:
        pytest.skip(str(error))
    for source, target in zip(sources, targets, strict=True):
        assert edits.evaluate(source) == target


@pytest.mark.data
def test_drawn_expressions_are_like_the_official_ones():
    try:
        official = lines("pcfg/pcfgset/test.src")
    except UserError as error:
        pytest.skip(str(error))
    drawn = edits.draw_expressions(5_000, lambda text: True, Random(0))

    def shares(texts):
        counts = Counter(min(edits.num_functions(text), 9) for text in texts)
        return [counts[number] / len(texts) for number in range(1, 10)]

    def mean_words(texts):
        return sum(len(text.split()) for text in texts) / len(texts)

    assert mean_words(drawn) == pytest.approx(mean_words(official), rel=0.1)
    for ours, theirs in zip(shares(drawn), shares(official), strict=True):
        assert ours == pytest.approx(theirs, abs=0.06)
    words = Counter(word for text in drawn for word in text.split())
    functions = [words[name] for name in (*edits.UNARY, *edits.BINARY)]
    assert max(functions) < 1.2 * min(functions)


def test_draws_depend_on_the_seed_alone():
    first, again, other, fewer = (
        edits.draw_expressions(number, lambda text: True, Random(seed))
        for number, seed in ((20, 0), (20, 0), (20, 1), (10, 0))
    )
    assert first == again != other and fewer == first[:10]


@pytest.mark.parametrize(
    "text", ["", "copy", "append A1 B2", "A1 copy", "append A1 ,", "A1 , B2", "fly A1", "A21"]
)
def test_rubbish(text):
    with pytest.raises(UserError, match="string edits"):
        edits.evaluate(text)
