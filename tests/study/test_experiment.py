import pytest

from wug.core.errors import UserError
from wug.study.experiment import RunOptions


def test_no_seeds_are_refused() -> None:
    with pytest.raises(UserError, match="run: seeds must be at least 1; got 0."):
        RunOptions(seeds=0)
