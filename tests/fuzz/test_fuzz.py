"""Whatever a file or a question holds: an answer or a sentence, never a traceback.

Each target runs for some seconds in `make test` and for a minute in `make test-slow`.
"""

import asyncio
import gzip
import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from hostile import NUMBERS, TEXTS, dumped, safetensors, spoiled, torn
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from wug.cli.main import main
from wug.core.errors import UserError
from wug.estimators.number_tables import read_table
from wug.estimators.saved import FILE_NAME, read_fit
from wug.lab import Lab
from wug.lab.answers import answer
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.ndr import NDR
from wug.records import Record, RunFolderError, RunStore, pack_run, read_run, read_traces
from wug.records.hashing import digest
from wug.report.site import make_pages
from wug.report.sources import find_sources
from wug.tasks.productivity.ctl import CTL

MINUTE = 60.0
QUICK = 25

OUTCOME = {"solved": True, "solved_at": 100, "sparsity_error": 0.1, "test_error": 1.0}
RECORD = Record(
    experiment="demo", key={"unit": "nau", "range": "a", "seed": 0}, config={"steps": 10}, seed=0,
    outcome=OUTCOME, curves={"step": [0, 10], "test": [1.0, 0.5]}, versions={"wug": "0"},
)  # fmt: skip
LINE = {name: value for name, value in json.loads(RECORD.to_line()).items() if name != "check"}
HEADER = {"wug_records": 1, "count": 2, "shared": RECORD.shared()}
CATALOG = {
    "title": "Demo", "command": "wug run demo", "finished": "2026-01-31", "departures": ["none"],
    "layout": {"rows": ["unit"], "column": "range", "row_order": [["nau"]], "column_order": ["a"],
               "measure": "success", "baseline": "nau"},
    "published": [{"unit": "nau", "range": "a", "success": {"value": 0.5, "plus": 0.1}}],
    "claims": [{"key": "a", "statement": "b", "source": "c", "ours": {"verdict": "held"}}],
    "units": [{"key": "nau", "name": "NAU", "references": ["madsen2020"], "equation": "y = W x"}],
    "column_claims": {"a": "extrapolation"}, "row_units": {"nau": "nau"},
}  # fmt: skip
FIT = {
    "format": 1, "target": "y", "columns": ["a", "b"], "expression": "2*a*b", "status": "exact",
    "latex": "2 a b", "symbols": ["a", "b"], "rows": 3, "versions": {"wug": "0"},
    "weights": {"exponents": [[1, 1]], "coefficients": [[2]], "powers": [1]},
    "front": [{"expression": "2*a*b", "complexity": 3, "error": 0.0, "r2": 1.0, "seconds": 0.1}],
    "ranges": {"y": [1, 2, 3], "a": [1, 2, 3], "b": [1, 2, 3]},
    "sample": {"inputs": {"a": [1, 3], "b": [1, 2]}, "measured": [2.5, 6], "predicted": [2, 6]},
}  # fmt: skip
STACK = {"in_features": 4, "out_features": 1, "units": ["nau", "nmu"], "hidden_features": 2}
ABOUT = {"model": "arithmetic_stack", "model_options": STACK, "labels": {"a": "b"}, "seed": 3}
TENSORS = {
    "layers.0.weight": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]},
    "layers.1.weight": {"dtype": "F32", "shape": [1, 2], "data_offsets": [32, 40]},
}
TASK = CTL(order="forward", num_train=100, num_evaluation=10)


def sealed(fields: Any) -> bytes:
    """Write a line as `seal` does, whatever its fields are."""
    body = dumped(fields)
    return b'{"check":"%s",%s\n' % (digest(body).encode(), body[1:])


def look_at(folder: Path) -> None:
    """Use a run folder in every way that reads it."""
    pages, _ = make_pages(find_sources([folder.parent]))
    for page in pages:
        page.body.encode()
        assert "<script>window" not in page.body and "could not be made:</p>" not in page.body
    for form in ("--json", "--csv", "--latex", "--markdown", "--claims"):
        assert main(["show", str(folder), form]) in (0, 2)
    with suppress(RunFolderError):
        pack_run(read_run(folder), folder.parent / "packed")


@st.composite
def segments(draw: st.DrawFn) -> bytes:
    lines = [draw(spoiled(HEADER)), draw(spoiled(LINE)), draw(spoiled(LINE))]
    return draw(torn(b"".join(map(sealed, lines))))


def check_records(data: bytes) -> None:
    with TemporaryDirectory() as place:
        store = RunStore.open(Path(place) / "run", "demo", {})
        store.append("good", [RECORD])
        (store.folder / "records" / f"000009-x-{'0' * 16}.jsonl").write_bytes(data)
        try:
            read_run(store.folder).problems  # noqa: B018
        except RunFolderError as error:
            assert "has format" in str(error)
            return
        look_at(store.folder)
        again = RunStore.open(store.folder, "demo", {})
        assert RECORD.identity in again.finished()
        assert again.problems == []


def check_catalog(data: bytes) -> None:
    with TemporaryDirectory() as place:
        store = RunStore.open(Path(place) / "run", "demo", {})
        store.append("good", [RECORD])
        (store.folder / "catalog.json").write_bytes(data)
        look_at(store.folder)


def check_fit(data: bytes) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "fit"
        folder.mkdir()
        (folder / FILE_NAME).write_bytes(data)
        for page in make_pages(find_sources([folder]))[0]:
            page.body.encode()
            assert "<script>window" not in page.body
        try:
            fit = read_fit(folder)
        except UserError:
            return
        values = fit.predict(np.full((2, len(fit.columns)), 1.5))
        assert (np.isfinite(values) | np.isnan(values)).all()


CELLS = st.lists(TEXTS | NUMBERS.filter(lambda n: abs(n) < 10**100 or n != n).map(str), max_size=5)


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, bytes]:
    separator = draw(st.sampled_from(",;\t|"))
    lines = (separator.join(cells) for cells in draw(st.lists(CELLS, max_size=5)))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines)
    data = draw(torn(text.encode("utf-8", "surrogatepass")) | st.binary(max_size=200))
    name = draw(st.sampled_from(["a.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.txt"]))
    return name, draw(torn(gzip.compress(data))) if name.endswith(".gz") else data


def check_table(named: tuple[str, bytes]) -> None:
    with TemporaryDirectory() as place:
        path = Path(place) / named[0]
        path.write_bytes(named[1])
        try:
            table = read_table(path)
        except UserError as error:
            assert str(error)
            return
        assert len({len(column) for column in table.numbers.values()}) <= 1


@cache
def networks() -> tuple[ArithmeticStack, NDR]:
    router = NDR(
        TASK.num_tokens, TASK.num_classes, features=8, hidden_features=8, num_steps=2,
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    return ArithmeticStack(4, 1), router.eval()


QUESTIONS = (
    TEXTS
    | st.lists(NUMBERS.map(lambda n: repr(n) if abs(n) < 10**100 or n != n else "9" * 400)).map(
        " ".join
    )
    | st.lists(st.sampled_from(TASK.tokens), max_size=30).map(" ".join)
)


def check_question(text: str) -> None:
    stack, router = networks()
    for ask in (lambda: answer(stack, None, text), lambda: answer(router, TASK, text)):
        try:
            json.dumps(ask(), allow_nan=False)
        except UserError as error:
            assert str(error)


BODIES = (
    st.binary(max_size=100)
    | spoiled({"checkpoint": "a", "input": "1"}).map(dumped)
    | st.fixed_dictionaries({"checkpoint": TEXTS, "input": TEXTS}).map(dumped)
)


class Echo:
    def checkpoints(self) -> dict[str, Any]:
        return {}

    def answer(self, checkpoint: str, text: str) -> dict[str, Any]:
        if checkpoint != "a":
            raise ValueError(f"no network {checkpoint}")
        return {"echo": text, "nothing": math.nan}


@cache
def application() -> Any:
    pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "wug[serve]"')
    from wug.report.server import make_app

    return make_app([Path(mkdtemp())], lab=Echo())


def check_body(body: bytes) -> None:
    app, sent = application(), []
    scope = {
        "type": "http", "method": "POST", "path": "/lab/answer", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] in (200, 400, 413)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    about = draw(torn(dumped(draw(spoiled(ABOUT)))).map(lambda b: b.decode("utf-8", "replace")))
    header = {**TENSORS, "__metadata__": {"about": about}}
    if draw(st.booleans()):
        header = draw(spoiled(header))
    length = draw(st.none() | st.sampled_from([0, 1, 2**31, 2**63]))
    data = draw(st.just(bytes(40)) | st.binary(max_size=50))
    return draw(torn(safetensors(dumped(header), data, length)))


def check_network(data: bytes) -> None:
    with TemporaryDirectory() as place:
        for folder in ("models", "traces"):
            (Path(place) / folder).mkdir()
            (Path(place) / folder / "x.safetensors").write_bytes(data)
        read_traces(Path(place))
        lab = Lab([Path(place)])
        listing = lab.checkpoints()
        assert len(listing["checkpoints"]) + len(listing["problems"]) == 1
        json.dumps(listing)
        for one in listing["checkpoints"]:
            try:
                json.dumps(lab.answer(one["id"], "1 2 3 4"), allow_nan=False)
            except UserError as error:
                assert str(error)


TARGETS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], None]]] = {
    "records": (segments(), check_records),
    "catalogs": (spoiled(CATALOG).map(dumped).flatmap(torn), check_catalog),
    "saved fits": (spoiled(FIT).map(dumped).flatmap(torn), check_fit),
    "tables": (tables(), check_table),
    "lab questions": (QUESTIONS, check_question),
    "lab requests": (BODIES, check_body),
    "safetensors headers": (files(), check_network),
}


def fuzz(name: str, number: int, max_examples: int) -> None:
    """Try a target on examples; the number decides which."""
    strategy, check = TARGETS[name]

    @seed(number)
    @settings(
        max_examples=max_examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def try_it(example: Any) -> None:
        check(example)

    try_it()


@pytest.mark.parametrize("name", TARGETS)
def test_seconds(name: str) -> None:
    fuzz(name, 0, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_minute(name: str) -> None:
    end = time.monotonic() + MINUTE
    number = int(time.time())
    while time.monotonic() < end:
        fuzz(name, number, 100)
        number += 1
