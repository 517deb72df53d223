import pytest

from wug.core.errors import UserError
from wug.tasks.language.wikitext103 import FILES, WikiText103


@pytest.mark.parametrize("ending", [".raw", ".tokens"])
def test_splits_are_the_three_files(tmp_path, ending):
    for split, stem in FILES.items():
        (tmp_path / f"{stem}{ending}").write_text(f" = {split} = \n" * 3, encoding="utf-8")
    text = WikiText103(folder=str(tmp_path)).open()
    for split in FILES:
        start, stop = text.splits[split]
        assert bytes(text[start:stop]).decode() == f" = {split} = \n" * 3


def test_missing_files_are_a_sentence(tmp_path):
    (tmp_path / "wiki.train.raw").write_text("a", encoding="utf-8")
    with pytest.raises(UserError, match="must hold wiki.train.raw"):
        WikiText103(folder=str(tmp_path)).open()
    with pytest.raises(UserError, match="wikitext103"):
        WikiText103().open()
