from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from wug.study.judgements import (
    Judgement,
    Verdict,
    all_of,
    any_of,
    count_at_least,
    count_is,
    negate,
)

HELD, BROKEN, UNDECIDED = Verdict.HELD, Verdict.BROKEN, Verdict.UNDECIDED

judgements = st.sampled_from(Verdict).map(lambda verdict: Judgement(verdict, (verdict.value,)))
lists = st.lists(judgements, max_size=5)


def over_all_completions(parts: list[Judgement], truth) -> Verdict:
    """The definition of three-valued logic: what holds however the open parts turn out."""
    choices = [
        (True, False) if part.verdict is UNDECIDED else (part.verdict is HELD,) for part in parts
    ]
    outcomes = {truth(completion) for completion in product(*choices)}
    return UNDECIDED if len(outcomes) == 2 else HELD if outcomes == {True} else BROKEN


@given(lists)
def test_all_and_any_follow_kleene(parts):
    assert all_of(parts).verdict is over_all_completions(parts, all)
    assert any_of(parts).verdict is over_all_completions(parts, any)


@given(lists, st.integers(0, 6))
def test_counts_follow_kleene(parts, number):
    assert count_at_least(number, parts).verdict is over_all_completions(
        parts, lambda values: sum(values) >= number
    )
    assert count_is(number, parts).verdict is over_all_completions(
        parts, lambda values: sum(values) == number
    )


@given(lists)
def test_de_morgan(parts):
    assert negate(all_of(parts)).verdict is any_of(map(negate, parts)).verdict


@given(judgements)
def test_double_negation(part):
    assert negate(negate(part)) == part


@given(lists, st.randoms(use_true_random=False), st.integers(0, 6))
def test_order_does_not_matter(parts, random, number):
    shuffled = random.sample(parts, len(parts))
    assert count_is(number, parts).verdict is count_is(number, shuffled).verdict


@given(lists)
def test_evidence_is_of_the_deciding_parts(parts):
    for judgement in (all_of(parts), any_of(parts)):
        assert set(judgement.evidence) <= {judgement.verdict.value}


def test_count_is_broken_by_too_many_names_those_that_hold():
    parts = [Judgement(HELD, ("a",)), Judgement(HELD, ("b",)), Judgement(BROKEN, ("c",))]
    assert count_is(1, parts) == Judgement(BROKEN, ("a", "b"))
    assert count_is(3, parts) == Judgement(BROKEN, ("c",))


def test_brief_shortens_evidence():
    judgement = Judgement(HELD, ("a", "b", "c"))
    assert judgement.brief(2) == "a; b; and 1 more"
    assert judgement.brief(3) == "a; b; c"
