"""Archives that are right come out whole; hostile and damaged ones leave nothing behind."""

import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources.unpack import LIMIT, chunks, unpack, without_packing

CONTENT = {"a.txt": b"one", "deep/er/b.bin": bytes(range(256)) * 40, "empty": b""}
TARS = {".tar": lambda data: data, ".tar.gz": gzip.compress, ".tgz": gzip.compress,
        ".tar.xz": lzma.compress}  # fmt: skip
quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        for member, content in members:
            member.size = len(content) if member.isreg() else 0
            file.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def zip_of(contents: dict[str, bytes], mode: int = 0, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name)
            info.filename = name  # as it is, a NUL byte included
            info.external_attr = mode << 16
            file.writestr(info, content, method)
    return buffer.getvalue()


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refuse(archive: Path, match: str, **options: object) -> None:
    """Check that an archive is refused and that nothing is left anywhere."""
    room = archive.parent
    before = sorted(room.parent.rglob("*"))
    with pytest.raises(UserError, match=match):
        unpack(archive, room / "out", **options)
    assert sorted(room.parent.rglob("*")) == before


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder with one above it, where escapes would be seen."""
    folder = tmp_path / "above" / "room"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("ending", TARS)
def test_tar(room: Path, ending: str) -> None:
    data = tar_of(*((member(name), content) for name, content in CONTENT.items()))
    (room / f"x{ending}").write_bytes(TARS[ending](data))
    unpack(room / f"x{ending}", room / "out")
    assert files_in(room / "out") == CONTENT


def test_zip_with_folders(room: Path) -> None:
    (room / "x.zip").write_bytes(zip_of({"deep/": b"", **CONTENT}))
    unpack(room / "x.zip", room / "out")
    assert files_in(room / "out") == CONTENT


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_single_files(room: Path, ending: str, pack: object) -> None:
    (room / f"a.txt{ending}").write_bytes(pack(b"one"))
    unpack(room / f"a.txt{ending}", room / "out")
    assert files_in(room / "out") == {"a.txt": b"one"}
    assert b"".join(chunks(room / f"a.txt{ending}")) == b"one"
    assert without_packing(f"a.txt{ending}") == "a.txt"


def zip_crypto(content: bytes, password: bytes) -> bytes:
    """Encrypt as PKWARE's application note 6.1 says, slowly; zipfile can only decrypt."""

    def crc(value: int, byte: int) -> int:
        return zlib.crc32(bytes([byte]), value ^ 0xFFFFFFFF) ^ 0xFFFFFFFF

    keys = [0x12345678, 0x23456789, 0x34567890]

    def update(byte: int) -> None:
        keys[0] = crc(keys[0], byte)
        keys[1] = ((keys[1] + (keys[0] & 255)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = crc(keys[2], keys[1] >> 24)

    for byte in password:
        update(byte)
    out = bytearray()
    for byte in bytes(11) + (zlib.crc32(content) >> 24).to_bytes(1, "little") + content:
        mix = (keys[2] & 0xFFFF) | 2
        out.append(byte ^ ((mix * (mix ^ 1)) >> 8) & 255)
        update(byte)
    return bytes(out)


def locked_zip(content: bytes, password: bytes) -> bytes:
    """A zip with one locked, stored file: a plain one of the same size, its bytes replaced."""
    locked = zip_crypto(content, password)
    info = zipfile.ZipInfo("secret.txt")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(info, locked)
        info.flag_bits |= 1
        info.CRC, info.file_size = zlib.crc32(content), len(content)
        buffer.seek(0)
        buffer.write(info.FileHeader(zip64=False))
        buffer.seek(0, io.SEEK_END)
    return buffer.getvalue()


def test_password(room: Path) -> None:
    (room / "x.zip").write_bytes(locked_zip(b"four score", b"wug"))
    refuse(room / "x.zip", "is locked; name its password")
    refuse(room / "x.zip", "another password", password="gutchies")
    unpack(room / "x.zip", room / "out", password="wug")
    assert files_in(room / "out") == {"secret.txt": b"four score"}


ESCAPES = ["../evil", "a/../../evil", "/evil", "//evil", "..", "a/..", "C:/evil", "C:evil",
           "..\\evil", "a\\..\\..\\evil", "\\\\host\\share\\evil"]  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_escapes_are_refused(room: Path, name: str, kind: str) -> None:
    archive = room / f"x.{kind}"
    harmless = {"fine.txt": b"fine"}
    if kind == "tar":
        archive.write_bytes(tar_of((member("fine.txt"), b"fine"), (member(name), b"evil")))
    else:
        archive.write_bytes(zip_of({**harmless, name: b"evil"}))
    refuse(archive, "leads out of the folder")


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"), (tarfile.SYMTYPE, "fine.txt"),
        (tarfile.LNKTYPE, "fine.txt"), (tarfile.LNKTYPE, "../../above"),
        (tarfile.CHRTYPE, ""), (tarfile.BLKTYPE, ""), (tarfile.FIFOTYPE, ""), (b"Z", ""),
    ],
)  # fmt: skip
def test_links_and_devices_are_refused(room: Path, kind: bytes, link: str) -> None:
    bad = member("bad", kind, link)
    (room / "x.tar").write_bytes(tar_of((member("fine.txt"), b"fine"), (bad, b"")))
    refuse(room / "x.tar", "'bad' in it is no plain file")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_are_refused(room: Path, kind: int) -> None:
    (room / "x.zip").write_bytes(zip_of({"bad": b"/etc/passwd"}, mode=kind | 0o777))
    refuse(room / "x.zip", "is no plain file")


def test_a_link_and_a_file_through_it(room: Path) -> None:
    link = member("way", tarfile.SYMTYPE, "..")
    (room / "x.tar").write_bytes(tar_of((link, b""), (member("way/evil"), b"evil")))
    refuse(room / "x.tar", "is no plain file")


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a")])
def test_a_name_twice_is_refused(room: Path, names: tuple[str, str]) -> None:
    (room / "x.tar").write_bytes(tar_of(*((member(name), b"x") for name in names)))
    refuse(room / "x.tar", "is there twice")


def test_rights_are_the_usual_ones(room: Path) -> None:
    bad = member("run")
    bad.mode = 0o6777
    (room / "x.tar").write_bytes(tar_of((bad, b"#!")))
    unpack(room / "x.tar", room / "out")
    assert not os.stat(room / "out" / "run").st_mode & 0o7111


def bomb(kind: str, size: int) -> bytes:
    zeros = bytes(size)
    if kind == ".zip":
        return zip_of({"zeros": zeros})
    packed = {".gz": gzip.compress, ".xz": lzma.compress, ".tar.gz": gzip.compress}[kind]
    return packed(tar_of((member("zeros"), zeros)) if kind == ".tar.gz" else zeros)


@pytest.mark.parametrize("kind", [".zip", ".gz", ".xz", ".tar.gz"])
def test_bombs_are_refused_and_the_limit_can_be_raised(room: Path, kind: str) -> None:
    (room / f"x{kind}").write_bytes(bomb(kind, 3_000_000))
    refuse(room / f"x{kind}", r"more than 1,000,000 bytes.*raise the limit", limit=1_000_000)
    unpack(room / f"x{kind}", room / "out", limit=4_000_000)
    assert sum(map(len, files_in(room / "out").values())) == 3_000_000
    assert LIMIT == 1_000_000_000


def test_a_zip_that_lies_about_its_size(room: Path) -> None:
    data = bytearray(zip_of({"zeros": bytes(3_000_000)}))
    size = (3_000_000).to_bytes(4, "little")
    assert data.count(size) == 2  # in the local header and in the directory
    (room / "x.zip").write_bytes(bytes(data).replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(UserError, match="damaged"):
        unpack(room / "x.zip", room / "out", limit=1_000_000)
    assert not (room / "out").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_without_a_limit_on_memory_are_refused(room: Path, method: int) -> None:
    (room / "x.zip").write_bytes(zip_of({"a": bytes(10_000)}, method=method))
    refuse(room / "x.zip", "neither stored nor deflated")


def test_a_bomb_in_a_header_is_refused(room: Path) -> None:
    info = member("a")
    info.pax_headers = {"comment": "x" * 2_000_000}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as file:
        file.addfile(info)
    (room / "x.tar.gz").write_bytes(gzip.compress(buffer.getvalue()))
    refuse(room / "x.tar.gz", "more than 1,000,000 bytes", limit=1_000_000)


def test_a_sparse_bomb_is_refused(room: Path) -> None:
    info = member("holes")
    info.pax_headers = {
        "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "holes",
        "GNU.sparse.size": "3000000", "GNU.sparse.numblocks": "1", "GNU.sparse.map": "2999999,1",
    }  # fmt: skip
    info.size = 1
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as file:
        file.addfile(info, io.BytesIO(b"x"))
    (room / "x.tar").write_bytes(buffer.getvalue())
    assert len(buffer.getvalue()) < 20_000
    refuse(room / "x.tar", "more than 1,000,000 bytes", limit=1_000_000)


def test_nested_archives_stay_packed(room: Path) -> None:
    inner = bomb(".zip", 3_000_000)
    (room / "x.zip").write_bytes(zip_of({"inner.zip": inner}))
    unpack(room / "x.zip", room / "out", limit=1_000_000)
    assert files_in(room / "out") == {"inner.zip": inner}


def test_too_many_files_are_refused(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.sources.unpack.MAX_MEMBERS", 10)
    (room / "x.zip").write_bytes(zip_of({str(i): b"" for i in range(11)}))
    refuse(room / "x.zip", "more than 10 files")


def test_what_is_there_already_and_unknown_endings(room: Path) -> None:
    (room / "x.zip").write_bytes(zip_of(CONTENT))
    (room / "out").mkdir()
    with pytest.raises(UserError, match="there already"):
        unpack(room / "x.zip", room / "out")
    with pytest.raises(UserError, match="must end in one of"):
        unpack(room / "x.rar", room / "other")


names = st.text(st.sampled_from("ab./\\:~ \0é"), min_size=1, max_size=12)


@quick
@given(st.lists(st.tuples(names, st.binary(max_size=20)), min_size=1, max_size=6), st.booleans())
@example([("./a", b"x"), ("b/./c", b"y")], True)
def test_no_name_leads_out(tmp_path: Path, members: list[tuple[str, bytes]], zipped: bool) -> None:
    """Whatever the names are: either all files are in the folder, or there is nothing."""
    room = Path(os.path.realpath(tmp_path)) / os.urandom(8).hex() / "room"
    room.mkdir(parents=True)
    archive = room / ("x.zip" if zipped else "x.tar")
    if zipped:
        if len({name for name, _ in members}) < len(members):
            return  # the writer warns of these
        archive.write_bytes(zip_of(dict(members)))
    else:
        archive.write_bytes(tar_of(*((member(name), content) for name, content in members)))
    try:
        unpack(archive, room / "out")
    except UserError:
        assert sorted(room.parent.rglob("*")) == [room, archive]
    else:
        assert all(not path.is_symlink() for path in room.rglob("*"))
        outside = {path for path in room.parent.rglob("*") if room / "out" not in path.parents}
        assert outside == {room, archive, room / "out"}


@quick
@given(st.sampled_from([".zip", ".gz", ".xz", ".tar", ".tar.gz"]), st.data())
def test_damage_is_a_sentence(tmp_path: Path, ending: str, data: st.DataObject) -> None:
    """Flipped and missing bytes give the right content, a UserError, or an honest other content."""
    plain = tar_of(*((member(name), content) for name, content in CONTENT.items()))
    whole = {".zip": zip_of(CONTENT), ".gz": gzip.compress(plain), ".xz": lzma.compress(plain),
             ".tar": plain, ".tar.gz": gzip.compress(plain)}[ending]  # fmt: skip
    bad = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 3))):
        bad[data.draw(st.integers(0, len(bad) - 1))] ^= data.draw(st.integers(1, 255))
    del bad[data.draw(st.integers(0, len(bad))) :]
    room = tmp_path / os.urandom(8).hex()
    room.mkdir()
    (room / f"x{ending}").write_bytes(bytes(bad))
    try:
        unpack(room / f"x{ending}", room / "out", limit=1_000_000)
    except UserError:
        assert [path.name for path in room.iterdir()] == [f"x{ending}"]
