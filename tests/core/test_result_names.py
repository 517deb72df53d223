"""One grammar for the names of results."""

import pytest

from wug.core.errors import UserError
from wug.core.result_names import ResultName


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("csordas2023.ctl", ResultName(experiment="csordas2023.ctl")),
        ("csordas2023.ctl@shipped", ResultName(experiment="csordas2023.ctl", run="shipped")),
        ("a.b/ndr", ResultName(experiment="a.b", row=("ndr",))),
        ("a.b/ndr:backward", ResultName(experiment="a.b", row=("ndr",), column="backward")),
        (
            "a.b@laptop/nau:add:[1,2)#7",
            ResultName(experiment="a.b", run="laptop", row=("nau", "add"), column="[1,2)", seed=7),
        ),
    ],
)
def test_names_are_taken_apart(text, expected):
    assert ResultName.parse(text) == expected


@pytest.mark.parametrize("text", ["", "@run", "a.b#3", "a.b/x#y", "a@"])
def test_what_is_no_name(text):
    with pytest.raises(UserError, match="names no results"):
        ResultName.parse(text)


def test_folders():
    folder = ResultName.parse("mistry2022.single_module@shipped").folder()
    assert (folder / "run.json").is_file()
    with pytest.raises(UserError, match="has no run 'nowhere'"):
        ResultName.parse("mistry2022.single_module@nowhere").folder()
