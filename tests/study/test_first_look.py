"""What wug try shows."""

import numpy as np

from wug.study.first_look import ask_router, find_formula, read_table


def test_the_table_is_keplers_law():
    distance, mass, period = read_table().T
    assert len(period) == 120
    np.testing.assert_allclose(period, np.sqrt(distance**3 / mass), rtol=1e-12)


def test_the_formula_holds_outside_and_the_forest_does_not():
    found = find_formula()
    assert found.status == "exact" and found.error < 1e-12 < 0.3 < found.rival_error


def test_the_router_is_right_on_longer_problems():
    found = ask_router()
    assert found.right >= 0.99 and found.said == found.answer
    assert set(found.tables) == {one for one in found.problem.split() if one.isalpha()}
    if found.rival_right is not None:  # its network ships
        assert found.rival_right < 0.6 and found.rival_said != found.answer
