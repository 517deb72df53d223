"""Unpacking files that nobody vouches for: a small one may hold more than the memory can."""

import io
import lzma
import os

VARIABLE = "WUG_UNPACK_GB"
DEFAULT_GB = 1.0


class TooMuchError(ValueError):
    """A packed file holds more than the limit."""


def unpack_limit() -> int:
    """Gives how many bytes a packed file may hold: those of ``WUG_UNPACK_GB``, else 1 GB.

    Raises:
        TooMuchError: The variable is no number above 0.
    """
    given = os.environ.get(VARIABLE, "")
    try:
        limit = int(float(given or DEFAULT_GB) * 1e9)
    except (ValueError, OverflowError):
        limit = 0
    if limit <= 0:
        raise TooMuchError(f"{VARIABLE} must be a number of gigabytes above 0; got {given!r}")
    return limit


def too_much(limit: int) -> TooMuchError:
    """Makes the error for a file that holds more than the limit."""
    return TooMuchError(
        f"it holds more than {limit / 1e9:g} GB unpacked; if you trust it, set {VARIABLE} to more "
        "gigabytes"
    )


def unpack_xz(data: bytes) -> bytes:
    """Unpacks one xz stream.

    Raises:
        TooMuchError: It holds more than the limit.
        lzma.LZMAError: It is damaged, wants more memory than the limit, or something follows it.
        EOFError: It is cut.
    """
    limit = unpack_limit()
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limit)
    unpacked = decoder.decompress(data, limit + 1)
    if len(unpacked) > limit:
        raise too_much(limit)
    if not decoder.eof:
        raise EOFError("it ends too early")
    if decoder.unused_data:
        raise lzma.LZMAError("something follows its end")
    return unpacked


class LimitedReader(io.RawIOBase):
    """A file that stops with a `TooMuchError` once more than the limit was read from it.

    Args:
        file: What is read; who opened it closes it.
    """

    def __init__(self, file: io.BufferedIOBase) -> None:
        self.file = file
        self.left = self.limit = unpack_limit()

    def readable(self) -> bool:
        """Tells that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Reads the next bytes."""
        data = self.file.read(len(buffer))
        self.left -= len(data)
        if self.left < 0:
            raise too_much(self.limit)
        buffer[: len(data)] = data
        return len(data)
