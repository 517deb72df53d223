"""A card from Python: a class of one's own, tried before it is trained."""

import pytest
import torch
from torch import nn

from wug.core.errors import UserError
from wug.records import Record
from wug.stats.comparison_table import make_table
from wug.study.card import RIVALS, WRITERS, CardOptions, card, report_card, too_short, try_model


class Mean(nn.Module):
    """The mean of embeddings; with places it can read only so many tokens."""

    def __init__(self, num_tokens, num_classes, num_places=0):
        super().__init__()
        self.embedding = nn.Embedding(num_tokens, 8)
        self.places = nn.Embedding(num_places, 8) if num_places else None
        self.out = nn.Linear(8, num_classes)

    def forward(self, tokens, lengths):
        x = self.embedding(tokens)
        if self.places is not None:
            x = x + self.places(torch.arange(tokens.shape[1]))
        return self.out(x.mean(1))


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WUG_CACHE", str(tmp_path / "cache"))


def test_a_class_of_this_process():
    class Local(Mean):
        pass

    tasks = ("ctl", "ctlpp_a")
    run = report_card(Local, minutes=0.05, tasks=tasks, evaluate_every=5, least_steps=1)
    records = list(run.records())
    assert {record.key["task"] for record in records} == set(tasks)
    # Another model joins it; what is finished is not trained again.
    run = report_card(Mean, minutes=0.05, tasks=tasks, evaluate_every=5, least_steps=1)
    assert len(list(run.records())) == 4
    assert [row for (row,) in make_table(run).rows] == ["mean", "local"]
    assert run.catalog()["column_claims"] == {"ctl": "productivity", "ctlpp_a": "systematicity"}


def test_a_model_that_is_too_narrow_for_one_task():
    narrow = {"model": Mean, "model_options": {"num_places": 20}}
    try_model(CardOptions(**narrow, tasks=("ctl",)))
    with pytest.raises(
        UserError, match=r"card: mean fails on .* \(simple_arithmetic\): IndexError"
    ):
        try_model(CardOptions(**narrow, tasks=("ctl", "simple_arithmetic")))


def test_a_rival_by_its_name_has_its_size():
    for name, (key, options) in RIVALS.items():
        assert CardOptions(model=name).entry == (key, options)
    (lot, *_) = card(CardOptions(model="relative", tasks=("ctl",))).lots
    assert lot.build.model == "transformer"
    assert lot.variants[0].labels["model"] == "relative"
    larger = CardOptions(model="ndr", model_options={"features": 64})
    assert larger.entry == ("ndr", {"features": 64})


def test_a_file_without_its_class():
    with pytest.raises(UserError, match="card: name the class in the file, as net.py:MyModel"):
        CardOptions(model="net.py")


class Writer(nn.Module):
    """Reads the mean of a source and the token before."""

    def __init__(self, num_source_tokens, num_target_tokens):
        super().__init__()
        self.source = nn.Embedding(num_source_tokens, 8)
        self.target = nn.Embedding(num_target_tokens + 1, 8)
        self.out = nn.Linear(8, num_target_tokens + 1)

    def forward(self, source, source_lengths, target_in):
        return self.out(self.source(source).mean(1, keepdim=True) + self.target(target_in))


def test_models_that_write_have_tasks_of_their_own():
    options = CardOptions(model=Writer, kind="transduction")
    assert options.columns == ("scan_length", "scan_add_jump", "mathematics", "film_queries")
    assert CardOptions(model="universal").answers == "transduction"
    assert CardOptions(model="lstm").answers == "classification"
    assert CardOptions(model=Writer, tasks=("cogs",)).answers == "transduction"
    assert set(CardOptions(model="universal", rivals=True).known) == set(WRITERS)
    with pytest.raises(UserError, match="ctl is a task of classification"):
        CardOptions(model="universal", tasks=("ctl",))
    with pytest.raises(UserError, match="name tasks of one kind"):
        CardOptions(model=Writer, tasks=("scan_length", "ctl"))


def test_a_card_of_a_model_that_writes():
    run = report_card(
        Writer, kind="transduction", minutes=0.05, tasks=("scan_length",), evaluate_every=5
    )
    (record,) = run.records()
    assert record.key["task"] == "scan_length" and "transduction" in run.folder.name
    assert "stopped_wrongly" in record.outcome["selected"]["test"]


def test_what_a_writer_must_return():
    class Wrong(Writer):
        def forward(self, *arguments):
            return super().forward(*arguments)[..., :-1]

    with pytest.raises(UserError, match=r"target tokens, num_target_tokens \+ 1\) = \(2, 49, 7\)"):
        try_model(CardOptions(model=Wrong, tasks=("scan_length",)))


def test_how_much_time_would_be_enough_is_a_whole_number():
    key = {"model": "mine", "task": "ctl", "seed": 0}
    record = Record(experiment="card", key=key, config={}, seed=0, outcome={"steps": 8})
    (cell,) = too_short([record], 1_000)
    assert cell["why"].endswith("; 125 times as many minutes would be enough")
