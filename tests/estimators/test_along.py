"""A formula along its inputs."""

import numpy as np

from wug.estimators.along import along, importance
from wug.estimators.candidate import Candidate

# y = a^2 / b; c has no part.
FORMULA = Candidate(
    exponents=np.array([[2.0, -1.0, 0.0]]), coefficients=np.array([[1.0]]), powers=np.array([1.0])
)
ROWS = np.array([[1.0, 1.0, 5.0], [2.0, 2.0, 6.0], [3.0, 4.0, 7.0]])


def test_along_goes_far_outside_and_leaves_the_others_at_their_medians() -> None:
    x, y = along(FORMULA, ROWS, 0)
    assert (x[0], x[-1]) == (1 - 2 * 2, 3 + 2 * 2)
    assert {1.0, 3.0} <= set(x)  # the ends of the data are points of the curve
    np.testing.assert_allclose(y, x**2 / 2)


def test_along_keeps_what_is_not_defined() -> None:
    rows = ROWS - [0, 1, 0]  # b from 0 to 3, so that 0 is a point
    x, y = along(FORMULA, rows, 1)
    assert not np.isfinite(y[x == 0]).any() and np.isfinite(y[x != 0]).all()


def test_importance() -> None:
    changes = importance(FORMULA, ROWS)
    # By hand: y is 1, 2, 9/4; with a = 2 it is 4, 2, 1; with b = 2 it is 1/2, 2, 9/2.
    np.testing.assert_allclose(changes, [(3 + 0 + 5 / 4) / 3, (1 / 2 + 0 + 9 / 4) / 3, 0])


def test_importance_ignores_rows_without_a_value() -> None:
    rows = np.concatenate((ROWS, [[1.0, 0.0, 1.0]]))
    assert np.isfinite(importance(FORMULA, rows)).all()
