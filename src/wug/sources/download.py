"""Downloads over http and https that go on where they were interrupted.

What has come so far is kept beside the target as ``NAME.part``; the next download asks for the
rest alone. The target appears when all of it is there.
"""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from wug.core.errors import UserError, WorkError
from wug.records import StorageError
from wug.sources.unpack import LIMIT

CHUNK = 1 << 16
SECONDS = 30.0


class NotThereError(WorkError):
    """The server has nothing under this address."""


def is_address(text: str) -> bool:
    """Say whether a text is an address to download from."""
    return text.lower().startswith(("http://", "https://"))


def partial_of(target: Path) -> Path:
    """Return where a download is kept until it is whole."""
    return target.with_name(f"{target.name}.part")


def download(
    url: str,
    target: Path,
    *,
    limit: int = LIMIT,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> bool:
    """Download a file, going on from what an earlier download left.

    Args:
        url: Where from, http or https.
        target: Where to; folders are made.
        limit: The most bytes to take.
        progress: Told the bytes so far, and all of them where the server says how many.

    Returns:
        Whether a part of it was there from before.

    Raises:
        UserError: The address is of another kind.
        NotThereError: The server has no such file.
        WorkError: It can't be reached, or the connection broke; what came is kept.
        StorageError: The disk is full or refuses.
    """
    if not is_address(url):
        raise UserError(f"download: an address must begin with http:// or https://; got {url!r}.")
    partial = partial_of(target)
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
        before = partial.stat().st_size
    except OSError as error:
        raise not_written(target, error) from error
    headers = {"User-Agent": "wug"} | ({"Range": f"bytes={before}-"} if before else {})
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            resumed = before if response.status == http.HTTPStatus.PARTIAL_CONTENT else 0
            done = receive(response, url, partial, resumed, limit, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if before and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.unlink()  # there is no more than what is here, or it is another file by now
            return download(url, target, limit=limit, progress=progress)
        if not before:
            partial.unlink()
        gone = error.code in (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.GONE)
        kind = NotThereError if gone else WorkError
        raise kind(f"{url} can't be had: {error.code} {error.reason}.") from error
    except urllib.error.URLError as error:
        raise WorkError(f"{url} can't be reached: {error.reason}.") from error
    except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
        raise broken(url, partial, error) from error
    try:
        os.replace(partial, target)
    except OSError as error:
        raise not_written(target, error) from error
    return 0 < resumed < done


def receive(
    response: http.client.HTTPResponse,
    url: str,
    partial: Path,
    done: int,
    limit: int,
    progress: Callable[[int, int | None], None],
) -> int:
    """Append an answer to the part that is there, and return the bytes of both.

    Args:
        response: The server's answer.
        url: Where it is from.
        partial: The file to append to.
        done: How many of its bytes stay.
        limit: The most bytes it may have.
        progress: Told after each piece.
    """
    length = response.headers.get("Content-Length")
    total = done + int(length) if length and length.isdigit() else None
    with open(partial, "ab") as file:
        file.truncate(done)
        progress(done, total)
        while data := response.read(CHUNK):
            done += len(data)
            if done > limit:
                file.truncate(0)
                raise UserError(
                    f"{url} has more than {limit:,} bytes; nothing of it was kept. If you trust "
                    "it, raise the limit."
                )
            try:
                file.write(data)
            except OSError as error:
                raise not_written(partial, error) from error
            progress(done, total)
        file.flush()
        os.fsync(file.fileno())
    if total is not None and done < total:
        raise broken(url, partial, f"{done:,} of {total:,} bytes came")
    return done


def broken(url: str, partial: Path, reason: object) -> WorkError:
    """Build the error for a connection that broke."""
    return WorkError(
        f"the download of {url} broke off: {reason}. What came is in {partial}; the same command "
        "goes on from there."
    )


def not_written(path: Path, error: OSError) -> StorageError:
    """Build the error for a disk that refuses."""
    return StorageError(f"{path} could not be written: {error.strerror or error}.", error.errno)
