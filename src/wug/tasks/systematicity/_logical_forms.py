"""Logical forms of COGS (Kim and Linzen, 2020) and ReCOGS' positional form (Wu et al., 2023).

COGS says "eat . agent ( x _ 2 , Emma )". ReCOGS writes every entity once, with its place in the
sentence, then events and their roles: "Emma ( 1 ) ; ... eat ( 2 ) AND agent ( 2 , 1 )": the same
meaning without details that tell nothing of understanding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wug.core.errors import UserError


class Conjunct(NamedTuple):
    """One statement: a predicate, such as ``eat . agent``, of variables or names."""

    definite: bool
    predicate: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        """Write it as a form does."""
        return f"{'* ' * self.definite}{self.predicate} ( {' , '.join(self.arguments)} )"


def parse(form: str) -> list[Conjunct]:
    """Take a form of either kind apart.

    Raises:
        UserError: It is not well formed.

    Example:
        >>> parse("* cake ( x _ 3 ) ; eat . theme ( x _ 1 , x _ 3 )")[0]
        Conjunct(definite=True, predicate='cake', arguments=('x _ 3',))
    """
    found = []
    for text in form.replace(" AND ", " ; ").split(" ; "):
        definite = text.startswith("* ")
        predicate, opened, rest = text.removeprefix("* ").partition(" ( ")
        inside, closed, after = rest.partition(" )")
        if not (opened and closed and predicate.strip()) or after or not inside.strip():
            raise UserError(f"logical form: {text!r} is not a predicate with its arguments.")
        found.append(Conjunct(definite, predicate, tuple(inside.split(" , "))))
    return found


def is_primitive(form: str) -> bool:
    """Say whether a form is that of a single word, without a sentence.

    Example:
        >>> [is_primitive(form) for form in ("LAMBDA a . cake ( a )", "Emma", "cake ( x _ 1 )")]
        [True, True, False]
    """
    return form.startswith("LAMBDA") or "(" not in form


def to_positional(sentence: str, form: str) -> str:
    """Write a form of COGS as ReCOGS' positional form; words alone keep theirs.

    Example:
        >>> to_positional("Emma slept .", "sleep . agent ( x _ 1 , Emma )")
        'Emma ( 0 ) ; sleep ( 1 ) AND agent ( 1 , 0 )'
    """
    if is_primitive(form):
        return form
    words = sentence.split()

    def place(argument: str) -> str:
        if argument.startswith("x _ "):
            return argument[4:]
        return str(words.index(argument))

    entities, events, known = {}, [], set()
    for conjunct in parse(form):
        places = tuple(place(argument) for argument in conjunct.arguments)
        for argument, number in zip(conjunct.arguments, places, strict=True):
            if not argument.startswith("x _ "):
                entities[int(number)] = Conjunct(False, argument, (number,))
        if len(places) == 1:
            entities[int(places[0])] = conjunct._replace(arguments=places)
            continue
        head, _, role = conjunct.predicate.partition(" . ")
        if not role.startswith("nmod") and places[0] not in known:
            known.add(places[0])
            events.append(Conjunct(False, head, places[:1]))
        events.append(Conjunct(False, role, places))
    first = " ; ".join(str(entities[number]) for number in sorted(entities))
    return f"{first} ; {' AND '.join(map(str, events))}"


def from_positional(form: str) -> str:
    """Write a positional form as COGS does: the other way round.

    Example:
        >>> from_positional("Emma ( 0 ) ; * cake ( 3 ) ; like ( 1 ) AND theme ( 1 , 3 )")
        '* cake ( x _ 3 ) ; like . theme ( x _ 1 , x _ 3 )'
    """
    if is_primitive(form):
        return form
    conjuncts = parse(form)
    heads = {c.arguments[0]: c for c in conjuncts if len(c.arguments) == 1}
    roles = [c for c in conjuncts if len(c.arguments) == 2]
    events = {c.arguments[0] for c in roles if not c.predicate.startswith("nmod")}

    def argument(place: str) -> str:
        head = heads.get(place)
        if head is None:
            raise UserError(f"logical form: nothing stands at place {place} of {form!r}.")
        is_name = head.predicate[0].isupper() and place not in events
        return head.predicate if is_name else f"x _ {place}"

    written = [
        (int(c.arguments[0]), Conjunct(False, f"{heads[c.arguments[0]].predicate} . {c.predicate}",
                                       tuple(map(argument, c.arguments))))
        for c in roles if c.arguments[0] in heads
    ]  # fmt: skip
    nouns = [
        (int(place), head._replace(arguments=(f"x _ {place}",)))
        for place, head in heads.items()
        if place not in events and argument(place) != head.predicate
    ]
    definite = [str(noun) for _, noun in sorted(nouns) if noun.definite]
    rest = [(place, noun) for place, noun in nouns if not noun.definite] + written
    others = [str(one) for _, one in sorted(rest, key=lambda entry: entry[0])]
    return " ; ".join([*definite, " AND ".join(others)] if others else definite)


def same_meaning(one: str, other: str) -> bool:
    """Say whether two forms are the same up to the order of conjuncts and the names of variables.

    Example:
        >>> same_meaning("cat ( 1 ) ; see ( 4 ) AND agent ( 4 , 1 )",
        ...     "cat ( 2 ) ; agent ( 3 , 2 ) AND see ( 3 )")
        True
    """
    try:
        forms = parse(one), parse(other)
    except UserError:
        return one.split() == other.split()
    if len(forms[0]) != len(forms[1]):
        return False
    colours = [_colours(form) for form in forms]
    if Counter(colours[0].values()) != Counter(colours[1].values()):
        return False
    wanted = Counter(forms[1])
    return any(
        Counter(c._replace(arguments=tuple(names[a] for a in c.arguments)) for c in forms[0])
        == wanted
        for names in _renamings(*colours)
    )


def _colours(form: Sequence[Conjunct]) -> dict[str, int]:
    """Tell variables apart by what is said of them, of those that they stand with, and so on."""
    variables = dict.fromkeys(argument for c in form for argument in c.arguments)
    colours = {v: 0 if _is_variable(v) else hash(v) for v in variables}
    for _ in range(len(variables)):
        # A hash of integers and strings is the same within a process, and that is enough here.
        told = {
            v: hash((colours[v], tuple(sorted(
                (c.definite, c.predicate, place, tuple(colours[a] for a in c.arguments))
                for c in form for place, a in enumerate(c.arguments) if a == v))))
            for v in variables
        }  # fmt: skip
        if len(set(told.values())) == len(set(colours.values())):
            return told
        colours = told
    return colours


def _is_variable(argument: str) -> bool:
    return argument.startswith("x _ ") or argument.isdigit()


def _renamings(one: dict[str, int], other: dict[str, int]) -> Iterator[dict[str, str]]:
    """Yield the ways to rename variables that keep their colours."""
    if not one:
        yield {}
        return
    name = next(iter(one))
    rest = {key: value for key, value in one.items() if key != name}
    for target, colour in other.items():
        if colour == one[name]:
            left = {key: value for key, value in other.items() if key != target}
            for renaming in _renamings(rest, left):
                yield {name: target, **renaming}
