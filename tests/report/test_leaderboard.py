"""Models beside each other, by what their tasks claim."""

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.records import Record, RunStore
from wug.report.pages.leaderboard import Model, by_claim, glance, make
from wug.report.sources import find_sources

# Errors of ndr and lstm, in and out of distribution, on a task of each claim.
ERRORS = {
    ("ndr", "deep"): (0.0, 0.1),
    ("ndr", "new"): (0.0, 0.3),
    ("lstm", "deep"): (0.2, 0.9),
    ("lstm", "new"): (0.0, math.nan),
}
CLAIMS = {"deep": "productivity", "new": "systematicity"}
NDR, LSTM = Model("ndr", "ndr"), Model("lstm", "lstm")


def fill_card(folder: Path, claims: Any = CLAIMS, **rest: Any) -> Path:
    store = RunStore.open(folder, "card", {"minutes": 1})
    layout = {"rows": ["model"], "column": "task", "row_order": [], "column_order": list(CLAIMS),
              "measure": "accuracy", "baseline": None}  # fmt: skip
    store.write_catalog({"title": "Card", "claim": "productivity", "column_claims": claims,
                         "layout": layout, **rest})  # fmt: skip
    for (model, task), (inside, outside) in ERRORS.items():
        outcome = {"validation_error": inside, "test_error": outside, "error_is_share": True,
                   "solved": outside < 0.01, "threshold": 0.01}  # fmt: skip
        key = {"model": model, "task": task, "seed": 0}
        store.append(f"{model}-{task}", [
            Record(experiment="card", kind="scalar", key=key, config={}, seed=0, seconds=1.0,
                   outcome=outcome, versions={})
        ])  # fmt: skip
    return folder


def words(html: object) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", str(html)))


def test_columns_of_a_run_may_test_different_claims(tmp_path: Path) -> None:
    contests = by_claim(find_sources([fill_card(tmp_path / "card")]).runs)
    assert list(contests) == ["productivity", "systematicity"]
    (deep,), (new,) = contests.values()
    assert deep.score(NDR) == pytest.approx(0.9) and deep.inside(LSTM) == pytest.approx(0.8)
    assert new.score(NDR) == pytest.approx(0.7)


def test_right_answers_out_of_distribution_stand_above_those_in_it(tmp_path: Path) -> None:
    (page,) = make(find_sources([fill_card(tmp_path / "card")]))
    text = words(page.body)
    assert "ndr 90 in distribution 100.0" in text and "lstm 10 in distribution 80.0" in text
    assert "lstm 0 in distribution 100.0" in text  # what diverged answers nothing
    assert "ndr 90 in distribution 100.0 · 1 experiment 70" in text  # both claims in a row


def test_claims_are_in_their_order_and_need_two(
    tmp_path: Path, run_folder: Path, by_hand: SimpleNamespace
) -> None:
    old = by_claim(find_sources([run_folder]).runs)
    assert list(old) == [""] and not glance(old)  # a catalog from before claims were in it
    both = by_claim(find_sources([fill_card(tmp_path / "card"), run_folder]).runs)
    assert list(both) == ["productivity", "systematicity", ""]
    # Solved trainings where answers don't count; models of one experiment are left out.
    assert "nmu" not in words(glance(both)) and both[""][0].score(Model("nmu", "nmu")) <= 1


def test_claims_of_the_wrong_form_are_named(tmp_path: Path) -> None:
    sources = find_sources([fill_card(tmp_path / "card", claims={"deep": 5})])
    assert any("column_claims must be text" in problem for problem in sources.runs[0].problems)
    assert list(by_claim(sources.runs)) == ["productivity"]


def test_a_row_leads_to_the_page_of_its_unit_which_stands_beside_it(tmp_path: Path) -> None:
    one = fill_card(tmp_path / "one", row_units={"lstm": "recurrent_network"})
    (page,) = make(find_sources([one]))
    assert '<a href="unit-recurrent_network.html">lstm</a> <small' in page.body
    assert "lstm recurrent_network 10 in distribution 80.0" in words(page.body)
    assert '<a href="unit-ndr.html">ndr</a></th>' in page.body


def test_rows_of_one_name_and_two_units_have_two_lines(
    tmp_path: Path, run_folder: Path, by_hand: SimpleNamespace
) -> None:
    catalog = {**by_hand.catalog(), "row_units": {"nau": "mlp"}}
    other = by_hand.fill(tmp_path / "other", "other", 7, catalog)
    (contests,) = by_claim(find_sources([run_folder, other]).runs).values()
    models = {model for contest in contests for model in contest.runs}
    assert models == {Model("nau", "nau"), Model("nau", "mlp"), Model("nmu", "nmu")}
