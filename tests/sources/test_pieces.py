import pytest

from wug.core.errors import UserError
from wug.sources.pieces import Pieces, digest_of, lines_of, piece_text
from wug.sources.text import ByteText
from wug.tasks.language.wug_test import WugTest

pytestmark = pytest.mark.usefixtures("own_folders")


def test_lines_are_those_of_the_text(monkeypatch):
    monkeypatch.setattr("wug.sources.pieces.CHUNK", 5)  # lines reach over several chunks
    text = ByteText.of("first line\n\n  \nsecond, ä\nlast".encode())
    assert [*lines_of(text, (0, len(text)))] == ["first line", "second, ä", "last"]
    assert [*lines_of(text, (0, 8))] == ["first li"]


def test_digests_tell_texts_and_splits_apart():
    texts = [ByteText.of(b"ab" * 50), ByteText.of(b"ba" * 50),
             ByteText.of(b"ab" * 50, {"train": (0, 10)})]  # fmt: skip
    assert len({digest_of(text) for text in texts}) == 3
    assert digest_of(texts[0]) == digest_of(ByteText.of(b"ab" * 50))


def test_what_is_missing_or_too_large_is_a_sentence(monkeypatch):
    with pytest.raises(UserError, match="65,536"):
        Pieces.of(WugTest().open(), 100_000)
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(UserError, match=r"wug\[subword\]"):
        Pieces.of(WugTest().open(), 100)


def test_pieces_give_the_text_back():
    pytest.importorskip("sentencepiece", reason="SentencePiece is an extra")
    text = WugTest(train_bytes=20_000).open()
    pieces = Pieces.of(text, 200)
    line = "This is a wug. Now there are two wugs."
    assert pieces.decode(pieces.encode(line)) == line
    encoded = piece_text(text, pieces)
    for split, bounds in text.splits.items():
        start, stop = encoded.splits[split]
        lines = [*lines_of(text, bounds)]
        assert encoded[start:stop].tolist() == [t for line in lines for t in pieces.encode(line)]
    lengths = pieces.num_bytes()
    # A line begins with a space that SentencePiece adds.
    assert sum(lengths[token] for token in pieces.encode(line)) == len(line) + 1


def test_texts_of_very_long_lines():
    pytest.importorskip("sentencepiece", reason="SentencePiece is an extra")
    text = ByteText.of(b"This is a wug, and now there is another one. " * 2_000)
    pieces = Pieces.of(text, 30)
    assert pieces.decode(pieces.encode("another wug")) == "another wug"
