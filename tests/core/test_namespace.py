"""The public names: frozen, lazy, typed."""

import subprocess
import sys
from importlib import import_module
from importlib.resources import files

import pytest

import wug
from wug.core import namespace

PUBLIC = [
    "__version__", "analysis", "estimators", "find_masks", "layers", "load", "models", "penalty",
    "project_", "replace_mlp", "results", "run", "tasks", "train", "units",
]  # fmt: skip
SOME = {
    "units": ["NAU", "NMU", "NPU", "NALU", "INALU"],
    "layers": ["GeometricAttention", "CopyGate", "SigmaMoE"],
    "models": ["NDR", "Transformer", "LSTM", "DNC", "EncoderDecoder", "TransformerXL"],
    "tasks": ["CTL", "ListOps", "SingleModule", "Scan"],
}


def test_the_names_are_frozen():
    assert dir(wug) == PUBLIC
    for name in PUBLIC:
        assert getattr(wug, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        wug.nothing  # noqa: B018


@pytest.mark.parametrize("folder", namespace.FOLDERS)
def test_every_registered_class_is_a_name_of_its_folder(folder):
    package = import_module(f"wug.{folder}")
    names = namespace.public_names(folder)
    assert dir(package) == sorted(names) and set(SOME[folder]) <= set(names)
    for name, module in names.items():
        assert getattr(package, name) is getattr(import_module(module), name)
    with pytest.raises(AttributeError, match=f"unknown name in wug.{folder} 'Nmuu'"):
        package.Nmuu  # noqa: B018


@pytest.mark.parametrize("folder", namespace.FOLDERS)
def test_the_stubs_are_fresh(folder):
    stub = files("wug") / folder / "__init__.pyi"
    assert stub.read_text(encoding="utf-8") == namespace.stub(folder)


def test_importing_wug_imports_nothing_else():
    script = "import wug, sys; dir(wug); print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False False\n"
