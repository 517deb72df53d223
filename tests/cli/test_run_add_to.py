"""wug run --add-to: what is wrong with it is said before the run's folder is touched."""

from pathlib import Path

import pytest

from wug.cli.run import run
from wug.core.errors import UserError
from wug.records import ConfigMismatchError, RunFolderError, RunStore

ARITHMETIC = "mistry2022.single_module"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("mistry2022.single_modul@shipped", UserError),
        (f"{ARITHMETIC}@nonsense", UserError),
        (".", (UserError, RunFolderError)),
        ("trask2018.identity@shipped", ConfigMismatchError),
    ],
)
def test_nothing_is_left_behind(
    name: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        run(ARITHMETIC, scale="smoke", add_to=name)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_name_removes_nothing(tmp_path: Path) -> None:
    """With --fresh, too: the earlier run is still there."""
    RunStore.open(tmp_path, "demo", {})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError):
        run(ARITHMETIC, scale="smoke", out=tmp_path, fresh=True, add_to=f"{ARITHMETIC}@nonsense")
    with pytest.raises(UserError, match="--fresh would remove .* which --add-to names"):
        run(ARITHMETIC, scale="smoke", out=tmp_path, fresh=True, add_to=str(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before
