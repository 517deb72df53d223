"""Times of searches are measured once, and make measures all that the summary reads."""

import re
from pathlib import Path

import formula_times
import pytest
from formula_records import read


def test_what_is_measured_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "times.jsonl"
    out.write_text('{"rows": 1, "version": "of old"}\n', encoding="utf-8")
    measured = []

    def measure(case: tuple[int, int, float, bool]) -> dict[str, object]:
        measured.append(case)
        if len(measured) == 3:
            raise KeyboardInterrupt
        return dict(zip(formula_times.CASE, case, strict=True))

    monkeypatch.setattr(formula_times, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        formula_times.main(out)
    assert len(read(out)) == 2
    formula_times.main(out)
    assert measured[3:] == list(formula_times.CASES[2:])
    assert len(read(out)) == len(formula_times.CASES)


def test_make_measures_all_that_the_summary_reads() -> None:
    root = Path(__file__).parents[2]
    recipe = (root / "Makefile").read_text(encoding="utf-8").split("bench-formulas:")[1]
    summary = (root / "benchmarks" / "formula_summary.py").read_text(encoding="utf-8")
    makers = {"feynman": "feynman", "nist": "nist", "odebench": "odes", "times": "times"}
    for name in set(re.findall(r'read\(folder, "(\w+)"\)', summary)):
        made = f"formula_{makers[name]}.py" if name in makers else f"results/{name}.jsonl"
        assert made in recipe.split("formula_summary.py")[0]
