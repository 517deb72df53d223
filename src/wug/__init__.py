"""Networks that learn the rule, not the list.

    wug.units.NMU, wug.layers.GeometricAttention, wug.models.NDR, wug.tasks.CTL
    wug.train        train any network on any task, with any number of seeds
    wug.run          train a table of a paper
    wug.results      what a run left behind, as a table
    wug.load         a trained network, ready to call
    wug.find_masks   which weights of a trained network each function needs
    wug.replace_mlp  sparse layers in the place of a network's feed-forward blocks
    wug.penalty      the penalties of a network with units inside, for a loop of your own
    wug.project_     the clamps that follow an optimiser's step, in place

Nothing is imported before it is asked for.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PACKAGES = ("analysis", "estimators", "layers", "models", "tasks", "units")
_FUNCTIONS = {
    "find_masks": "wug.analysis.masks.find",
    "load": "wug.study.results",
    "penalty": "wug.functional.network_rules",
    "project_": "wug.functional.network_rules",
    "replace_mlp": "wug.models.replace_mlp",
    "results": "wug.study.results",
    "run": "wug.study.results",
    "train": "wug.training.train",
}
__all__ = ["__version__", *sorted((*_PACKAGES, *_FUNCTIONS))]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"wug.{name}")
    if name in _FUNCTIONS:
        return getattr(import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'wug' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return __all__
