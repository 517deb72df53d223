"""What a module says of itself when it is printed."""

from __future__ import annotations

from torch import nn


def sizes_text(module: nn.Module) -> str:
    """Return the sizes of a module, for its ``extra_repr``.

    Example:
        >>> from wug.units.nmu import NMU
        >>> NMU(3, 1)
        NMU(in_features=3, out_features=1)
    """
    names = ("in_features", "out_features")
    return ", ".join(f"{name}={getattr(module, name)}" for name in names if hasattr(module, name))
