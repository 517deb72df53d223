"""Downloads are whole or not there, and go on where they broke off."""

from pathlib import Path

import pytest
from range_server import Web

from wug.core.errors import UserError, WorkError
from wug.sources.download import NotThereError, download, partial_of

CONTENT = bytes(range(256)) * 4000


def test_downloads_and_tells_how_far_it_is(web: Web, tmp_path: Path) -> None:
    web.files["/x"] = CONTENT
    seen: list[tuple[int, int | None]] = []
    resumed = download(
        f"{web.address}/x", tmp_path / "deep" / "x", progress=lambda *at: seen.append(at)
    )
    assert (tmp_path / "deep" / "x").read_bytes() == CONTENT
    assert not resumed and not partial_of(tmp_path / "deep" / "x").exists()
    assert seen[0] == (0, len(CONTENT)) and seen[-1] == (len(CONTENT), len(CONTENT))
    assert seen == sorted(seen)


def test_goes_on_where_it_broke_off(web: Web, tmp_path: Path) -> None:
    web.files["/x"], web.breaks["/x"] = CONTENT, 300_000
    with pytest.raises(WorkError, match=r"broke off: 300,000 of 1,024,000 bytes came"):
        download(f"{web.address}/x", tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert partial_of(tmp_path / "x").read_bytes() == CONTENT[:300_000]
    assert download(f"{web.address}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert web.asked == [("/x", None), ("/x", "bytes=300000-")]


def test_begins_anew_where_the_server_knows_no_ranges(web: Web, tmp_path: Path) -> None:
    web.files["/x"], web.ranges = CONTENT, False
    partial_of(tmp_path / "x").write_bytes(b"something else")
    assert not download(f"{web.address}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_begins_anew_where_the_part_is_too_long(web: Web, tmp_path: Path) -> None:
    web.files["/x"] = CONTENT
    partial_of(tmp_path / "x").write_bytes(CONTENT + b"more")
    assert not download(f"{web.address}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_what_is_not_there_leaves_nothing(web: Web, tmp_path: Path) -> None:
    with pytest.raises(NotThereError, match="404"):
        download(f"{web.address}/x", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_more_than_the_limit_is_refused(web: Web, tmp_path: Path) -> None:
    web.files["/x"] = CONTENT
    with pytest.raises(UserError, match="more than 1,000 bytes.*raise the limit"):
        download(f"{web.address}/x", tmp_path / "x", limit=1000)
    assert not (tmp_path / "x").exists()
    download(f"{web.address}/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_other_addresses_and_dead_servers_are_sentences(web: Web, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    with pytest.raises(UserError, match="must begin with http"):
        download((tmp_path / "secret").as_uri(), tmp_path / "x")
    with pytest.raises(WorkError, match="can't be reached"):
        download("http://127.0.0.1:1/x", tmp_path / "x")
