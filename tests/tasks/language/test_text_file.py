import pytest

from wug.core.errors import UserError
from wug.tasks.language.text_file import TextFile


def test_reads_a_file_or_a_folder(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ab" * 50)
    (tmp_path / "b.txt").write_bytes(b"cd" * 50)
    one, both = (TextFile(path=str(path)).open() for path in (tmp_path / "a.txt", tmp_path))
    assert len(one) == 100 and len(both) == 200
    assert both.splits["train"] == (0, 180)


def test_no_path_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match="path must name"):
        TextFile().open()
    with pytest.raises(UserError, match="No such file"):
        TextFile(path=str(tmp_path / "nothing.txt")).open()
