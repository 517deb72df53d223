from wug.training.mailbox import Mailbox


def test_letters_are_fetched_once_and_the_last_checkpoint_counts() -> None:
    box = Mailbox()
    box.put("a", "checkpoint", b"1")
    box.put("a", "news", [{"step": 1}])
    box.put("b", "checkpoint", b"2")
    box.put("a", "checkpoint", b"3")
    assert box.fetch() == [
        ("a", "news", [{"step": 1}]), ("b", "checkpoint", b"2"), ("a", "checkpoint", b"3"),
    ]  # fmt: skip
    assert box.fetch() == []
