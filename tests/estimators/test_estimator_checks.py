"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from wug.estimators import ArithmeticRegressor

# A row of weight 2 is one measurement, two equal rows are two: they are held out one by one, and
# a formula is judged by the number of rows.
NOT_EQUAL = "rows are held out and counted one by one"
DIFFERENT = {
    f"check_sample_weight_equivalence_on_{kind}_data": NOT_EQUAL for kind in ("dense", "sparse")
}


@pytest.mark.slow
@parametrize_with_checks([ArithmeticRegressor()], expected_failed_checks=lambda _: DIFFERENT)
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)
