"""The examples run as they stand, and end as they say."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from wug.study.card import CardOptions, try_model

ROOT = Path(__file__).parents[2]


def run_example(name, *arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_learn_multiplication():
    before, *_, after, product = run_example("learn_multiplication.py")
    assert before.startswith("before: ") and "c" in before
    assert after == "after:  1.0*a*b"
    assert product == "-30 * 70 = -2100.0"


def test_many_seeds():
    first, *groups = run_example("many_seeds.py")
    assert first == "training 60 replicas"
    assert len(groups) == 6
    # On [1,2) the logarithms are well scaled, and both powers are found.
    easy = [line for line in groups if " [1,2): " in line]
    assert all(line.endswith(": 10 of 10 seeds solved") for line in easy) and len(easy) == 2


def test_analyses(tmp_path):
    lines = run_example("analyses.py", tmp_path)
    assert "  m_hat in theory: 0.055 for each input, whatever the target" in lines
    pictures = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}
    assert set(pictures) == {"loss_surface", "approximation_error", "relevance_gate"}
    assert all(ElementTree.fromstring(text).tag.endswith("svg") for text in pictures.values())


def test_fit_formula():
    nuclei, formula, forest, diabetes, *front = run_example("fit_formula.py")
    # A circle has 3.14; the outline of a nucleus is not quite round.
    assert re.match(r"nuclei: area = 3\.[01]\d*\*x1\*\*2.* \(noisy\)", nuclei)
    errors = [float(re.search(r"off by ([\d.]+)%", line)[1]) for line in (formula, forest)]
    assert errors[0] < 3 and errors[1] > 15
    assert diabetes.split()[1] in ("noisy", "incomplete") and len(front) > 1


def test_my_model():
    """`wug card examples/my_model.py:BagOfPairs` calls it like this; more in tests/cli."""
    options = CardOptions(model=f"{ROOT / 'examples' / 'my_model.py'}:BagOfPairs")
    try_model(options)
    assert options.row == "bagofpairs"


def test_all_examples_are_tested():
    tested = Path(__file__).read_text(encoding="utf-8")
    assert all(path.name in tested for path in (ROOT / "examples").glob("*.py"))
