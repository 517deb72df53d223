import re
from fractions import Fraction
from random import Random

import pytest
import sympy

from wug.tasks.productivity import _mathematics_questions as questions

LEVELS = range(1, 6)


def drawn(module, level, number=60):
    draw = questions.Draw(Random(level))
    return [questions.MODULES[module](draw, level) for _ in range(number)]


def value(text):
    return Fraction(text)


@pytest.mark.parametrize("level", LEVELS)
def test_add_or_sub(level):
    for question, answer in drawn("add_or_sub", level):
        a, b = (Fraction(one) for one in re.findall(r"(?<![\d)])-?\d+(?:\.\d+)?", question))
        expected = {
            "What is the distance": abs(a - b), "What is the sum": a + b, "Subtract": b - a,
            "Add": a + b,
        }  # fmt: skip
        known = [v for start, v in expected.items() if question.startswith(start)]
        if not known:
            known = [a + b] if " + " in question else [a - b]
        assert value(answer) == known[0], question


@pytest.mark.parametrize("level", LEVELS)
def test_place_value(level):
    for question, answer in drawn("place_value", level):
        name, number = re.fullmatch(r"What is the (.*) digit of (\d+)\?", question).groups()
        power = questions.PLACES.index(name)
        assert int(answer) == int(number) // 10**power % 10


@pytest.mark.parametrize("level", LEVELS)
def test_linear_1d(level):
    for question, answer in drawn("linear_1d", level, 30):
        left, right, letter = re.fullmatch(r"Solve (.*) = (.*) for (.)\.", question).groups()
        names = {letter: sympy.Symbol(letter)}
        equation = sympy.sympify(left, names) - sympy.sympify(right, names)
        assert sympy.solve(equation, names[letter]) == [int(answer)], question


@pytest.mark.parametrize("level", LEVELS)
def test_differentiate(level):
    for question, answer in drawn("differentiate", level, 30):
        text, letter = re.fullmatch(r"What is the derivative of (.*) wrt (.)\?", question).groups()
        names = {letter: sympy.Symbol(letter)}
        derivative = sympy.diff(sympy.sympify(text, names), names[letter])
        assert sympy.expand(sympy.sympify(answer, names) - derivative) == 0


@pytest.mark.parametrize("level", LEVELS)
def test_collect(level):
    for question, answer in drawn("collect", level, 30):
        text = re.fullmatch(r"Collect the terms in (.*)\.", question)[1]
        letter = re.search("[a-z]", text)[0]
        names = {letter: sympy.Symbol(letter)}
        assert sympy.expand(sympy.sympify(text, names) - sympy.sympify(answer, names)) == 0
        powers = re.findall(r"[a-z](?:\*\*\d+)?|(?<![\d*])\d+$", answer)
        assert len(powers) == len(set(powers))


@pytest.mark.parametrize("level", LEVELS)
def test_sort(level):
    for question, answer in drawn("sort", level):
        text, how = re.fullmatch(r"Sort (.*) in (a|de)scending order\.", question).groups()
        values = sorted(text.split(", "), key=value, reverse=how == "de")
        assert answer.split(", ") == values


@pytest.mark.parametrize("module", questions.MODULES)
def test_levels_beyond_training_are_larger(module):
    def sizes(levels):
        texts = [question for level in levels for question, _ in drawn(module, level)]
        digits = [max(map(len, re.findall(r"\d+\.?\d*", text))) for text in texts]
        return min(digits), sum(digits) / len(digits), sum(map(len, texts)) / len(texts)

    train, test = sizes((1, 2, 3)), sizes((5,))
    assert test[2] > train[2]
    if module in ("add_or_sub", "place_value"):
        assert test[0] > train[1]


@pytest.mark.parametrize("module", questions.MODULES)
def test_characters(module):
    for level in LEVELS:
        for question, answer in drawn(module, level):
            assert {*question, *answer} <= set(questions.CHARACTERS)


def test_small_levels_run_dry():
    found = questions.draw_questions("place_value", (1, 3), 2_000, Random(0))
    easy = [row for row in found if row[2] == 1]
    assert len(found) == 2_000 and len(easy) <= 10 + 2 * 90
