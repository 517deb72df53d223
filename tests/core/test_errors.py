import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError, require_at_least, require_choice, unknown_name


def test_user_errors_are_value_errors():
    assert issubclass(UserError, ValueError)


def test_unknown_name_with_near_ones():
    error = unknown_name("unit", "nalu2", ["linear", "nalu", "mlp"])
    assert isinstance(error, UserError)
    assert str(error) == "unknown unit 'nalu2'; did you mean nalu? Known: linear, mlp, nalu."
    assert "did you mean nalu or inalu?" in str(unknown_name("unit", "nalu2", ["inalu", "nalu"]))


def test_unknown_name_with_nothing_near():
    assert str(unknown_name("task", "zzz", ["adt"])) == "unknown task 'zzz'. Known: adt."


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_require_at_least(value, minimum):
    if value >= minimum:
        require_at_least("NMU", "in_features", value, minimum)
        return
    message = f"NMU: in_features must be at least {minimum}; got {value}."
    with pytest.raises(UserError) as caught:
        require_at_least("NMU", "in_features", value, minimum)
    assert str(caught.value) == message


def test_nan_is_not_at_least_anything():
    with pytest.raises(UserError, match="got nan"):
        require_at_least("NALU", "epsilon", math.nan, 0)


def test_require_choice():
    require_choice("NAU", "clamp", "none", ("project", "none"))
    with pytest.raises(UserError) as caught:
        require_choice("NAU", "clamp", "hard", iter(("project", "none")))
    assert str(caught.value) == "NAU: clamp must be one of project, none; got 'hard'."


def test_a_long_list_of_names_is_cut():
    error = str(unknown_name("token", "z", [f"t{number:02}" for number in range(29)]))
    assert error.endswith("t08, t09 and 19 more.") and "t10" not in error


def test_the_second_part_of_a_name_is_enough_to_be_understood():
    error = str(unknown_name("experiment", "ctl", ["csordas2023.ctl", "csordas2023.ctl_act"]))
    assert "did you mean csordas2023.ctl? " in error
