"""A small web server on this machine: serves bytes, in ranges too, and breaks off when told to."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Web:
    """What the server has and what it was asked."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    # Bytes after which an answer breaks off, once per path.
    breaks: dict[str, int] = field(default_factory=dict)
    ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def serve_files() -> Iterator[Web]:
    """Serve until the block ends."""
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            web.asked.append((self.path, asked))
            content = web.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and web.ranges else 0
            if start >= len(content) and start:
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = web.breaks.pop(self.path, len(content))
            self.wfile.write(content[start:end])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
