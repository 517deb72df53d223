"""What a site is told of papers and of the code, without torch."""

import subprocess
import sys

from wug.core import index
from wug.core.api_text import describe
from wug.core.papers import bibliography, papers, report_entries


def test_every_paper_with_experiments_says_something() -> None:
    prefixes = {entry.key.partition(".")[0] for entry in index.entries("experiment")} - {"wug"}
    found = {paper["key"]: paper for paper in papers()}
    assert set(found) == prefixes <= set(bibliography())
    for paper in found.values():
        assert paper["says"] and paper["title"] and paper["year"].isdigit(), paper["key"]
        assert "{" not in paper["title"] + paper["authors"] and "\\" not in paper["authors"]


def test_chapters_cover_the_tables_of_a_book() -> None:
    (thesis,) = (paper for paper in papers() if paper["chapters"])
    sources = [
        str(entry.details["source"])
        for entry in index.entries("experiment")
        if entry.key.startswith(f"{thesis['key']}.")
    ]
    assert all(any(f" {n}." in f" {s}" for s in sources) for n in thesis["chapters"])


def test_every_unit_and_model_is_described_from_its_source() -> None:
    for kind in ("unit", "model"):
        for entry in index.entries(kind):
            found = describe(entry.target)
            assert found["signature"].startswith(f"wug.{kind}s."), entry.key
            assert found["arguments"] and found["file"].endswith(".py"), entry.key


def test_no_torch_is_needed() -> None:
    code = "import sys; from wug.core.papers import report_entries; report_entries();"
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert {entry["kind"] for entry in report_entries()} == {"unit", "model", "experiment", "paper"}
