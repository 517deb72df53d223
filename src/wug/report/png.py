"""Small grey pictures as PNG files, for pages: a header, one compressed block, an end."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def grey_png(picture: NDArray[Any]) -> bytes:
    r"""Return a picture of bytes as a PNG file.

    Args:
        picture: (row, column), 0 to 255.

    Example:
        >>> grey_png(np.zeros((2, 3), np.uint8))[:8]
        b'\x89PNG\r\n\x1a\n'
    """
    height, width = picture.shape
    # Every row begins with the number of its filter: none.
    rows = np.insert(picture.astype(np.uint8), 0, 0, axis=1).tobytes()

    def chunk(name: bytes, content: bytes) -> bytes:
        body = name + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def data_uri(picture: NDArray[Any]) -> str:
    """Return a picture as what an image's source may be."""
    return "data:image/png;base64," + base64.b64encode(grey_png(picture)).decode()
