"""Models beside each other, by what their tasks claim."""

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wug.records import Record, RunStore
from wug.report.pages.leaderboard import make
from wug.report.scatter import axes
from wug.report.sources import find_sources
from wug.report.standings import Contest, Model, Standing, by_claim

# Errors of ndr and lstm, in and out of distribution, on a task of each claim.
ERRORS = {
    ("ndr", "deep"): (0.0, 0.1),
    ("ndr", "new"): (0.0, 0.3),
    ("lstm", "deep"): (0.2, 0.9),
    ("lstm", "new"): (0.0, math.nan),
}
CLAIMS = {"deep": "productivity", "new": "systematicity"}
NDR, LSTM = Model("ndr", "ndr"), Model("lstm", "lstm")


def fill_card(folder: Path, claims: Any = CLAIMS, seeds: int = 1, **rest: Any) -> Path:
    store = RunStore.open(folder, "card", {"minutes": 1})
    layout = {"rows": ["model"], "column": "task", "row_order": [], "column_order": list(CLAIMS),
              "measure": "accuracy", "baseline": None}  # fmt: skip
    store.write_catalog({"title": "Card", "claim": "productivity", "column_claims": claims,
                         "layout": layout, **rest})  # fmt: skip
    for (model, task), (inside, outside) in ERRORS.items():
        for seed in range(seeds):
            outcome = {"validation_error": inside, "test_error": outside + 0.01 * seed,
                       "error_is_share": True, "solved": outside < 0.01,
                       "threshold": 0.01}  # fmt: skip
            key = {"model": model, "task": task, "seed": seed}
            store.append(f"{model}-{task}-{seed}", [
                Record(experiment="card", kind="scalar", key=key, config={}, seed=seed,
                       seconds=1.0, outcome=outcome, versions={})
            ])  # fmt: skip
    return folder


def words(html: object) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", str(html)))


def standing(contest: Contest, model: Model) -> Standing:
    return next(one for one in contest.standings if one.model == model)


def test_columns_of_a_run_may_test_different_claims(tmp_path: Path) -> None:
    contests = by_claim(find_sources([fill_card(tmp_path / "card")]).runs)
    assert list(contests) == ["productivity", "systematicity"]
    (deep,), (new,) = contests.values()
    assert standing(deep, NDR).outside.value == pytest.approx(0.9)
    assert standing(deep, LSTM).inside == pytest.approx(0.8)
    assert standing(new, NDR).outside.value == pytest.approx(0.7)
    assert [one.model for one in deep.standings] == [NDR, LSTM]  # ranked
    assert not standing(deep, NDR).outside.has_interval  # of one seed


def test_intervals_of_several_seeds_are_drawn(tmp_path: Path) -> None:
    sources = find_sources([fill_card(tmp_path / "card", seeds=4)])
    (deep,), _ = by_claim(sources.runs).values()
    assert standing(deep, NDR).outside.has_interval
    (page,) = make(sources)
    assert page.body.count('class="reach"') >= 2 and page.body.count('class="interval"') >= 2


def test_every_point_and_line_leads_to_its_page(tmp_path: Path) -> None:
    (page,) = make(find_sources([fill_card(tmp_path / "card")]))
    points = re.findall(r'<a href="([^"]+)" aria-label="([^"]+)" class="point">', page.body)
    assert points and {href for href, _ in points} == {"run-card~card.html"}
    spoken = dict.fromkeys(label for _, label in points)
    assert "ndr, Card: 100 % in distribution, 90 % out of distribution, 1 training" in spoken
    assert '<a href="unit-ndr.html">ndr</a>' in page.body
    text = words(page.body)
    assert text.index("ndr 90 %") < text.index("lstm 10 %")


def test_claims_are_in_their_order(tmp_path: Path, run_folder: Path) -> None:
    old = by_claim(find_sources([run_folder]).runs)
    assert list(old) == [""]  # a catalog from before claims were in it
    both = by_claim(find_sources([fill_card(tmp_path / "card"), run_folder]).runs)
    assert list(both) == ["productivity", "systematicity", ""]
    # Solved trainings where answers don't count, inside by the same bound.
    assert both[""][0].kind == "solved"
    nmu = standing(both[""][0], Model("nmu", "nmu"))
    assert 0 <= nmu.outside.value <= 1 and nmu.outside.has_interval and 0 <= nmu.inside <= 1


def test_claims_of_the_wrong_form_are_named(tmp_path: Path) -> None:
    sources = find_sources([fill_card(tmp_path / "card", claims={"deep": 5})])
    assert any("column_claims must be text" in problem for problem in sources.runs[0].problems)
    assert list(by_claim(sources.runs)) == ["productivity"]


def test_cases_of_one_model_are_folded_behind_its_best(tmp_path: Path) -> None:
    one = fill_card(tmp_path / "one", row_units={"lstm": "net", "ndr": "net"})
    (page,) = make(find_sources([one]))
    assert page.body.count('<a href="unit-net.html">net</a>') == 2  # once for each claim
    assert page.body.count("1 more case<") == 2
    (deep,), _ = by_claim(find_sources([one]).runs).values()
    assert [[s.model.row for s in group] for group in deep.folded] == [["ndr", "lstm"]]


def test_rows_of_one_name_and_two_units_have_two_lines(
    tmp_path: Path, run_folder: Path, by_hand: SimpleNamespace
) -> None:
    catalog = {**by_hand.catalog(), "row_units": {"nau": "mlp"}}
    other = by_hand.fill(tmp_path / "other", "other", 7, catalog)
    (contests,) = by_claim(find_sources([run_folder, other]).runs).values()
    models = {model for contest in contests for model in contest.runs}
    assert models == {Model("nau", "nau"), Model("nau", "mlp"), Model("nmu", "nmu")}


def test_smoke_runs_are_on_no_board(tmp_path: Path) -> None:
    assert list(make(find_sources([fill_card(tmp_path / "card")]))) != []
    assert list(make(find_sources([fill_card(tmp_path / "smoke", scale="smoke")]))) == []


def test_ticks_stay_inside_and_apart_when_letters_are_large() -> None:
    # On a phone letters have 20 of the picture's units: about 11 for each, of which 5 for a space.
    ticks = [
        (float(x), anchor, text)
        for x, anchor, text in re.findall(
            r'<text x="([\d.]+)" y="[\d.]+" text-anchor="(end|start)">([^<]+)<',
            "".join(axes("inside", "outside")),
        )
    ]
    ends = [x - 11 * len(text) + 6 for x, anchor, text in ticks if anchor == "end"]
    assert len(ends) == 5 and min(ends) > 16  # right of the name of the axis
    (zero,) = [x for x, anchor, _ in ticks if anchor == "start"]
    assert zero > max(x for x, anchor, _ in ticks if anchor == "end")
