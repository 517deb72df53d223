"""The grammar of SCAN (Lake and Baroni, 2018): commands, and the actions that they mean.

A command is one phrase or two; a phrase is done once, twice or thrice; in it stands a verb, perhaps
with a direction, perhaps done on the opposite side or at every corner all around.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from wug.core.errors import UserError

VERBS = ("walk", "look", "run", "jump")
DIRECTIONS = ("left", "right")
MANNERS = ("", "opposite", "around")
TIMES = {"": 1, "twice": 2, "thrice": 3}
JOINS = ("and", "after")
COMMAND_WORDS = (*VERBS, "turn", *DIRECTIONS, "opposite", "around", "twice", "thrice", *JOINS)
ACTIONS = (
    *(f"I_TURN_{direction.upper()}" for direction in DIRECTIONS),
    *(f"I_{verb.upper()}" for verb in VERBS),
)


def verb_phrases() -> Iterator[str]:
    """Yield the 34 phrases that are done once."""
    yield from VERBS
    for manner in MANNERS:
        for verb in (*VERBS, "turn"):
            for direction in DIRECTIONS:
                yield " ".join(word for word in (verb, manner, direction) if word)


def phrases() -> list[str]:
    """Return the 102 phrases, done once, twice or thrice."""
    return [f"{phrase} {times}".strip() for phrase in verb_phrases() for times in TIMES]


def commands() -> list[str]:
    """Return all 20,910 commands.

    Example:
        >>> len(commands()), len(set(commands()))
        (20910, 20910)
    """
    single = phrases()
    joined = [f"{one} {join} {two}" for join in JOINS for one in single for two in single]
    return single + joined


@cache
def _phrase_actions(phrase: str) -> tuple[str, ...]:
    words = phrase.split()
    times = TIMES[words.pop()] if words[-1] in TIMES else 1
    if " ".join(words) not in set(verb_phrases()):
        raise UserError(f"SCAN has no phrase {phrase!r}; try: jump opposite left twice.")
    act: tuple[str, ...] = () if words[0] == "turn" else (f"I_{words[0].upper()}",)
    if words[-1] in DIRECTIONS:
        turn = (f"I_TURN_{words[-1].upper()}",)
        if "around" in words:
            act = 4 * (turn + act)
        else:
            act = (2 if "opposite" in words else 1) * turn + act
    return times * act


def actions(command: str) -> str:
    """Return what a command means.

    Raises:
        UserError: The grammar has no such command.

    Example:
        >>> actions("jump opposite left after walk twice")
        'I_WALK I_WALK I_TURN_LEFT I_TURN_LEFT I_JUMP'
    """
    for join in JOINS:
        parts = command.split(f" {join} ")
        if len(parts) == 2:
            first, second = parts if join == "and" else reversed(parts)
            return " ".join(_phrase_actions(first) + _phrase_actions(second))
    return " ".join(_phrase_actions(command))


def rules(command: str) -> list[tuple[str, ...]]:
    """Return the rules that make a command, each with those that it is applied to.

    The first word names the rule (a join, a number of times, a manner, a direction or a verb); the
    others are the rules of its arguments: what compounds of two levels are made of.

    Example:
        >>> rules("jump opposite left twice")
        [('twice', 'opposite'), ('opposite', 'left', 'jump'), ('left',), ('jump',)]
    """
    for join in JOINS:
        parts = command.split(f" {join} ")
        if len(parts) == 2:
            below = [rules(part) for part in parts]
            return [(join, *(one[0][0] for one in below)), *below[0], *below[1]]
    words = command.split()
    if words[-1] in TIMES:
        below = [rules(" ".join(words[:-1]))]
        return [(words[-1], below[0][0][0]), *below[0]]
    if len(words) == 1:
        return [(words[0],)]
    if len(words) == 2:
        return [(words[1], words[0]), (words[0],)]
    return [(words[1], words[2], words[0]), (words[2],), (words[0],)]
