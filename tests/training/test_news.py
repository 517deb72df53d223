import wug
from wug.report.progress import curves_of
from wug.tasks.productivity.ctl import CTL
from wug.training import news

CHAINS = CTL(num_train=200, num_evaluation=40)
SMALL = {"features": 8, "hidden_features": 8, "num_steps": 2}


def heard(**plan):
    lines = []
    wug.train("ndr", CHAINS, options=SMALL, on_progress=lines.append, **plan)
    return lines


def test_a_large_network_is_heard_of_between_two_evaluations(monkeypatch):
    monkeypatch.setattr(news, "SECONDS_BETWEEN_NEWS", 0.0)
    lines = heard(steps=6, evaluate_every=3)
    assert [line["step"] for line in lines] == [1, 2, 3, 3, 4, 5, 6, 6]
    assert all(line["steps"] == 6 and line["rate"] > 0 for line in lines)
    # Curves have the evaluations alone.
    assert [step for step, _ in curves_of(lines)["validation"]] == [3, 6]


def test_small_steps_are_told_of_at_evaluations_alone():
    lines = heard(steps=6, evaluate_every=3)
    assert [line["step"] for line in lines] == [3, 6]


def test_a_bar_never_goes_back():
    lines = []
    told = news.News(lines.append, amount=10.0, replicas=1, first=0)
    for spent in (4.0, 3.0, 5.0):
        told.tell(1, spent, {"train": 0.5})
    assert [line["step"] for line in lines] == [4.0, 4.0, 5.0]
    told.tell_now_and_then(2, 6.0)
    assert len(lines) == 3
