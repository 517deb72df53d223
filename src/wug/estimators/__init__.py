"""The scikit-learn front: from a table of numbers to a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wug.estimators.regressor import ArithmeticRegressor, Equation, score_formula

__all__ = ["ArithmeticRegressor", "Equation", "score_formula"]


def __getattr__(name: str) -> Any:
    """Import the regressor when it is asked for: reading a table must not load torch."""
    if name in __all__:
        from wug.estimators import regressor

        return getattr(regressor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
