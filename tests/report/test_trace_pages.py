"""Pages of one kind of trace."""

from types import SimpleNamespace

from wug.report.markup import tag
from wug.report.trace_pages import trace_pages


def run(name, kinds):
    return SimpleNamespace(
        short_title=name,
        traces_of=lambda kind: [kind] * kinds.count(kind),
        page_of=lambda kind: f"{kind}-{name}.html",
    )


def test_a_list_and_a_page_for_each_run_that_has_some():
    sources = SimpleNamespace(runs=[run("a", ["memory"]), run("b", []), run("c", ["memory"])])
    pages = list(
        trace_pages(
            sources, "memory",
            lambda runs: tag("p", str(len(runs))), lambda one: tag("p", one.short_title),
        )
    )  # fmt: skip
    assert [(page.path, page.title, str(page.body)) for page in pages] == [
        ("memory.html", "Memory", "<p>2</p>"),
        ("memory-a.html", "Memory: a", "<p>a</p>"),
        ("memory-c.html", "Memory: c", "<p>c</p>"),
    ]
    assert not list(trace_pages(sources, "symbols", None, None))
