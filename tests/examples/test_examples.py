"""The examples run as they stand, and end as they say."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import torch

from wug.core import index
from wug.study.card import CardOptions, try_model
from wug.study.experiment import RunOptions
from wug.study.own_network import try_own

ROOT = Path(__file__).parents[2]


def run_example(name, *arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        env=environment, capture_output=True, text=True, timeout=600,
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


def test_unit_inside():
    unit, twenty = run_example("unit_inside.py")
    assert unit == "the unit: 1.0*digit + 1.0*total"
    # The mean of such sums is 90, and their deviation 13.
    assert float(re.search(r"off by ([\d.]+)", twenty)[1]) < 8


def test_my_model():
    """`wug card examples/my_model.py:BagOfPairs` calls it like this; more in tests/cli."""
    options = CardOptions(model=f"{ROOT / 'examples' / 'my_model.py'}:BagOfPairs")
    try_model(options)
    assert options.row == "bagofpairs"


def test_my_unit():
    """`wug run mistry2022.single_module --unit examples/my_unit.py:Powers` calls it like this."""
    options = RunOptions(scale="smoke", unit=f"{ROOT / 'examples' / 'my_unit.py'}:Powers")
    experiment = index.get("experiment", "mistry2022.single_module")(options)
    try_own(experiment, options)
    assert {v.labels["unit"] for lot in experiment.lots for v in lot.variants} == {"powers"}


def load_example(name):
    spec = importlib.util.spec_from_file_location(
        name.removesuffix(".py"), ROOT / "examples" / name
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_planted_masks():
    """docs/masks.md has its command, which tests/docs/test_commands.py runs."""
    example = load_example("planted_masks.py")
    network, functions = example.model(), example.functions()
    assert functions.keys() == example.truth().keys()
    for ((x, y),) in functions.values():
        assert example.score(network(x), y).float().mean() == 1


def test_router_masks():
    example = load_example("router_masks.py")
    for ((tokens, lengths, answers),) in example.functions().values():
        with torch.no_grad():
            assert (example.model()(tokens, lengths).argmax(-1) == answers).all()


def test_all_examples_are_tested():
    tested = Path(__file__).read_text(encoding="utf-8")
    assert all(path.name in tested for path in (ROOT / "examples").glob("*.py"))
