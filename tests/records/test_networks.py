"""Networks that a run kept, read without torch."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save_file

from wug.core.folders import results_folder
from wug.records import read_networks
from wug.records.networks import rounded, whole_weights

ABOUT = {"model": "ndr", "model_options": {"features": 4}, "labels": {"model": "ndr"}, "seed": 0}


def write(path: Path, about: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({"a": np.zeros(2, np.float32)}, path, {"about": json.dumps(about)})
    return path


def test_what_a_file_says_of_itself_is_read(tmp_path: Path) -> None:
    write(tmp_path / "models" / "ndr-0.safetensors", ABOUT)
    (found,), problems = read_networks(tmp_path)
    assert found.name == "ndr-0" and found.about == ABOUT and not problems


def test_other_files_are_named(tmp_path: Path) -> None:
    write(tmp_path / "models" / "a.safetensors", ["no", "object"])
    (tmp_path / "models" / "torn.safetensors").write_bytes(b"half")
    outside = write(tmp_path.parent / "outside.safetensors", ABOUT)
    (tmp_path / "models" / "link.safetensors").symlink_to(outside)
    found, problems = read_networks(tmp_path, tmp_path.resolve())
    assert not found and len(problems) == 3
    assert any("leads out" in str(problem) for problem in problems)


def test_the_networks_that_ship_say_what_they_are() -> None:
    folders = {path.parent.parent for path in results_folder().glob("*/*/models/*.safetensors")}
    for folder in sorted(folders):
        found, problems = read_networks(folder)
        assert found and not problems
        assert all(
            {"model", "model_options", "labels", "seed"} <= one.about.keys() for one in found
        )


def test_rounding_errs_by_half_a_step_and_keeps_what_is_no_matrix(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    exact = {
        "matrix": rng.normal(size=(3, 50)).astype(np.float32) * [[1e-3], [1], [1e3]],
        "zeros": np.zeros((2, 4)), "stack": rng.normal(size=(2, 3, 5)),
        "bias": rng.normal(size=50),
    }  # fmt: skip
    exact = {name: values.astype(np.float32) for name, values in exact.items()}
    save_file(exact, tmp_path / "a.safetensors", {"about": json.dumps(ABOUT)})
    found = whole_weights(load(rounded(tmp_path / "a.safetensors")))
    assert found.keys() == exact.keys()
    for name, values in exact.items():
        assert found[name].shape == values.shape and found[name].dtype == np.float32
        step = np.abs(values).max(-1, keepdims=True) / 127 if values.ndim > 1 else 0
        assert (np.abs(found[name] - values) <= 0.5001 * step).all()
