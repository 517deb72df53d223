"""What `wug show` says of shipped results is what it said before measures were data.

The fixture was made by the last version in which each measure was spelled out. What has changed on
purpose since then is listed in `ON_PURPOSE`. Of experiments whose results were made again with
other data, or have grown, the packs of that time are shown.
"""

import json
import lzma
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wug.cli import show as module
from wug.cli.show import show, table_beside
from wug.core import index
from wug.records import read_run
from wug.report.run_source import RunSource, read_source
from wug.stats.comparison_table import ResultTable

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "tests" / "fixtures" / "shown" / "before.json.xz"
# Results that made room for better ones.
MOVED = {
    "results/csordas2023.listops/laptop": "results/csordas2023.listops/laptop-batches-as-they-come"
}
BEFORE: dict[str, dict[str, str]] = {
    MOVED.get(run, run): {way: said.replace(run, MOVED.get(run, run)) for way, said in ways.items()}
    for run, ways in json.loads(lzma.decompress(FIXTURE.read_bytes())).items()
}
WAYS: dict[str, dict[str, Any]] = {
    "claims": {"claims": True},
    "json": {"json": True},
    "csv": {"csv": True},
    "latex": {"latex": True},
    "markdown": {"markdown": True},
    "legacy": {"csv": True, "legacy": True},
    "relative": {"relative": True},
    "against": {"against": "results/mistry2022.single_module/paper-shared"},
}
# It asked for more than its sentence says: each operation instead of all together.
JUDGED_ANEW = {"units_converge_more_consistently"}
# Experiments whose first results came later.
LATER = {
    "csordas2023.add_mul", "csordas2023.babi", "csordas2023.class_removal", "csordas2023.cogs",
    "csordas2023.dnc_copy", "csordas2023.dnc_key_value", "csordas2023.dnc_links",
    "csordas2023.dnc_recall", "csordas2023.double_add",
    "csordas2023.efficiency", "csordas2023.expert_usage", "csordas2023.pcfg", "csordas2023.pkm",
    "csordas2023.scan_length", "csordas2023.sigma_moe", "csordas2023.top_k",
    "faber2020.mnist_comparison", "faber2020.shortest_paths", "heim2020.epidemic",
    "heim2020.relevance_gate", "madsen2020.mnist_product",
    "trask2018.number_words", "trask2018.programs", "wug.memory",
}  # fmt: skip
# Claims that came later.
LATER_CLAIMS = {
    "gates_open_in_turn", "columns_attend_to_neighbours", "branches_run_at_once",
    "failed_seeds_have_clusters", "successful_seeds_have_none",
}  # fmt: skip
# What claims did not have.
LATER_PARTS = {"note"}
# Claims that failures decided of networks that did not learn their training set.
GUARDED = {
    "lstm_solves_the_forward_order_only", "dnc_solves_the_forward_order_only",
    "plain_transformers_fail", "geometric_attention_needs_the_gate",
    "gate_solves_the_forward_order", "readout_hardly_matters", "readout_swaps_the_orders",
    "no_readout_saves_plain_transformers", "attention_readout_is_no_better",
    "only_bilstm_solves_new_compositions", "some_seeds_of_ndr_solve_r",
    "some_seeds_of_the_transformer_solve_r", "no_seed_solves_a", "alternating_is_harder",
    "baselines_do_not_solve_deeper_problems", "ndr_is_best", "both_directions_do_not_help",
    "no_rival_solves_deeper_problems",
}  # fmt: skip
# Run, way -> why it differs. Halting steps have a measure and a chart of their own now, but no
# shipped results have them.
ON_PURPOSE: dict[tuple[str, str], str] = {
    (
        f"results/csordas2023.{run}",
        way,
    ): "the catalog, written anew, names its measures, without sparsity"
    for run in ("ctl/laptop", "ctlpp_ar/laptop", "listops/laptop-batches-as-they-come")
    for way in ("json", "csv", "legacy", "sparsity")
}
# The published fit stops before it is at its maximum, and where it stops depends on the rounding of
# the processor: on two kinds of machines its limits differed by up to 1.2e-4 of themselves.
TOLERANCES = {"legacy": 5e-4}
OPTION = re.compile(r"--(\w+) ((?:(?!--).)+)")
# Since then claims that are undecided say why.
OPEN = re.compile(r',\s*"open": "(?:[^"\\]|\\.)*"')
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
# Since then evidence is told in the words of the pages; verdicts and what they are about stay.
VERDICT = re.compile(r"^ *(?:held|broken|undecided)  .*$", re.MULTILINE)


def same(one: str, other: str, tolerance: float = 1e-6) -> bool:
    """Say whether words are equal, and numbers but for the last digits of another machine's."""
    (words, numbers), (other_words, other_numbers) = (
        (parts[::2], parts[1::2])
        for parts in (NUMBER.split(OPEN.sub("", text)) for text in (one, other))
    )
    return words == other_words and all(
        a == b or float(a) == pytest.approx(float(b), rel=tolerance, abs=1e-12)
        for a, b in zip(numbers, other_numbers, strict=True)
    )


@pytest.fixture(autouse=True)
def _each_table_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the table of a run once and not once for each way to show it."""
    tables: dict[tuple[str, ...], ResultTable] = {}

    def table(
        source: RunSource, other: RunSource | None, *, measure: str | None, legacy: bool
    ) -> ResultTable:
        key = source.name, other.name if other else "", str(legacy)
        if key not in tables:
            made = table_beside(source, other, measure=None, legacy=legacy)
            known = [
                {name: value for name, value in claim.items() if name not in LATER_PARTS}
                for claim in made.claims
                if claim["key"] not in LATER_CLAIMS
            ]
            # Cells that did not learn their training set were not marked.
            cells = {at: replace(cell, learnt=None) for at, cell in made.cells.items()}
            tables[key] = replace(made, claims=type(made.claims)(known), cells=cells, learnt=None)
        return tables[key] if measure is None else tables[key].showing(measure)

    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("wug.report.run_source.read_source", cache(read_source))
    monkeypatch.setattr(module, "table_beside", table)


@pytest.mark.parametrize("run", BEFORE)
def test_results_are_shown_as_before(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    for way, before in BEFORE[run].items():
        if (run, way) in ON_PURPOSE:
            continue
        show(run, **WAYS.get(way, {"measure": way}))
        now = capsys.readouterr().out
        if way == "claims":
            before, now = ("\n".join(VERDICT.findall(text)) for text in (before, now))
            assert now
        alike = same(before, now, TOLERANCES.get(way, 1e-6))
        assert alike, f"{run}: wug show, {way}"


def test_every_shipped_experiment_is_among_them() -> None:
    shipped = {path.parts[-2] for path in (ROOT / "results").glob("*/*")}
    assert shipped - LATER <= {Path(run).parts[-2] for run in BEFORE}


def test_a_changed_number_is_seen() -> None:
    assert same("nau 12.3456789 -1e-17", "nau 12.34567891 0.0")
    assert not same("nau 12.3", "nau 12.4") and not same("nau -1.0", "nau 1.0")
    assert not same("nau 1.0", "nmu 1.0")


@pytest.mark.parametrize("run", BEFORE)
def test_claims_are_judged_as_before(run: str) -> None:
    from wug.study.catalog import make_catalog
    from wug.study.experiment import RunOptions

    folder = read_run(run)
    before = folder.catalog()
    options = {name: words.split() for name, words in OPTION.findall(before["command"])}
    chosen = RunOptions(
        scale=options["scale"][0],
        only=tuple(options.get("only", ())),
        streams=options.get("streams", [None])[0],
    )
    experiment = index.get("experiment", folder.experiment)(chosen)
    after = make_catalog(experiment, list(folder.records()), before["command"])
    assert len(after["claims"]) == len(before["claims"])
    for new, old in zip(after["claims"], before["claims"], strict=True):
        if new["key"] in JUDGED_ANEW:
            continue
        if new["key"] in GUARDED:
            assert new["ours"]["verdict"] in (old["ours"]["verdict"], "undecided")
            assert new["published"]["verdict"] == old["published"]["verdict"]
            continue
        for who in ("ours", "published"):
            # A half in the third digit of a mean is rounded this way or that.
            assert same(json.dumps(old[who]), json.dumps(new[who]), 2e-3), new["key"]
    assert experiment.layout.measure in {measure["name"] for measure in after["measures"]}
