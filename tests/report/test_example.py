"""The committed example, docs/example, is what the report makes of the results that ship."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from wug.core.folders import results_folder
from wug.core.papers import report_entries
from wug.records.reader import PACKED_NAME
from wug.report.run_source import RunSource
from wug.report.site import write_site
from wug.report.sources import find_sources

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"
NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
ADVICE = "run `make example` and commit docs/example"


# As in the Makefile.
MOST_BYTES_WITH_CURVES = 64 * 1024


def without_curves(run: RunSource) -> RunSource:
    return replace(run, records=tuple(replace(record, curves={}) for record in run.records))


def make_example(out: Path) -> None:
    """Write the site of results/, without curves where they are large."""
    sources = find_sources([results_folder()], report_entries())
    assert sources.problems == ()
    runs = tuple(
        without_curves(run)
        if (run.run.folder / PACKED_NAME).stat().st_size > MOST_BYTES_WITH_CURVES
        else run
        for run in sources.runs
    )
    write_site(replace(sources, runs=runs), out)


def files(folder: Path) -> dict[str, Path]:
    return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}


def same_page(one: str, other: str) -> bool:
    """Say whether words are equal, and numbers but for the last digits of another machine's."""
    (words, numbers), (other_words, other_numbers) = (
        (parts[::2], parts[1::2]) for parts in map(NUMBER.split, (one, other))
    )
    return words == other_words and all(
        a == b or float(a) == pytest.approx(float(b), rel=1e-6)
        for a, b in zip(numbers, other_numbers, strict=True)
    )


def test_it_is_the_site_of_the_results_that_ship(tmp_path: Path) -> None:
    make_example(tmp_path)
    expected = files(tmp_path)
    assert set(files(EXAMPLE)) == set(expected), ADVICE
    for run in results_folder().glob("*/*/run.json"):
        assert f"run-{run.parts[-3]}~{run.parts[-2]}.html" in expected
    for name, path in expected.items():
        if path.suffix == ".html":
            texts = (p.read_text(encoding="utf-8") for p in (EXAMPLE / name, path))
            assert same_page(*texts), f"{name}: {ADVICE}"
        else:
            assert (EXAMPLE / name).read_bytes() == path.read_bytes(), f"{name}: {ADVICE}"


def test_a_changed_number_is_seen() -> None:
    page = "<td>36 held</td><td>1.2345678e-05</td>"
    assert same_page(page, page.replace("5678e", "5679e"))
    assert not same_page(page, page.replace("36", "37"))
    assert not same_page(page, page.replace("held", "broken"))
