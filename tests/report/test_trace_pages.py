"""Pages of one kind of trace."""

from types import SimpleNamespace

import pytest

from wug.report.markup import tag
from wug.report.trace_pages import trace_pages


def run(name, kinds, label="paper"):
    return SimpleNamespace(
        short_title=name, label=label, run=SimpleNamespace(scale="paper"),
        traces_of=lambda kind: [kind] * kinds.count(kind),
        page_of=lambda kind: f"{kind}-{name}-{label}.html",
    )  # fmt: skip


def pages_of(*runs, kind="memory", **more):
    sources = SimpleNamespace(runs=runs)
    return list(trace_pages(sources, kind, "Look.", lambda one: tag("p", one.label), **more))


def test_the_first_page_opens_on_a_run_and_leads_to_the_others():
    runs = run("a", ["memory"], "paper-trial"), run("b", []), run("c", ["memory"])
    pages = pages_of(*runs)
    assert [(page.path, page.title) for page in pages] == [
        ("memory.html", "Memory"),
        ("memory-a-paper-trial.html", "Memory: a"),
        ("memory-c-paper.html", "Memory: c"),
    ]
    first, other, same = (str(page.body) for page in pages)
    assert first.startswith("<h1>Memory</h1>") and "Look." in first
    assert '<a href="memory-c-paper.html" aria-current="page">c</a>' in first
    assert first.endswith("<p>paper</p>") and other.endswith("<p>paper-trial</p>")
    assert '<a href="memory-a-paper-trial.html">a</a>' in same
    assert not pages_of(*runs, kind="symbols")


def test_one_run_needs_no_links_and_a_title_is_not_said_twice():
    (first, page) = pages_of(run("Memory of words", ["memory"]))
    assert "<nav" not in str(first.body) and "<h1>Memory of words</h1>" in str(page.body)


def test_runs_of_one_experiment_are_told_apart():
    runs = run("a", ["memory"]), run("a", ["memory"], "mine")
    assert "a · paper</a>" in str(pages_of(*runs)[0].body)


@pytest.mark.parametrize(("best", "shown"), [("a", "<p>x</p>"), ("b", "<p>y</p>")])
def test_what_there_is_most_to_see_of_comes_first(best, shown):
    runs = run("a", ["memory"], "x"), run("b", ["memory"], "y")
    (page, *_) = pages_of(*runs, weight=lambda one: one.short_title == best)
    assert str(page.body).endswith(shown)
