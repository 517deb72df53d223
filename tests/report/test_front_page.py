"""The front page, the papers and the claims, as they are made from records."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from wug.core import index
from wug.core.folders import results_folder
from wug.core.papers import report_entries
from wug.report.evidence import brief, spoken
from wug.report.pages import claims, overview, paper
from wug.report.papers import chapter_of, papers_of
from wug.report.sources import Sources, find_sources
from wug.stats.comparison_table import measures_of


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Two experiments of one paper and one of another, with networks."""
    names = ("csordas2023.ctl", "csordas2023.simple_arithmetic", "madsen2020.four_inputs")
    return find_sources([results_folder() / name for name in names], report_entries())


def plain(html: object) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", str(html)))


def test_the_front_has_four_figures_that_lead_on(sources: Sources) -> None:
    (page,) = overview.make(sources)
    figures = re.findall(r'<a href="([^"]+)" class="headline"><b>(.*?)</b>', page.body)
    assert len(figures) == 4
    links = dict(figures)
    assert links["run-madsen2020.four_inputs~paper.html"] == "3 of 3"
    assert links["routing-csordas2023.ctl~laptop.html"] == "100 %"
    assert {"claims.html", "leaderboard.html"} <= links.keys()
    assert 'id="runs"' in page.body and 'id="claims"' in page.body  # addresses of before


def test_experiments_are_grouped_by_paper_and_chapter(sources: Sources) -> None:
    papers = {one.key: one for one in papers_of(sources)}
    thesis = papers["csordas2023"]
    assert thesis.title == "Systematic Generalization in Connectionist Models"
    (chapter,) = (name for name in thesis.chapters if name.startswith("5."))
    done = [item.key for item in thesis.chapters[chapter] if item.runs]
    assert done == ["csordas2023.ctl", "csordas2023.simple_arithmetic"]
    (page,) = overview.make(sources)
    text = plain(page.body)
    count = sum(e.key.startswith("csordas2023.") for e in index.entries("experiment"))
    assert f"2 of {count} tables run" in text and "wug run" not in text
    assert "12 trainings in 3.7 h · laptop" in text


def test_a_paper_says_what_holds_and_what_was_not_run(sources: Sources) -> None:
    pages = {page.path: plain(page.body) for page in paper.make(sources)}
    text = pages["paper-csordas2023.html"]
    assert "A thesis on networks that generalise systematically" in text
    assert "claims were judged" in text and "wug run csordas2023.cogs" in text
    assert re.search(r"COGS tables 4.2 .{,50} laptop ~?\d+ min · paper", text)
    assert "paper-madsen2020.html" in pages and "papers.html" in pages


def test_claims_show_evidence_and_why_they_are_open(sources: Sources) -> None:
    (page,) = claims.make(sources)
    text = plain(page.body)
    assert "Not run yet: dnc forward, dnc backward." in text
    assert "One seed gives no interval: 3 are the least." in text
    verdicts = re.findall(r'data-verdict="(\w+)"', page.body)
    order = ("broken", "held", "undecided")
    assert verdicts == sorted(verdicts, key=order.index)


def test_evidence_is_told_by_the_measures_of_the_run() -> None:
    measures = [
        {"name": "first_under_not_first", "title": "Pair 1 without its weights", "path": "x.x",
         "unit": "%", "notation": "per cent", "digits": 1},
        {"name": "first", "title": "First", "path": "observed.first", "unit": "s"},
        {"name": "solved_at", "title": "Solved at", "path": "solved_at", "unit": "steps"},
    ]  # fmt: skip
    known = measures_of({"measures": measures})
    evidence = ["fnn: first under not first 0.056 vs lstm: first under not first unknown",
                "a [1,2): solved at 1.57e+04 vs b: first 2e-05", "nmu: 25/25"]  # fmt: skip
    assert spoken({"verdict": "held", "evidence": evidence}, known)["evidence"] == [
        "fnn: pair 1 without its weights 5.6 % vs lstm: first under not first unknown",
        "a [1,2): solved at 15,700 steps vs b: first 2e-5 s", "nmu: 25/25",
    ]  # fmt: skip


def test_long_evidence_is_brief() -> None:
    judged = {"verdict": "held", "evidence": list("abcde"), "open": ""}
    assert brief(judged) == "a; b; c; and 2 more"


def test_tables_of_appendices_have_no_chapter() -> None:
    assert chapter_of("table C.6", {"4": "x"}) == "Appendices" and chapter_of("table 1", {}) == ""
    assert chapter_of("appendix B.4.1", {"4": "x"}) == "Appendices"


def test_a_claim_that_no_paper_makes_says_so() -> None:
    (page,) = claims.make(find_sources([results_folder() / "csordas2023.class_removal"]))
    text = plain(page.body)
    assert "Masks without one class of pictures · a question of our own" in text
    assert "· none" not in text and "· ours" not in text


def test_a_site_without_networks_or_registers_has_a_front(
    run_folder: Path, by_hand: SimpleNamespace
) -> None:
    (page,) = overview.make(find_sources([run_folder]))
    assert "Networks that learn the rule" in page.body and not page.scripts
    assert "run-demo~paper.html" in page.body
