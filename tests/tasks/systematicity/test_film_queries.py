from collections import Counter

import numpy as np
import pytest

from wug.core.errors import UserError
from wug.sources.compound_divergence import count_table, measure
from wug.tasks.systematicity._film_grammar import rules
from wug.tasks.systematicity.film_queries import FilmQueries

SMALL = {"num_questions": 3_000, "num_train": 1_500, "num_test": 300}


def divergences(task):
    train, test = task.sides
    found = [rules(question.tree) for question in train + test]
    atoms = count_table([[rule[0] for rule in each] for each in found])
    compounds = count_table([[" ".join(r) for r in each if len(r) > 1] for each in found])
    in_train = [True] * len(train) + [False] * len(test)
    return measure(atoms, compounds, np.array(in_train), ~np.array(in_train))


def test_the_split_diverges_in_compounds_alone():
    atoms, compounds = divergences(FilmQueries(**SMALL))
    at_random = divergences(FilmQueries(**SMALL, divergent=False))
    assert atoms < 0.021 and compounds > 0.25 > 5 * at_random[1]


def test_sets():
    task = FilmQueries(**SMALL)
    sets = {split: task.pairs(split) for split in ("train", "validation", "ood_validation", "test")}
    assert [len(one) for one in sets.values()] == [1_350, 150, 30, 270]
    depths = Counter(pair.group for pair in sets["test"])
    assert set(depths) <= {"0", "1", "2", "3", "4", "5"}
    for pair in sets["test"]:
        assert pair.group == str(pair.source.split().count("that"))


def test_bad_arguments():
    with pytest.raises(UserError, match="num_questions must be at least 9000; got 10"):
        FilmQueries(num_questions=10)
    with pytest.raises(UserError, match=r"validation_share must be in \[0, 1\); got 1"):
        FilmQueries(validation_share=1)
