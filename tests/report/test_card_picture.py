"""A card as a picture: what is scored has a bar, what is not says so."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from wug.records import Record, RunStore, read_run
from wug.report.card_picture import card_svg
from wug.stats.comparison_table import make_table


def table(folder: Path, **further: Any) -> Any:
    store = RunStore.open(folder, "card", {"minutes": 1})
    layout = {"rows": ["model"], "column": "task", "row_order": [["mine<"], ["ndr"]],
              "column_order": ["ctl", "listops"], "measure": "accuracy"}  # fmt: skip
    store.write_catalog({"title": "Card", "layout": layout, **further})
    for model, task in (("mine<", "ctl"), ("mine<", "listops"), ("ndr", "ctl")):
        split = {"accuracy": 0.25, "error": 0.75}
        selected = {"test": split, "validation": dict.fromkeys(split, 0.5)}
        outcome = {"schema": 2, "solved": False, "steps": 10, "selected": selected}
        key = {"model": model, "task": task, "seed": 0}
        store.append(f"{len(model)}{task}", [
            Record(experiment="card", key=key, config={}, seed=0, outcome=outcome)
        ])  # fmt: skip
    return make_table(read_run(folder))


def test_every_model_and_task_has_a_bar(tmp_path: Path) -> None:
    svg = card_svg(table(tmp_path / "card", chance={"accuracy": {"ctl": 0.125}}), "2 minutes")
    root = ElementTree.fromstring(svg)
    words = [element.text for element in root.iter() if element.text]
    assert words.count("25 %") == 3 and words.count("not scored") == 1  # ndr has no listops
    assert "Does mine< learn the rule?" in words and any("2 minutes" in word for word in words)
    dashed = [e for e in root.iter() if e.get("stroke-dasharray")]
    assert len(dashed) == 2


def test_what_is_left_out_is_not_scored(tmp_path: Path) -> None:
    why = {"row": ["mine<"], "column": "ctl", "why": "3 steps"}
    left = table(tmp_path / "card", left_out=[why])
    assert left.left_out == ("mine< ctl: 3 steps",)
    words = [e.text for e in ElementTree.fromstring(card_svg(left)).iter() if e.text]
    assert words.count("25 %") == 2 and words.count("not scored") == 2
