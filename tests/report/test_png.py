"""Small grey pictures as PNG."""

import base64
import struct
import zlib

import numpy as np

from wug.report.png import data_uri, grey_png


def decoded(png):
    """Read a grey PNG of one block without filters."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        name, content = png[place + 4 : place + 8], png[place + 8 : place + 8 + size]
        (check,) = struct.unpack(">I", png[place + 8 + size : place + 12 + size])
        assert check == zlib.crc32(name + content)
        chunks[name] = content
        place += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colour) == (8, 0)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


def test_round_trip():
    picture = np.arange(20, dtype=np.uint8).reshape(4, 5) * 12
    assert np.array_equal(decoded(grey_png(picture)), picture)
    head, _, text = data_uri(picture).partition(",")
    assert head == "data:image/png;base64"
    assert np.array_equal(decoded(base64.b64decode(text)), picture)
