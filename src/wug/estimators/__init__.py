"""The scikit-learn front: from a table of numbers to a formula."""

from wug.estimators.regressor import ArithmeticRegressor, Equation, score_formula

__all__ = ["ArithmeticRegressor", "Equation", "score_formula"]
