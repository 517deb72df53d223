"""Kept networks: found, loaded, asked; and files that try to be more than weights."""

import json
import math
import os
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_lots import sequence_lot, train_and_keep

from wug.core import index
from wug.core.errors import UserError
from wug.core.folders import results_folder
from wug.lab import Lab
from wug.lab.bench import require_bounded
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.encoder_decoder import EncoderDecoder
from wug.records import RunStore
from wug.sources.sequence_task import SequenceTask
from wug.tasks.productivity.ctl import CTL
from wug.tasks.productivity.listops import ListOps
from wug.tasks.productivity.scan_length import ScanLength
from wug.tasks.productivity.simple_arithmetic import SimpleArithmetic
from wug.training.engine import initial_module
from wug.training.kept_networks import find_networks, keep_network, load

TASK = CTL(order="forward", num_train=400, num_evaluation=60)
NDR = {"features": 16, "hidden_features": 32, "num_steps": 3}
STACK = {"in_features": 4, "out_features": 1, "units": ["nau", "nmu"], "hidden_features": 2}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a trained NDR, as the trainer leaves it."""
    root = tmp_path_factory.mktemp("lab") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WUG_CACHE", str(root.parent / "cache"))
        train_and_keep(sequence_lot("ndr", TASK, "ndr", NDR, seed=3), root / "demo" / "smoke")
    return root


def write(root: Path, name: str, about: object, source: Path | None = None) -> Path:
    path = root / "models" / f"{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {"a": torch.zeros(2)} if source is None else load_file(source)
    save_file(weights, path, {"about": json.dumps(about)})
    return path


def only(lab: Lab) -> str:
    (one,) = lab.checkpoints()["checkpoints"]
    return str(one["id"])


def test_the_listing_says_what_there_is(kept: Path) -> None:
    (one,) = Lab([kept]).checkpoints()["checkpoints"]
    assert one["name"] == "runs/demo/smoke/ndr" and one["model"] == "NDR" and one["task"] == "CTL"
    assert one["labels"] == {"model": "ndr"} and one["seed"] == 3 and 0 <= one["accuracy"] <= 1
    assert one["example"] == "101 d a b" and one["tokens"] == list(TASK.tokens)


def test_the_listing_opens_with_a_network_that_is_right() -> None:
    listed = Lab([results_folder() / "csordas2023.ctl"]).checkpoints()["checkpoints"]
    shares = [one["accuracy"] for one in listed]
    assert listed[0]["model"] == "NDR" and shares == sorted(shares, reverse=True)


def test_networks_of_smoke_runs_are_not_listed(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path / "runs")
    store = RunStore.open(tmp_path / "runs" / "demo" / "smoke", "demo", {})
    assert Lab([tmp_path / "runs"]).checkpoints() == {"checkpoints": [], "problems": []}
    store.write_catalog({"scale": "laptop"})
    assert len(Lab([tmp_path / "runs"]).checkpoints()["checkpoints"]) == 1


def test_an_answer_is_that_of_the_network(kept: Path) -> None:
    lab = Lab([kept])
    answer = lab.answer(only(lab), " 101  d a b")
    network, task = load(next(find_networks([kept])).path)
    assert task == TASK and not network.training
    tokens = torch.tensor([TASK.encode("101 d a b")])
    with torch.no_grad():
        trace = network.trace(tokens, torch.tensor([4]))  # type: ignore[operator]
    shares = trace["logits"][0].softmax(-1)
    assert answer["problem"] == "101 d a b"
    assert answer["answer"] == TASK.classes[TASK.answer(TASK.encode("101 d a b"))]
    assert answer["prediction"] == TASK.classes[int(shares.argmax())]
    assert {name: share for name, share in answer["probabilities"]} == pytest.approx(
        dict(zip(TASK.classes, shares.tolist(), strict=True)), abs=1e-3
    )
    routing = answer["routing"]
    assert routing["columns"] == ["begin", "101", "d", "a", "b", "end"]
    assert routing["operands"] == [[], [], [1], [2], [3], []]
    openness = trace["gates"][:, 0].mean(-1)
    torch.testing.assert_close(torch.tensor(routing["openness"]), openness, atol=1e-3, rtol=0)
    attention = torch.zeros_like(trace["attention"][:, 0])
    for step, heads in enumerate(routing["arcs"]):
        for head, arcs in enumerate(heads):
            for target, source, weight in arcs:
                attention[step, head, target, source] = weight
    torch.testing.assert_close(attention, trace["attention"][:, 0], atol=0.02, rtol=0)
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "empty problem"),
        ("101 d a B", "unknown token 'B'"),
        ("d a b", "CTL"),
        ("<script>", "unknown token"),
        ("101" + " a" * 300, "may have 256 tokens; got 301"),
        ("a" * 25_000, "may have 20000 letters; got 25000"),
    ],
)
def test_bad_inputs_are_explained(kept: Path, text: str, sentence: str) -> None:
    lab = Lab([kept])
    with pytest.raises(UserError, match=sentence):
        lab.answer(only(lab), text)


@pytest.mark.parametrize("id_", ["", "../../etc/passwd", "demo/smoke/ndr"])
def test_only_what_is_listed_can_be_asked(kept: Path, id_: str) -> None:
    with pytest.raises(UserError, match="no such network"):
        Lab([kept]).answer(id_, "101 a")


@pytest.mark.parametrize(
    ("model", "options"), [("lstm", {"features": 8}), ("transformer", {"features": 8})]
)
def test_other_models_answer(tmp_path: Path, model: str, options: dict[str, int]) -> None:
    lot = sequence_lot("x", TASK, model, options)
    about = {"model": model, "model_options": options, "task": "ctl",
             "task_options": {"order": "forward", "train_lengths": [1, 5]}}  # fmt: skip
    save_file(initial_module(lot, 0).state_dict(), tmp_path / "weights")
    write(tmp_path, model, about, tmp_path / "weights")
    lab = Lab([tmp_path])
    answer = lab.answer(only(lab), "101 d")
    assert sum(share for _, share in answer["probabilities"]) == pytest.approx(1, abs=0.01)
    assert (answer["routing"] is None) == (model == "lstm")


@pytest.mark.parametrize(
    ("task", "problem", "answer"),
    [
        (ListOps(), "[MAX 2 4 [MIN 3 9]]", "4"),
        (SimpleArithmetic(), "((4*7)+2)", "0"),  # modulo 10
    ],
)
def test_there_is_something_to_begin_with(
    task: SequenceTask, problem: str, answer: str, tmp_path: Path
) -> None:
    key = type(task).__module__.rsplit(".", 1)[-1]
    write(tmp_path, "x", {"model": "ndr", "model_options": {}, "task": key, "task_options": {}})
    (one,) = Lab([tmp_path]).checkpoints()["checkpoints"]
    assert one["example"] == problem
    assert task.classes[task.answer(task.encode(problem))] == answer


def test_a_stack_of_units_reads_numbers(tmp_path: Path) -> None:
    stack = ArithmeticStack(4, 1)
    weights = {
        "layers.0.weight": torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]),
        "layers.1.weight": torch.tensor([[1.0, 1.0]]),
    }
    stack.load_state_dict(weights)
    path = tmp_path / "models" / "stack.safetensors"
    keep_network(
        path, stack.state_dict(), model="arithmetic_stack", options=STACK,
        labels={"operation": "mul"},
    )  # fmt: skip
    lab = Lab([tmp_path])
    answer = lab.answer(only(lab), "1, 2, 3, 4")
    assert answer["outputs"] == [30.0] and ["layer_0", [10.0, 3.0]] in answer["layers"]
    assert answer["formula"] == ["(x1 + x2)*(x1 + x2 + x3 + x4)"]
    huge = lab.answer(only(lab), "1e30 1e30 1e30 1e30")
    assert huge["outputs"] == [None]
    for text, sentence in (("1 2", "reads 4 finite numbers; got 2"), ("1 2 3 x", "numbers"),
                           ("nan 1 2 3", "finite")):  # fmt: skip
        with pytest.raises(UserError, match=sentence):
            lab.answer(only(lab), text)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "os:system"}, "not ours to run"),
        ({"model": "torch.nn:Linear"}, "not ours to run"),
        ({"model": 5}, "does not say which model"),
        ({"task": "../ctl"}, "unknown task"),
        ({"task": "single_module", "task_options": {}}, "task single_module"),
        ({"task_options": {"order": "sideways"}}, "order must be one of"),
        ({"task_options": {"no": 1}}, "don't fit"),
    ],
)
def test_files_that_name_other_things_are_named(
    kept: Path, tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    about = {"model": "ndr", "model_options": NDR, "task": "ctl",
             "task_options": {"order": "forward"}, **change}  # fmt: skip
    write(tmp_path, "bad", about, next(find_networks([kept])).path)
    listing = Lab([tmp_path]).checkpoints()
    assert listing["checkpoints"] == []
    assert sentence in listing["problems"][0] and "/bad: " in listing["problems"][0]


@pytest.mark.parametrize(
    "options",
    [{}, {**NDR, "features": 10**9}, {**NDR, "device": "cpu"}, {**NDR, "no": 1}, {"features": "a"}],
)
def test_options_that_do_not_fit_the_weights(
    kept: Path, tmp_path: Path, options: dict[str, object]
) -> None:
    about = {"model": "ndr", "model_options": options, "task": "ctl",
             "task_options": {"order": "forward"}}  # fmt: skip
    path = write(tmp_path, "bad", about, next(find_networks([kept])).path)
    with pytest.raises(UserError, match="can't be loaded as ndr"):
        load(path)


def test_torn_files_and_links_are_left_out(kept: Path, tmp_path: Path) -> None:
    source = next(find_networks([kept])).path
    root = tmp_path / "root"
    (root / "models").mkdir(parents=True)
    (root / "models" / "torn.safetensors").write_bytes(source.read_bytes()[:50])
    (root / "models" / "none.safetensors").mkdir()
    os.symlink(source, root / "models" / "away.safetensors")
    listing = Lab([root]).checkpoints()
    assert listing["checkpoints"] == []
    assert [text.split(":")[0] for text in listing["problems"]] == ["root/torn"]


@pytest.mark.parametrize(
    ("part", "change", "sentence"),
    [
        ("model_options", {"num_steps": 10**9}, "num_steps may be 1000"),
        ("model_options", {"num_layers": math.nan}, "num_layers may be 1000"),
        ("model_options", {"test_steps": 1e300}, "test_steps may be 1000"),
        ("model_options", {"features": 10**400}, "features may be 10000"),
        ("model_options", {"units": ["nau"] * 2_000}, "units may have 1000 items"),
        ("task_options", {"num_functions": 10**9}, "num_functions may be 1000"),
        ("task_options", {"train_lengths": [2, 10**12]}, "train_lengths may be 10000"),
    ],
)
def test_work_without_end_is_refused(
    kept: Path, tmp_path: Path, part: str, change: dict[str, object], sentence: str
) -> None:
    about = {"model": "ndr", "model_options": NDR, "task": "ctl",
             "task_options": {"order": "forward"}}  # fmt: skip
    about[part] = {**about[part], **change}  # type: ignore[dict-item]
    source = next(find_networks([kept])).path
    write(tmp_path, "good", {"model": "ndr", "model_options": NDR, "task": "ctl"}, source)
    write(tmp_path, "endless", about, source)
    lab = Lab([tmp_path])
    listing = lab.checkpoints()
    assert len(listing["checkpoints"]) == 1 and sentence in listing["problems"][0]
    (bad,) = (one.id for one in find_networks([tmp_path]) if "endless" in one.name)
    with pytest.raises(UserError, match=sentence):
        lab.answer(bad, "101 d")


@pytest.mark.parametrize("field", ["about", "labels"])
@pytest.mark.parametrize("depth", [150, 900, 20_000])
def test_nested_json_costs_its_file_alone(
    kept: Path, tmp_path: Path, field: str, depth: int
) -> None:
    source = next(find_networks([kept])).path
    write(tmp_path, "good", {"model": "ndr", "model_options": NDR, "task": "ctl"}, source)
    nested = "[" * depth + "]" * depth
    text = (
        nested if field == "about" else f'{{"model":"ndr","model_options":{{}},"labels":{nested}}}'
    )
    save_file({"a": torch.zeros(2)}, tmp_path / "models" / "bad.safetensors", {"about": text})
    listing = Lab([tmp_path]).checkpoints()
    assert len(listing["checkpoints"]) == 1
    assert "nested too deeply" in listing["problems"][0] and "/bad: " in listing["problems"][0]


def test_a_file_that_says_too_much_is_named(tmp_path: Path) -> None:
    write(tmp_path, "long", {"model": "ndr", "model_options": {}, "labels": {"a": "b" * 10**6}})
    assert "bytes of itself" in Lab([tmp_path]).checkpoints()["problems"][0]


def test_no_file_ends_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise MemoryError("too much")

    write(tmp_path, "x", {"model": "ndr", "model_options": {}})
    monkeypatch.setattr("wug.lab.bench.read_about", broken)
    (problem,) = Lab([tmp_path]).checkpoints()["problems"]
    assert "MemoryError" in problem


def test_a_network_that_writes_shows_how(tmp_path: Path) -> None:
    task = ScanLength()
    network = EncoderDecoder(13, 6, features=16, num_heads=2, hidden_features=16, num_layers=2)
    options = {"features": 16, "num_heads": 2, "hidden_features": 16, "num_layers": 2}
    keep_network(
        tmp_path / "models" / "writer.safetensors", network.state_dict(), model="encoder_decoder",
        options=options, task=task, labels={"model": "universal"}, seed=0, selected={},
    )  # fmt: skip
    lab = Lab([tmp_path])
    (known,) = lab.checkpoints()["checkpoints"]
    assert known["tokens"] == list(task.source_tokens)
    assert known["example"] == "jump around left twice and walk thrice"
    answer = lab.answer(only(lab), known["example"])
    assert answer["answer"] == task.true_target(known["example"])
    writing = answer["writing"]
    assert writing["source"] == ["begin", *known["example"].split(), "end"]
    assert writing["outcome"] in ("stopped early", "stopped late", "wrote wrongly")
    assert len(writing["attention"]) == 2 and len(writing["attention"][0][0]) == 9
    json.dumps(answer, allow_nan=False)
    # Known words that are no command have an answer, and no right one.
    assert lab.answer(only(lab), "twice twice")["answer"] is None
    with pytest.raises(UserError, match="unknown token 'fly'"):
        lab.answer(only(lab), "fly twice")


def test_a_class_of_a_users_is_asked_if_it_is_named(tmp_path: Path) -> None:
    """As `wug card my.py:Net` keeps it: its code runs only where a person has said so."""
    code = tmp_path / "my.py"
    code.write_text(
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, num_tokens, num_classes):\n"
        "        super().__init__()\n"
        "        self.embedding = nn.Embedding(num_tokens, num_classes)\n"
        "    def forward(self, tokens, lengths):\n"
        "        return self.embedding(tokens).sum(1)\n"
    )
    weights = {"embedding.weight": torch.eye(17, 8)}
    path = tmp_path / "runs" / "card" / "models" / "net-ctl-0.safetensors"
    keep_network(path, weights, model="elsewhere/my.py:Net", options={}, task=TASK)
    refused = Lab([tmp_path / "runs"]).checkpoints()
    assert not refused["checkpoints"] and "--model elsewhere/my.py:Net" in refused["problems"][0]
    lab = Lab([tmp_path / "runs"], trusted=[f"{code}:Net"])
    (one,) = lab.checkpoints()["checkpoints"]
    assert one["model"] == "Net" and one["task"] == "CTL"
    answer = lab.answer(one["id"], "101 d a b")
    assert answer["prediction"] == "101" and answer["routing"] is None
    other = Lab([tmp_path / "runs"], trusted=["other.py:Net"])
    assert not other.checkpoints()["checkpoints"]


@pytest.mark.parametrize("key", [
    entry.key for entry in index.entries("task") if entry.details.get("interface") == "transduction"
])  # fmt: skip
def test_tasks_of_usual_sizes_are_within_bounds(key):
    require_bounded(asdict(index.get("task", key)()), "task_options")
