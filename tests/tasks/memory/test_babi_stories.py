import gzip

from wug.tasks.memory._babi_stories import read_lines, split_words, tell

TEXT = "1 Al went home.\n2 Where is Al?\thome\t1\n1 Bo is here.\n"
STORIES = [("Al went home.", "Where is Al?\thome\t1"), ("Bo is here.",)]


def test_files_are_cut_into_stories(tmp_path):
    plain, packed = tmp_path / "qa1.txt", tmp_path / "qa1.txt.gz"
    plain.write_text(TEXT, encoding="utf-8")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert list(read_lines(plain)) == list(read_lines(packed)) == STORIES


def test_thinking_steps():
    story = tell(1, ["Where is Al?\tn,s\t1"], thinking_steps=0)
    assert story.words == ("where", "is", "al", "?", "-", "-") and story.answers == {4: "n", 5: "s"}
    assert split_words("A, b.") == ["a", ",", "b", "."]
