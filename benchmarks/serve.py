"""What do hostile requests and many clients do to ``wug serve``, and to its memory?

Starts the server on a folder with a run that ships, a kept network and files that are made to do
harm. First come 2,000 hostile requests (half ones, endless ones, foreign ones, paths that try to
lead out, nested questions, questions to a network that never ends), then 50 clients who read pages,
follow the news and ask the lab for five minutes. The bars: every answer that comes is a refusal or
an honest page, none is a 500; the server answers afterwards; stderr is one sentence; its memory is
in the soak's last quarter at most 5 % above that in its second. The exit code says if they hold.

    python benchmarks/serve.py [--requests 2000] [--clients 50] [--minutes 5]

All requests go to 127.0.0.1. Memory is that of the server and its lab together, from /proc.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import tyro

from wug.core.folders import results_folder

RUN = results_folder() / "madsen2020.four_inputs" / "paper"
MOST_GROWTH = 0.05
KIND = {"Content-Type": "application/json"}
PATHS = (
    "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/page.py", "//etc/passwd",
    "/index.html%00", "/runs/../../etc/passwd", "/" + "a" * 60_000, "/%ff%fe", "/?token=%ff",
    "/lab/answer", "/live/../index.html", "/assets/" + "../" * 500, "/<script>", "/nothing.html",
)  # fmt: skip
BODIES = (
    b"", b"{", b"[" * 60_000, b'{"checkpoint":' * 1_000, b"\xff\xfe", b"9" * 60_000, b"null",
    b'{"checkpoint": "\\ud800", "input": "\\ud800"}', b'{"checkpoint": 5, "input": []}',
    b'{"checkpoint": "x", "input": "1"}', b"x" * 70_000, b'{"checkpoint": "x"}', b'"' * 1_000,
)  # fmt: skip
RAW = (
    b"", b"\r\n" * 100, b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000,
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 5_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"POST /lab/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"POST /lab/answer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
    b"POST /lab/answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{",
    b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /index.html HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    b"\r\n",
)  # fmt: skip


def make_folder(folder: Path) -> None:
    """Write a kept network, one that asks for work without end, and records of others."""
    import torch
    from safetensors.torch import load_file, save_file

    from wug.models.arithmetic_stack import ArithmeticStack
    from wug.models.ndr import NDR
    from wug.tasks.productivity.ctl import CTL
    from wug.training.kept_networks import keep_network

    options = {"in_features": 4, "out_features": 1, "units": ["nau", "nmu"], "hidden_features": 2}
    good = folder / "good" / "models" / "stack.safetensors"
    stack = ArithmeticStack(4, 1)
    keep_network(good, stack.state_dict(), model="arithmetic_stack", options=options)
    task = CTL(order="forward")
    small = {"features": 16, "hidden_features": 32, "num_steps": 3}
    weights = NDR(task.num_tokens, task.num_classes, **small, generator=torch.Generator())
    for name, steps in (("slow", 1_000), ("endless", 10**9)):
        about = {"model": "ndr", "model_options": {**small, "num_steps": steps}, "task": "ctl",
                 "task_options": {"order": "forward"}}  # fmt: skip
        path = folder / name / "models" / "ndr.safetensors"
        path.parent.mkdir(parents=True)
        save_file(weights.state_dict(), path, {"about": json.dumps(about)})
    nested = folder / "nested" / "models" / "x.safetensors"
    nested.parent.mkdir(parents=True)
    save_file(load_file(good), nested, {"about": "[" * 50_000})
    bad = folder / "bad"
    (bad / "records").mkdir(parents=True)
    (bad / "run.json").write_text('{"wug_run": ' + "[" * 50_000)
    (bad / "records" / f"000001-x-{'0' * 16}.jsonl").symlink_to("/dev/zero")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run the server; give its process and port."""
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "wug", "serve", str(folder), str(RUN), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            try:
                found = re.search(r":(\d+)/", process.stdout.readline() if process.stdout else "")
                if found is None:
                    raise SystemExit("the server did not start")
                yield process, int(found[1])
                process.send_signal(signal.SIGTERM)
                print(f"ended with code {process.wait(60)} after SIGTERM")
            finally:
                process.kill()
        errors.seek(0)
        said = errors.read()
        print(f"stderr: {said.strip() or 'nothing'}")
        if said.count("\n") != 1:
            raise SystemExit("more is on stderr than that it was ended")


def memory(process: subprocess.Popen[str]) -> float:
    """Return the megabytes that a process and its children hold."""
    family = {process.pid}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, parent = path.parent.name, path.read_text().rpartition(")")[2].split()[1]
            if int(parent) in family:
                family.add(int(pid))
    total = 0
    for pid in family:
        with suppress(OSError):
            found = re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
            total += int(found[1]) if found else 0
    return total / 1000


def ask(
    port: int, method: str, path: str, body: bytes | None = None, headers: dict[str, str] = KIND,
    seconds: float = 200,
) -> tuple[int, bytes]:  # fmt: skip
    """Send a request and return status and body; 0 if the connection was closed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException, ValueError):
        return 0, b""
    finally:
        connection.close()


def ask_raw(port: int, data: bytes, wait: float) -> int:
    """Send bytes, wait, and leave, perhaps in the middle."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(data)
        connection.settimeout(wait)
        answer = connection.recv(4096)
        found = re.match(rb"HTTP/1\.1 (\d+)", answer)
        return int(found[1]) if found else 0
    return 0


def hostile(port: int, rng: random.Random, networks: list[str]) -> str:
    """Send one hostile request and return its kind and the answer."""
    kind = rng.choice(("path", "body", "raw", "foreign", "host", "method", "ask"))
    if kind == "path":
        return f"{kind} {ask(port, 'GET', rng.choice(PATHS))[0]}"
    if kind == "body":
        return f"{kind} {ask(port, 'POST', '/lab/answer', rng.choice(BODIES))[0]}"
    if kind == "raw":
        return f"{kind} {ask_raw(port, rng.choice(RAW), rng.choice((0.01, 0.2)))}"
    question = {"checkpoint": rng.choice(networks), "input": rng.choice(("1 2 3 4", "101 d", "("))}
    body = json.dumps(question).encode()
    if kind == "foreign":
        origin = rng.choice(("http://evil.example", "null", "http://localhost:1"))
        return f"{kind} {ask(port, 'POST', '/lab/answer', body, {**KIND, 'Origin': origin})[0]}"
    if kind == "host":
        return f"{kind} {ask(port, 'GET', '/index.html', None, {'Host': 'evil.example'})[0]}"
    if kind == "method":
        return f"{kind} {ask(port, rng.choice(('PUT', 'TRACE', 'BREW')), '/index.html')[0]}"
    if rng.random() < 0.9:  # the rest asks a network, perhaps a slow one
        question["checkpoint"] = "0" * 16
    return f"{kind} {ask(port, 'POST', '/lab/answer', json.dumps(question).encode())[0]}"


def send_hostile(
    port: int, num_requests: int, networks: list[str], threads: int = 16
) -> Counter[str]:
    """Send many hostile requests, some side by side, and count the answers."""
    answers: Counter[str] = Counter()
    left = iter(range(num_requests))
    lock = threading.Lock()

    def send() -> None:
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                return
            answer = hostile(port, random.Random(number), networks)
            with lock:
                answers[answer] += 1

    run_all([threading.Thread(target=send) for _ in range(threads)])
    return answers


def run_all(threads: list[threading.Thread]) -> None:
    """Run threads to their end."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def soak(
    process: subprocess.Popen[str], port: int, clients: int, seconds: float, pages: list[str],
    networks: list[str],
) -> tuple[Counter[str], list[float]]:  # fmt: skip
    """Let clients use the server; return the answers and its memory along the way."""
    answers: Counter[str] = Counter()
    samples: list[float] = []
    end = time.monotonic() + seconds

    def use(number: int) -> None:
        rng = random.Random(number)
        while time.monotonic() < end:
            choice = rng.random()
            if choice < 0.6:
                answers[f"page {ask(port, 'GET', rng.choice(pages))[0]}"] += 1
            elif choice < 0.8:
                answers[f"news {ask_raw(port, RAW[-2], 2.0)}"] += 1
            elif choice < 0.9:
                answers[f"list {ask(port, 'GET', '/lab/checkpoints')[0]}"] += 1
            else:
                question = {"checkpoint": rng.choice(networks), "input": "1 2 3 4"}
                body = json.dumps(question).encode()
                answers[f"lab {ask(port, 'POST', '/lab/answer', body)[0]}"] += 1
            time.sleep(rng.uniform(0.1, 0.5))

    def watch() -> None:
        while time.monotonic() < end:
            samples.append(memory(process))
            time.sleep(max(seconds / 100, 0.1))

    users = [threading.Thread(target=use, args=(number,)) for number in range(clients)]
    run_all([threading.Thread(target=watch), *users])
    return answers, samples


def main(
    requests: int = 2_000, clients: int = 50, minutes: float = 5.0, smoke: bool = False
) -> int:
    """Measure and print.

    Args:
        requests: How many hostile requests.
        clients: How many clients soak the server.
        minutes: For how long.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    if smoke:
        requests, clients, minutes = 60, 3, 0.1
    with tempfile.TemporaryDirectory() as place:
        make_folder(Path(place))
        with serving(Path(place)) as (process, port):
            status, page = ask(port, "GET", "/index.html")
            links = re.findall(r'(?:href|src)="([\w./~-]+\.(?:html|js|css))"', page.decode())
            pages = sorted({f"/{link}" for link in links} | {"/live.html", "/lab.html"})
            listing = json.loads(ask(port, "GET", "/lab/checkpoints")[1])
            known = {one["name"].split("/")[-2]: one["id"] for one in listing["checkpoints"]}
            print(f"{len(pages)} pages and assets, networks {', '.join(known)}")
            print("\n".join(f"not used: {problem[:100]}" for problem in listing["problems"]))
            networks = list(known.values())
            for path in pages:
                ask(port, "GET", path)
            question = json.dumps({"checkpoint": known["good"], "input": "1 2 3 4"}).encode()
            ask(port, "POST", "/lab/answer", question)
            before = memory(process)
            began = time.monotonic()
            answers = send_hostile(port, requests, networks)
            took = time.monotonic() - began
            time.sleep(2)
            after = memory(process)
            status, _ = ask(port, "POST", "/lab/answer", question)
            print(f"\n{sum(answers.values())} hostile requests in {took:.0f} s; 0: it hung up")
            print("\n".join(f"  {answer:12} {count}" for answer, count in sorted(answers.items())))
            print(f"memory: {before:.0f} MB before, {after:.0f} MB after; the lab answers {status}")
            good = status == 200 and not any(answer.endswith(" 500") for answer in answers)
            used, samples = soak(process, port, clients, minutes * 60, pages, [known["good"]])
            quarter = len(samples) // 4 or 1
            second, last = (statistics.median(s) for s in (samples[quarter:][:quarter],
                                                           samples[-quarter:]))  # fmt: skip
            growth = last / second - 1
            print(f"\n{sum(used.values())} requests of {clients} clients in {minutes:g} minutes")
            print("\n".join(f"  {answer:12} {count}" for answer, count in sorted(used.items())))
            print(
                f"memory: {second:.0f} MB in the second quarter, {last:.0f} MB in the last, "
                f"{100 * growth:+.1f} %; from {min(samples):.0f} to {max(samples):.0f} MB"
            )
            fine = {"page 200", "news 200", "list 200", "lab 200", "lab 503", "list 503"}
            good &= growth <= MOST_GROWTH and set(used) <= fine
    print("the bars hold" if good else "THE BARS DO NOT HOLD")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
