"""The catalog is well formed, and says of the data sets what their own list says."""

import re
from pathlib import Path, PurePosixPath

import pytest

from wug.core.errors import UserError
from wug.sources.catalog import catalog, data_set

LENGTHS = {"sha256": 64, "md5": 32, "git_blob": 40}
BIBLIOGRAPHY = Path(__file__).parents[2] / "src" / "wug" / "references.bib"


def test_every_entry_is_whole() -> None:
    keys = re.findall(r"^@\w+\{(\w+),", BIBLIOGRAPHY.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"babi", "cogs", "enwik8", "feynman", "mnist", "nist", "odebench", "pcfg", "recogs",
            "scan", "slog", "text"} <= set(catalog())  # fmt: skip
    for name, one in catalog().items():
        assert one.name == name and one.title and one.about and one.licence
        assert re.match(r"https?://", one.home)
        assert set(one.references) <= set(keys)
        paths = [file.path for file in one.files]
        assert paths == sorted(set(paths)) and paths
        for file in one.files:
            assert not PurePosixPath(file.path).is_absolute()
            assert ".." not in PurePosixPath(file.path).parts
            assert file.url is None or file.url.startswith("https://")
            assert file.digests
            for kind, digest in file.digests.items():
                assert re.fullmatch(rf"[0-9a-f]{{{LENGTHS[kind]}}}", digest)
            assert "git_blob" in file.digests or (file.size and "sha256" in file.digests)


def test_unknown_names_list_the_near_ones() -> None:
    with pytest.raises(UserError, match="did you mean scan"):
        data_set("scam")
    with pytest.raises(UserError, match=r"did you mean tasks\.txt"):
        data_set("scan").file("task.txt")


def test_agrees_with_the_list_beside_the_data(shared_data: Path) -> None:
    listed = re.findall(
        r"^\| (\w+)/(\S+) \| [\d,]+ \| ([\d,]+) \| [\d,]+ \| ([0-9a-f]{64}) \|$",
        (shared_data / "README.md").read_text(encoding="utf-8"), re.MULTILINE,
    )  # fmt: skip
    assert len(listed) == 133
    for name, path, size, digest in listed:
        file = data_set(name).file(path.removesuffix(".gz"))
        assert (file.size, file.digests["sha256"]) == (int(size.replace(",", "")), digest)
