"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from wug.estimators import ArithmeticRegressor


@pytest.mark.slow
@parametrize_with_checks([ArithmeticRegressor()])
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)
