from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources import scan_grammar as scan

phrases = st.sampled_from(scan.phrases())


def test_sizes():
    assert len(list(scan.verb_phrases())) == 34 and len(scan.phrases()) == 102
    everything = scan.commands()
    assert len(set(everything)) == len(everything) == 102 + 2 * 102**2
    assert {word for command in everything for word in command.split()} == set(scan.COMMAND_WORDS)
    meanings = [scan.actions(command).split() for command in everything]
    assert {action for meaning in meanings for action in meaning} == set(scan.ACTIONS)
    assert max(map(len, meanings)) == 48 and max(len(c.split()) for c in everything) == 9


@given(phrases, phrases)
def test_joins(one, two):
    first, second = scan.actions(one), scan.actions(two)
    assert scan.actions(f"{one} and {two}") == f"{first} {second}"
    assert scan.actions(f"{one} after {two}") == f"{second} {first}"


@pytest.mark.parametrize(
    ("command", "meaning"),  # of figure 1 of lake2018
    [
        ("jump", "I_JUMP"),
        ("jump left", "I_TURN_LEFT I_JUMP"),
        ("jump around right", "I_TURN_RIGHT I_JUMP " * 4),
        ("turn left twice", "I_TURN_LEFT I_TURN_LEFT"),
        ("jump thrice", "I_JUMP I_JUMP I_JUMP"),
        (
            "jump opposite left and walk thrice",
            "I_TURN_LEFT I_TURN_LEFT I_JUMP I_WALK I_WALK I_WALK",
        ),
        (
            "jump opposite left after walk around left",
            "I_TURN_LEFT I_WALK " * 4 + "I_TURN_LEFT I_TURN_LEFT I_JUMP",
        ),
    ],
)
def test_published_examples(command, meaning):
    assert scan.actions(command) == meaning.strip()


@given(st.sampled_from(scan.commands()))
def test_rules_have_the_words(command):
    rules = scan.rules(command)
    assert Counter(rule[0] for rule in rules) == Counter(command.split())
    heads = [rule[0] for rule in rules]
    assert all(argument in heads for rule in rules for argument in rule[1:])


@pytest.mark.parametrize("command", ["left jump", "jump twice twice", "turn", "jump and", "fly"])
def test_other_commands_mean_nothing(command):
    with pytest.raises(UserError, match="SCAN has no phrase"):
        scan.actions(command)
