from random import Random

import pytest

from wug.tasks.systematicity import _film_grammar as films

NAME = ("names", "name")
PRODUCED = ("active", ("produce",), NAME)


@pytest.mark.parametrize(
    ("tree", "text", "query"),
    [
        (
            ("yes_no", ("names", "name", "name"), ("active", ("direct", "write"), NAME)),
            "Did M0 and M1 direct and write M2",
            "SELECT count ( * ) WHERE { M0 direct M2 . M0 write M2 . M1 direct M2 . M1 write M2 }",
        ),
        (
            ("yes_no", NAME, ("passive", ("write",), ("a", "actor"))),
            "Was M0 written by a actor",
            "SELECT count ( * ) WHERE { ?x0 is_a actor . ?x0 write M0 }",
        ),
        (
            ("which", "film", ("passive", ("edit",), ("that", "writer", PRODUCED))),
            "Which film was edited by a writer that produced M0",
            "SELECT DISTINCT ?x0 WHERE { ?x0 is_a film . ?x1 edit ?x0 . ?x1 is_a writer . "
            "?x1 produce M0 }",
        ),
    ],
)  # fmt: skip
def test_questions(tree, text, query):
    assert films.write(tree)[:2] == (text, query)


def test_words_and_one_reading():
    drawn = films.draw_questions(1_000, Random(0))
    for question in drawn:
        assert set(question.text.split()) <= set(films.QUESTION_WORDS)
        assert set(question.query.split()) <= set(films.QUERY_WORDS)
        heads = {rule[0] for rule in films.rules(question.tree)}
        assert {word for rule in films.rules(question.tree) for word in rule} == heads
    # Drawn again, a question that comes up once more has the same query.
    queries = {question.text: question.query for question in drawn}
    again = films.draw_questions(8_000, Random(1))
    both = [question for question in again if question.text in queries]
    assert len(both) > 50
    assert all(queries[question.text] == question.query for question in both)


def test_draws_depend_on_the_seed_alone():
    first, again, other = (films.draw_questions(10, Random(seed)) for seed in (0, 0, 1))
    assert first == again != other
