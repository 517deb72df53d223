"""A small grammar of questions about films, after CFQ (Keysers et al., 2020), and their queries.

Who did what to which film: verbs in the active or the passive, joined verbs and names, descriptions
inside of descriptions. Every question has one reading, so that its query is a function of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple, TypeAlias

# A rule's name, then its parts: trees, or words.
Tree: TypeAlias = tuple[Any, ...]

# Base form, past and participle of what relations are asked for with.
VERBS = {
    "direct": ("directed", "directed"),
    "produce": ("produced", "produced"),
    "edit": ("edited", "edited"),
    "write": ("wrote", "written"),
    "influence": ("influenced", "influenced"),
}
NOUNS = ("film", "director", "producer", "editor", "writer", "actor")
NUM_NAMES = 6
NAMES = tuple(f"M{number}" for number in range(NUM_NAMES))
VARIABLES = tuple(f"?x{number}" for number in range(8))

QUESTION_WORDS = tuple(
    dict.fromkeys(
        [
            *("Did", "Was", "Who", "Which", "was", "by", "a", "that", "and", ","),
            *NAMES,
            *NOUNS,
            *VERBS,
            *(form for forms in VERBS.values() for form in forms),
        ]
    )
)
QUERY_WORDS = ("SELECT", "DISTINCT", "count", "(", "*", ")", "WHERE", "{", "}", ".", "is_a",
               *NAMES, *VARIABLES, *NOUNS, *VERBS)  # fmt: skip


class Question(NamedTuple):
    """A question, the query that answers it, and the rules that made it."""

    text: str
    query: str
    tree: Tree


class _Writer:
    """Writes a question and collects what it asks for: (subject, relation, object) statements."""

    def __init__(self) -> None:
        self.num_names = self.num_variables = 0
        self.statements: set[tuple[str, str, str]] = set()

    def variable(self) -> str:
        self.num_variables += 1
        return VARIABLES[self.num_variables - 1]

    def noun_phrase(self, tree: Tree) -> tuple[list[str], list[str]]:
        """Return the words of a noun phrase and whom it stands for."""
        kind, *parts = tree
        if kind == "names":
            names = [NAMES[self.num_names + number] for number in range(len(parts))]
            self.num_names += len(parts)
            return joined(names), names
        who = self.variable()
        self.statements.add((who, "is_a", parts[0]))
        words = ["a", parts[0]]
        if kind == "that":
            words += ["that", *self.verb_phrase(parts[1], [who])]
        return words, [who]

    def verb_phrase(self, tree: Tree, who: Sequence[str], base: bool = False) -> list[str]:
        """Return the words of what someone did, or had done to them."""
        kind, verbs, other = tree
        if kind == "active":
            forms = verbs if base else [VERBS[verb][0] for verb in verbs]
            words, whom = self.noun_phrase(other)
            self.state(who, verbs, whom)
            return [*joined(forms), *words]
        forms = [VERBS[verb][1] for verb in verbs]
        words, by = self.noun_phrase(other)
        self.state(by, verbs, who)
        return [*([] if base else ["was"]), *joined(forms), "by", *words]

    def state(self, who: Sequence[str], verbs: Sequence[str], whom: Sequence[str]) -> None:
        self.statements |= {(a, verb, b) for a in who for verb in verbs for b in whom}

    def question(self, tree: Tree) -> tuple[str, str]:
        """Return a question and its query."""
        kind, *parts = tree
        if kind == "yes_no":
            subject, action = parts
            first = ["Did" if action[0] == "active" else "Was"]
            words, who = self.noun_phrase(subject)
            words = [*first, *words, *self.verb_phrase(action, who, base=True)]
            asked = "SELECT count ( * )"
        else:
            who = [self.variable()]
            asked, words = f"SELECT DISTINCT {who[0]}", ["Who"]
            if kind == "which":
                words = ["Which", parts[0]]
                self.statements.add((who[0], "is_a", parts[0]))
            words += self.verb_phrase(parts[-1], who)
        body = " . ".join(" ".join(one) for one in sorted(self.statements))
        return " ".join(words), f"{asked} WHERE {{ {body} }}"


def joined(words: Sequence[str]) -> list[str]:
    """Join words by commas and a last "and".

    Example:
        >>> joined(["M0", "M1", "M2"])
        ['M0', ',', 'M1', 'and', 'M2']
    """
    out = [words[0]]
    for number, word in enumerate(words[1:], 2):
        out += ["and" if number == len(words) else ",", word]
    return out


def write(tree: Tree) -> Question:
    """Write the question and the query of a tree.

    Example:
        >>> made = write(("who", ("active", ("direct", "edit"), ("names", "name"))))
        >>> made.text
        'Who directed and edited M0'
        >>> made.query
        'SELECT DISTINCT ?x0 WHERE { ?x0 direct M0 . ?x0 edit M0 }'
    """
    return Question(*_Writer().question(tree), tree)


def rules(tree: Tree) -> list[tuple[str, ...]]:
    """Return the rules of a tree, each with those that it is applied to, and the words alone.

    Example:
        >>> rules(("who", ("active", ("edit",), ("names", "name"))))
        [('who', 'active'), ('active', 'edit', 'names'), ('edit',), ('names', 'name'), ('name',)]
    """
    return list(_rules(tree))


def _rules(tree: Tree) -> Iterator[tuple[str, ...]]:
    kind, *parts = tree
    flat: list[Any] = []
    for part in parts:
        is_words = isinstance(part, tuple) and part[0] in VERBS
        flat += part if is_words else [part]
    yield (kind, *(part[0] if isinstance(part, tuple) else part for part in flat))
    for part in flat:
        if isinstance(part, tuple):
            yield from _rules(part)
        else:
            yield (part,)


class TreeSampler:
    """Draws random trees of the grammar.

    Args:
        rng: Where they come from; only its `random` is used, which is the same everywhere.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def _below(self, number: int) -> int:
        return int(self.rng.random() * number)

    def _verbs(self) -> tuple[str, ...]:
        names = list(VERBS)
        return tuple(names.pop(self._below(len(names))) for _ in range(1 + self._below(2)))

    def _noun_phrase(self, depth: int) -> Tree:
        choice = self.rng.random()
        if choice < 0.45 or depth > 2:
            return ("names", *["name"] * (1 + self._below(2)))
        noun = NOUNS[self._below(len(NOUNS))]
        return ("a", noun) if choice < 0.6 else ("that", noun, self._verb_phrase(depth + 1))

    def _verb_phrase(self, depth: int) -> Tree:
        kind = "active" if self.rng.random() < 0.5 else "passive"
        return (kind, self._verbs(), self._noun_phrase(depth))

    def draw(self) -> Tree:
        """Draw a question's tree."""
        choice = self._below(3)
        if choice == 0:
            return ("yes_no", self._noun_phrase(1), self._verb_phrase(0))
        if choice == 1:
            return ("who", self._verb_phrase(0))
        return ("which", NOUNS[self._below(len(NOUNS))], self._verb_phrase(0))


def num_names(tree: Any) -> int:
    """Count the names of a tree."""
    if not isinstance(tree, tuple):
        return int(tree == "name")
    return sum(num_names(part) for part in tree)


def draw_questions(number: int, rng: Random) -> list[Question]:
    """Draw different questions.

    Example:
        >>> len({question.text for question in draw_questions(50, Random(0))})
        50
    """
    sampler, found = TreeSampler(rng), dict[str, Question]()
    while len(found) < number:
        tree = sampler.draw()
        if num_names(tree) <= NUM_NAMES:
            question = write(tree)
            found[question.text] = question
    return list(found.values())
