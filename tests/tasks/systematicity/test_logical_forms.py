import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources.files import lines
from wug.tasks.systematicity import _logical_forms as forms

SENTENCE = "A girl hoped that Emma ate the cake on a table ."
COGS = (
    "* cake ( x _ 7 ) ; girl ( x _ 1 ) AND hope . agent ( x _ 2 , x _ 1 ) AND "
    "hope . ccomp ( x _ 2 , x _ 5 ) AND eat . agent ( x _ 5 , Emma ) AND "
    "eat . theme ( x _ 5 , x _ 7 ) AND cake . nmod . on ( x _ 7 , x _ 10 ) AND table ( x _ 10 )"
)
POSITIONAL = (
    "girl ( 1 ) ; Emma ( 4 ) ; * cake ( 7 ) ; table ( 10 ) ; hope ( 2 ) AND agent ( 2 , 1 ) AND "
    "ccomp ( 2 , 5 ) AND eat ( 5 ) AND agent ( 5 , 4 ) AND theme ( 5 , 7 ) AND nmod . on ( 7 , 10 )"
)


def test_both_ways():
    assert forms.to_positional(SENTENCE, COGS) == POSITIONAL
    assert forms.from_positional(POSITIONAL) == COGS


@pytest.mark.data
@pytest.mark.parametrize("name", ["dev", "gen"])
def test_forms_of_the_data_parse_back(name):
    try:
        rows = [line.split("\t") for line in lines(f"cogs/{name}.tsv")][::20]
    except UserError as error:
        pytest.skip(str(error))
    for sentence, form, _ in rows:
        positional = forms.to_positional(sentence, form)
        assert forms.from_positional(positional) == form
        if not forms.is_primitive(form):
            assert " ; ".join(map(str, forms.parse(form))) == form.replace(" AND ", " ; ")


@given(st.permutations(POSITIONAL.split(" ; ")[:4] + POSITIONAL.split(" ; ")[4].split(" AND ")),
       st.permutations(range(11)))  # fmt: skip
def test_order_and_names_of_variables_do_not_matter(conjuncts, names):
    renamed = " AND ".join(
        " ".join(str(names[int(w)]) if w.isdigit() else w for w in c.split()) for c in conjuncts
    )
    assert forms.same_meaning(renamed, POSITIONAL) and forms.same_meaning(POSITIONAL, renamed)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("agent ( 5 , 4 )", "agent ( 5 , 1 )"),
        ("girl", "boy"),
        ("* cake", "cake"),
        ("theme ( 5 , 7 )", "theme ( 7 , 5 )"),
        (" AND nmod . on ( 7 , 10 )", ""),
        ("nmod . on", "nmod . in"),
        ("ccomp ( 2 , 5 )", "ccomp ( 5 , 2 )"),
    ],
)
def test_other_meanings(before, after):
    assert not forms.same_meaning(POSITIONAL.replace(before, after), POSITIONAL)


def test_alike_variables_are_told_apart_by_the_whole():
    ring = "see ( 1 , 2 ) AND see ( 2 , 3 ) AND see ( 3 , 4 ) AND see ( 4 , 1 )"
    pairs = "see ( 1 , 2 ) AND see ( 2 , 1 ) AND see ( 3 , 4 ) AND see ( 4 , 3 )"
    turned = "see ( 4 , 3 ) AND see ( 3 , 2 ) AND see ( 2 , 1 ) AND see ( 1 , 4 )"
    assert forms.same_meaning(ring, turned) and not forms.same_meaning(ring, pairs)


def test_rubbish_is_wrong_not_an_error():
    assert not forms.same_meaning("girl ( 1", POSITIONAL)
    assert not forms.same_meaning("", POSITIONAL)
    assert forms.same_meaning("Emma", "Emma") and not forms.same_meaning("Emma", "Liam")
    with pytest.raises(UserError, match="is not a predicate with its arguments"):
        forms.parse("girl 1 )")
