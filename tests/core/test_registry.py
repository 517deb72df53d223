import json

import pytest

from wug.core import registry
from wug.core.errors import UserError
from wug.core.registry import Entry, find, register, registered


@pytest.fixture(autouse=True)
def own_register(monkeypatch):
    """An empty register, so that nothing is left behind."""
    monkeypatch.setattr(registry, "_entries", {})


def file_thing(kind="unit", name="Thing", qualname="Thing", **facts):
    def __init__(self):
        pass

    thing = type(qualname, (), {"__init__": __init__, "__doc__": "One line.\n\nMore lines."})
    return register(kind, name=name, references=("trask2018",), **facts)(thing)


def test_registering_returns_the_thing_itself():
    class Thing:
        """One line."""

    assert register("unit", name="T", references=())(Thing) is Thing


def test_what_is_filed():
    file_thing(equation="y = x", failure_modes=("never",), operations=("add",))
    (entry,) = registered()
    stem = __name__.rpartition(".")[2]
    assert entry == Entry(
        kind="unit",
        key=stem,
        name="Thing",
        summary="One line.",
        target=f"{__name__}:Thing",
        references=("trask2018",),
        equation="y = x",
        failure_modes=("never",),
        details={"operations": ("add",)},
    )
    assert json.loads(json.dumps(entry.to_json()))["details"] == {"operations": ["add"]}


def test_functions_are_filed_too():
    @register("experiment", key="paper.table", name="T", references=())
    def table():
        """Train all of it."""

    (entry,) = registered("experiment")
    assert entry.key == "paper.table" and entry.summary == "Train all of it."


def test_no_docstring_no_summary():
    @register("analysis", name="T", references=())
    def bare():
        pass

    assert registered()[0].summary == ""


def test_twice_the_same_is_fine_but_a_taken_key_is_not():
    file_thing()
    file_thing()
    assert len(registered()) == 1
    with pytest.raises(ValueError, match="unit '.*' is taken by .*:Thing; got .*:Other"):
        file_thing(qualname="Other")
    file_thing(kind="layer", qualname="Other")
    assert len(registered()) == 2


def test_sorted_by_kind_and_key():
    for kind, key in [("task", "a"), ("unit", "b"), ("experiment", "a"), ("unit", "a")]:
        file_thing(kind=kind, key=key)
    order = [("unit", "a"), ("unit", "b"), ("task", "a"), ("experiment", "a")]
    assert [(entry.kind, entry.key) for entry in registered()] == order
    assert [entry.key for entry in registered("unit")] == ["a", "b"]
    assert registered("model") == []


def test_find():
    file_thing(key="nau")
    file_thing(key="nmu")
    file_thing(kind="layer", key="nnu")
    assert find("unit", "nmu", registered()).key == "nmu"
    with pytest.raises(UserError) as caught:
        find("unit", "nnu", registered())
    assert str(caught.value).startswith("unknown unit 'nnu'; did you mean ")
    assert str(caught.value).endswith("Known: nau, nmu.")
