"""wug serve over the wire: pages, news, the lab, and those who try the door."""

import asyncio
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from interrupts import heed_interrupts

from wug.cli.main import main
from wug.cli.serve import listen
from wug.core.folders import results_folder
from wug.records import Record, RunStore

pytest.importorskip("starlette", reason='needs starlette: pip install "wug[serve]"')
uvicorn = pytest.importorskip("uvicorn", reason='needs uvicorn: pip install "wug[serve]"')

from wug.report.live import LiveSite  # noqa: E402
from wug.report.progress import Watch  # noqa: E402
from wug.report.run_source import read_source  # noqa: E402
from wug.report.server import HEADERS, MOST_BYTES, events, make_app, make_server  # noqa: E402
from wug.report.sources import find_sources  # noqa: E402

RUN = results_folder() / "madsen2020.four_inputs" / "paper"
HARM = "<script>window.harmed = 1</script>"


def record() -> Record:
    return Record(
        experiment="demo", kind="scalar", key={"unit": "nau", "range": "a", "seed": 0}, config={},
        seed=0, seconds=1.0, outcome={"solved": False}, versions={}, curves={},
    )  # fmt: skip


class Echo:
    """A lab without torch."""

    def checkpoints(self) -> dict[str, Any]:
        return {"checkpoints": [{"id": "a", "name": HARM, "error": float("nan")}], "problems": []}

    def answer(self, checkpoint: str, text: str) -> dict[str, Any]:
        if checkpoint != "a":
            raise ValueError(f"no network {checkpoint}")
        return {"echo": text}


class Client:
    """Sends requests exactly as they are written."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data, {k.lower(): v for k, v in response.getheaders()}

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        return self.ask("GET", path, **headers)

    def lab(self, data: object, kind: str = "application/json") -> tuple[int, Any]:
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        status, answer, _ = self.ask("POST", "/lab/answer", body, content_type=kind)
        return status, answer


@contextmanager
def running(roots: list[Path], **options: Any) -> Iterator[Client]:
    listener = listen("127.0.0.1", 0)
    app = make_app(roots, **{"lab": Echo(), **options})
    server = make_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield Client(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server of one of our results."""
    with running([RUN, tmp_path_factory.mktemp("none") / "later"]) as found:
        yield found


def test_the_site_is_that_of_the_report(client: Client) -> None:
    status, body, headers = client.get("/index.html")
    assert status == 200 and b"<h1>Networks that learn the rule</h1>" in body
    assert b'href="live.html"' in body and b'href="lab.html"' in body
    assert HEADERS.items() <= headers.items()
    assert client.get("/run-madsen2020.four_inputs~paper.html")[0] == 200
    status, _, headers = client.get("/")
    assert status == 307 and headers["location"] == "/index.html"


def test_every_asset_of_the_pages_is_there(client: Client) -> None:
    for page in ("/index.html", "/live.html", "/lab.html"):
        status, body, _ = client.get(page)
        assert status == 200 and b"Content-Security-Policy" in body
        for name in re.findall(r'(?:src|href)="(assets/[^"]+)"', body.decode()):
            status, content, headers = client.get(f"/{name}")
            assert status == 200 and content
            assert headers["content-type"].startswith(("text/css", "text/javascript"))


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml", "/..%2f..%2fpyproject.toml", "/assets/../page.py",
        "/assets/..%2fpage.py", "/assets/%2e%2e/%2e%2e/page.py", "/assets//etc/passwd",
        "/assets/vendor/README.md", "/etc/passwd", "/run.json", "/records", "/nothing.html",
        "/runs/../../etc/passwd", "/runs/" + "0" * 16, "/index.html%00", "/assets/site.js%00",
        "//etc/passwd", "/live/../index.html", "/lab/answer",
    ],
)  # fmt: skip
def test_no_other_path_leads_anywhere(client: Client, path: str) -> None:
    status, body, headers = client.get(path)
    assert status in (404, 405)
    assert b"root:" not in body and b"import" not in body and HEADERS.items() <= headers.items()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "evil:80"])
def test_other_names_do_not_lead_here(client: Client, host: str) -> None:
    assert client.get("/index.html", host=host)[0] == 400


def test_its_own_names_do(client: Client) -> None:
    for host in ("localhost", f"127.0.0.1:{client.port}", "[::1]:8321"):
        assert client.get("/live.html", host=host)[0] == 200


def test_the_lab_answers(client: Client) -> None:
    status, body, _ = client.get("/lab/checkpoints")
    assert status == 200 and json.loads(body)["checkpoints"][0]["error"] is None
    status, body = client.lab({"checkpoint": "a", "input": HARM})
    assert status == 200 and json.loads(body) == {"echo": HARM}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"checkpoint": "../x", "input": "1"}, 400),
        ({"checkpoint": 5, "input": "1"}, 400),
        ({"checkpoint": "a"}, 400),
        ([1], 400),
        (b"{", 400),
        (b"[" * 60_000, 400),
        (b"\xff\xfe", 400),
        (b" " * (MOST_BYTES + 1), 413),
        (b"x" * 5_000_000, 413),
    ],
)
def test_bad_questions(client: Client, data: object, status: int) -> None:
    try:
        assert client.lab(data)[0] == status
    except (BrokenPipeError, ConnectionResetError):  # it did not read on
        assert status == 413


def test_pages_of_others_can_not_ask(client: Client) -> None:
    question = {"checkpoint": "a", "input": "1"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert client.lab(question, kind)[0] == 415
    assert "access-control-allow-origin" not in client.get("/lab/checkpoints")[2]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://HOST"}, 200),
        ({"origin": "http://HOST", "sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
    ],
)
def test_only_the_own_page_may_ask(client: Client, headers: dict[str, str], status: int) -> None:
    own = {name: v.replace("HOST", f"127.0.0.1:{client.port}") for name, v in headers.items()}
    body = json.dumps({"checkpoint": "a", "input": "1"}).encode()
    kind = "application/json"
    assert client.ask("POST", "/lab/answer", body, content_type=kind, **own)[0] == status


def test_what_utf_8_can_not_hold_is_answered(client: Client) -> None:
    status, body = client.lab(b'{"checkpoint": "a", "input": "\\ud800"}')
    assert status == 200 and json.loads(body) == {"echo": "\ud800"}
    status, body = client.lab(b'{"checkpoint": "\\ud800", "input": ""}')
    assert status == 400 and "no network" in json.loads(body)["error"]


class Stuck(Echo):
    """A lab whose answers never come."""

    def __init__(self) -> None:
        self.end = threading.Event()

    def answer(self, checkpoint: str, text: str) -> dict[str, Any]:
        self.end.wait(60)
        return {}


def test_a_lab_that_hangs_takes_no_page_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.report.server.LAB_SECONDS", 3.0)
    lab, found = Stuck(), []
    with running([RUN], lab=lab) as client:
        assert client.get("/index.html")[0] == 200
        question = {"checkpoint": "a", "input": "1"}
        askers = [
            threading.Thread(target=lambda: found.append(client.lab(question)[0]))
            for _ in range(60)  # more than there are threads for pages
        ]
        for asker in askers:
            asker.start()
        time.sleep(1)
        assert client.get("/index.html")[0] == 200
        for asker in askers:
            asker.join()
        assert len(found) == 60 and set(found) <= {503, 504}
        assert client.get("/index.html")[0] == 200
        lab.end.set()


def test_when_too_many_ask_the_next_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.report.server.MOST_WAITING", 0)
    with running([RUN], lab=Echo()) as client:
        status, body = client.lab({"checkpoint": "a", "input": "1"})
        assert status == 503 and "too many" in json.loads(body)["error"]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"GET /live.html HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /live.html HTTP/1.1\r\nHost: localhost\r\n\r\nGET /li",
        b"GET /live.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
        b"POST /lab/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
    ],
)
def test_half_a_request_does_not_hold_a_connection(
    client: Client, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wug.report.server.REQUEST_SECONDS", 1.0)
    monkeypatch.setattr("wug.report.server.BODY_SECONDS", 1.0)
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        connection.sendall(sent)
        with suppress(ConnectionResetError):
            while connection.recv(65_536):
                pass


def test_news_are_not_cut_off(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wug.report.server.REQUEST_SECONDS", 2.0)
    monkeypatch.setattr("wug.report.server.HEARTBEAT_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        connection.sendall(b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        data = b""
        while data.count(b": still here") < 6:
            more = connection.recv(65_536)
            assert more
            data += more


@pytest.mark.parametrize(
    "rest", [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n"]
)
@pytest.mark.parametrize("host", [b"localhost", b"evil.example"])
def test_who_leaves_early_is_no_error(
    client: Client, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
    host: bytes, rest: bytes,
) -> None:  # fmt: skip
    head = b"POST /lab/answer HTTP/1.1\r\nHost: " + host + b"\r\n"
    head += b"Content-Type: application/json\r\n" + rest
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
            connection.sendall(head)
            time.sleep(0.1)
    assert client.get("/live.html")[0] == 200
    assert capfd.readouterr().err == "" and caplog.text == ""


def test_nonsense_after_the_answer_began_is_no_error(
    client: Client, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        head = b"GET /live/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"ZZZ\r\n")
        with suppress(ConnectionResetError):
            while connection.recv(65_536):
                pass
    assert client.get("/live.html")[0] == 200
    assert capfd.readouterr().err == "" and caplog.text == ""


def test_a_token_is_asked_for() -> None:
    with running([RUN], token="öpen", hosts=("*",)) as client:
        for path in ("/index.html", "/lab/checkpoints", "/live/events", "/assets/site.js",
                     "/index.html?token=", "/index.html?token=open", "/?token=%ff"):  # fmt: skip
            status, body, headers = client.get(path)
            assert status == 403 and b"token" in body and HEADERS.items() <= headers.items()
        assert client.get("/index.html", cookie="wug_token=wrong")[0] == 403
        assert client.lab({"checkpoint": "a", "input": "1"})[0] == 403
        status, _, headers = client.get("//evil.example/x?token=%C3%B6pen")
        assert status == 303 and headers["location"] == "/evil.example/x"
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert client.get("/live.html", cookie=cookie.split(";")[0])[0] == 200


def test_without_a_lab_there_is_none() -> None:
    with running([RUN], lab=None) as client:
        assert client.get("/lab.html")[0] == 404 and client.get("/lab/checkpoints")[0] == 404
        assert b"lab.html" not in client.get("/live.html")[1]


def test_pages_follow_the_records(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    with running([root]) as client:
        assert b"demo" not in client.get("/index.html")[1]  # the folder is not there yet
        store = RunStore.open(root / "demo" / "smoke", "demo", {"a": 1})
        store.report_progress("x", step=1, steps=2)
        store.write_catalog({"title": HARM})
        ((mark, _, _),) = Watch([root]).folders()
        assert client.get(f"/runs/{mark}")[0] == 307  # it says that there are no records yet
        assert client.get("/runs/nothing")[0] == 404
        store.append("x", [record()])
        status, _, headers = client.get(f"/runs/{mark}")
        assert status == 307 and headers["location"] == "/run-demo~smoke.html"
        status, body, _ = client.get(headers["location"])
        assert status == 200 and HARM.encode() not in body and b"&lt;script&gt;" in body
        assert b"demo" in client.get("/index.html")[1]


def test_a_page_shows_what_is_on_the_disk_now_and_reads_what_changed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [RunStore.open(tmp_path / name, "demo", {}) for name in ("one", "two")]
    for store in stores:
        store.append("x", [record()])
    read: list[str] = []

    def counted(folder: Path, *args: Any) -> Any:
        read.append(folder.name)
        return read_source(folder, *args)

    monkeypatch.setattr("wug.report.sources.read_source", counted)
    site = LiveSite([tmp_path])
    assert "1 on 1 seed" in (site.html("run-demo~one.html") or "")
    stores[0].append("y", [replace(record(), seed=7, key={**record().key, "seed": 7})])
    assert "2 on 2 seeds" in (site.html("run-demo~one.html") or "")
    assert read == ["one", "two", "one"]


def test_a_fresh_page_does_not_come_from_an_older_making(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(*args: Any) -> Any:
        found = find_sources(*args)
        begun.set()
        go_on.wait(20)
        return found

    monkeypatch.setattr("wug.report.live.find_sources", slowly)
    site = LiveSite([tmp_path])
    early = threading.Thread(target=site.current)
    early.start()
    begun.wait(20)
    RunStore.open(tmp_path / "demo", "demo", {}).append("x", [record()])
    threading.Timer(0.2, go_on.set).start()
    assert "run-demo~demo.html" in site.fresh().pages
    early.join()


def test_news_come_when_there_are_some(tmp_path: Path) -> None:
    store = RunStore.open(tmp_path / "demo", "demo", {})
    store.report_progress("x", step=1, steps=4, train=0.5)

    async def listen_twice() -> list[Any]:
        stream = events(Watch([tmp_path]))
        first = await anext(stream)
        store.report_progress("x", step=2, steps=4, train=0.25)
        return [first, await anext(stream)]

    texts = asyncio.run(listen_twice())
    found = [json.loads(text.partition("data: ")[2]) for text in texts]
    assert all(text.startswith("event: runs\ndata: ") and text.endswith("\n\n") for text in texts)
    assert [run["lots"][0]["step"] for (run,) in found] == [1, 2]
    assert found[1][0]["lots"][0]["curves"] == {"train": [[1, 0.5], [2, 0.25]]}


@pytest.mark.parametrize(
    ("number", "code", "sentence"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")],
)
def test_the_command_serves_until_it_is_ended(
    tmp_path: Path, number: signal.Signals, code: int, sentence: str
) -> None:
    command = [sys.executable, "-m", "wug", "serve", str(tmp_path), "--port", "0", "--token", "a"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed_interrupts,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(
                r"serving http://127\.0\.0\.1:(\d+)/\?token=a \(Ctrl-C ends it\)\n", line
            )
            assert found, line
            client = Client(int(found[1]))
            assert client.get("/lab.html")[0] == 403
            status, body, _ = client.get("/lab/checkpoints", cookie="wug_token=a")
            assert status == 200 and json.loads(body) == {"checkpoints": [], "problems": []}
            process.send_signal(number)
            assert process.wait(400) == code
            assert process.stderr is not None
            assert (
                process.stderr.read()
                == f"wug: {sentence}; the same command goes on where it stopped.\n"
            )
        finally:
            process.kill()


def test_elsewhere_a_token_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: sockets[0].close())
    tokens = set()
    for _ in range(2):
        assert main(["serve", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]) == 0
        found = re.search(r"http://0\.0\.0\.0:\d+/\?token=([\w-]{32}) ", capsys.readouterr().out)
        assert found
        tokens.add(found[1])
    assert len(tokens) == 2
    assert main(["serve", str(tmp_path), "--port", "0"]) == 0
    assert "token" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("nowhere",), "nowhere is not a folder"),
        (("--port", "70000"), "port must be from 0 to 65535"),
        (("--host", "192.0.2.1"), "can't listen at 192.0.2.1"),
    ],
)
def test_bad_input_is_one_sentence(
    args: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *args]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_a_taken_port_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(tmp_path), "--port", port]) == 2
    assert "Choose another --port" in capsys.readouterr().err
