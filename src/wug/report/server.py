"""The server behind ``wug serve``: the site, the runs at work, and a lab that is handed in.

No request names a file: pages and assets are looked up among those that there are, runs and
networks by ids of a listing.
"""

from __future__ import annotations

import asyncio
import json
import mimetypes
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from anyio import CapacityLimiter, fail_after, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from wug.report.live import LAB, LIVE, LOADED, LiveSite, alive, lab_page, live_page
from wug.report.markup import finite
from wug.report.page import asset
from wug.report.progress import Watch
from wug.report.site import asset_names

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "wug_token"
POLL_SECONDS = 1.0
REQUEST_SECONDS = 15.0
BODY_SECONDS = 15.0
# The lab waits for a process to start, for those who asked before, and for the answer.
LAB_SECONDS = 180.0
LAB_THREADS = 4
MOST_WAITING = 20
HEARTBEAT_SECONDS = 15.0
MOST_BYTES = 64_000
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' "
    "'unsafe-inline'; font-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Lab(Protocol):
    """What runs networks; it needs torch, which this floor does without."""

    def checkpoints(self) -> dict[str, Any]:
        """Return ``checkpoints``, each with an id, and ``problems``."""

    def answer(self, checkpoint: str, text: str) -> dict[str, Any]:
        """Return what a network makes of an input; raise a ValueError that a person can read."""


class Guard:
    """Asks for a token, if there is one, and says in every response what a page may do.

    Args:
        app: Behind it.
        token: Comes as ``?token=`` once and as a cookie from then on; empty for none.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self.refusal(Request(scope)) if self.token else None
        await (answer or self.app)(scope, receive, send_with_headers)

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that goes no further."""
        in_address = request.query_params.get("token")
        if in_address is not None and self.knows(in_address):
            # The token leaves the address, so that nobody copies it with a link.
            response = RedirectResponse("/" + quote(request.url.path.lstrip("/")), 303)
            response.set_cookie(COOKIE, in_address, httponly=True, samesite="strict")
            return response
        if self.knows(request.cookies.get(COOKIE, "")):
            return None
        return PlainTextResponse("Open the address with the token that wug serve printed.", 403)

    def knows(self, token: str) -> bool:
        """Compare in a time that tells nothing."""
        return secrets.compare_digest(token.encode("utf-8", "replace"), self.token)


async def events(watch: Watch) -> AsyncIterator[str]:
    """Yield the state of all runs as server-sent events, whenever it has changed."""
    sent, at = "", 0.0
    while True:
        runs = await run_in_threadpool(watch.runs, time.time())
        text = json.dumps(finite(runs), allow_nan=False)
        if text != sent:
            sent, at = text, time.monotonic()
            yield f"event: runs\ndata: {text}\n\n"
        elif time.monotonic() - at > HEARTBEAT_SECONDS:
            at = time.monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


def is_foreign(request: Request) -> bool:
    """Say whether a browser sent a request for a page of another site."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        return True
    return request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


async def question(request: Request) -> tuple[str, str]:
    """Return the network and the input that a request names."""
    if is_foreign(request):
        raise HTTPException(403, "Only the lab's own page may ask.")
    # Pages of other sites can't send this type without asking first.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "Send JSON.")
    body = bytearray()
    try:
        with fail_after(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise HTTPException(413, f"Send at most {MOST_BYTES} bytes.")
    except TimeoutError:
        raise HTTPException(408, f"Send it within {BODY_SECONDS:g} seconds.") from None
    except ClientDisconnect:  # nobody will read this
        raise HTTPException(400, "The connection ended too early.") from None
    try:
        data = json.loads(body)
        checkpoint, text = data["checkpoint"], data["input"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HTTPException(400, "Send an object with checkpoint and input.") from None
    if not isinstance(checkpoint, str) or not isinstance(text, str):
        raise HTTPException(400, "checkpoint and input must be text.")
    return checkpoint, text


class Desk:
    """Asks the lab in threads of its own, so that a slow network never takes those of pages."""

    def __init__(self) -> None:
        self.threads = CapacityLimiter(LAB_THREADS)

    async def answer(self, ask: Callable[..., dict[str, Any]], *arguments: str) -> Response:
        """Return what the lab says, or why it does not."""
        if self.threads.statistics().tasks_waiting >= MOST_WAITING:
            return to_json({"error": "lab: too many ask at once; ask again in a while."}, 503)
        try:
            with fail_after(LAB_SECONDS):
                found = await to_thread.run_sync(
                    partial(ask, *arguments), limiter=self.threads, abandon_on_cancel=True
                )
        except TimeoutError:
            return to_json({"error": f"lab: no answer within {LAB_SECONDS:g} seconds."}, 504)
        except ValueError as error:
            return to_json({"error": str(error)}, 400)
        return to_json(found)


def to_json(data: Any, status: int = 200) -> Response:
    """Return a response of ASCII: names and inputs may hold what UTF-8 can't."""
    text = json.dumps(finite(data), allow_nan=False)
    return Response(text, status, media_type="application/json")


class ImpatientProtocol(H11Protocol):
    """Closes a connection that sends no whole request in time, be it the first or a later one.

    The server's own has no time limit for a request, and answers twice if a body is no HTTP.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self.loop.call_later(REQUEST_SECONDS, self.look, self.cycle)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; who is still at work on its first part need not answer, too."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return super().send_400_response(msg)
        cycle.disconnected = True
        cycle.message_event.set()
        if cycle.response_started:
            return self.transport.close()
        return super().send_400_response(msg)

    def look(self, last: object) -> None:
        """Close the connection if its last request is still the one that was answered then."""
        if self.transport.is_closing():
            return
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if self.cycle is last and not is_busy:
            self.transport.abort()
        else:
            self.loop.call_later(REQUEST_SECONDS, self.look, self.cycle)


def make_server(app: Starlette, log_level: str = "error") -> Server:
    """Return a server for a socket that listens already: ``make_server(app).run([listener])``."""
    return Server(
        Config(
            app,
            http=ImpatientProtocol,
            ws="none",
            log_level=log_level,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,  # live pages hold their connection
        )
    )


def make_app(
    roots: Sequence[Path],
    *,
    entries: Sequence[Mapping[str, Any]] = (),
    lab: Lab | None = None,
    token: str = "",
    hosts: Sequence[str] = LOCAL_HOSTS,
) -> Starlette:
    """Return the server's application.

    Args:
        roots: Folders of runs and fits.
        entries: What the registers say of units.
        lab: Runs networks; without it there is no lab.
        token: That every request needs; empty for none.
        hosts: Names that the server may be called by, so that no other site's name leads here.
    """
    own = {LIVE: live_page()} | ({LAB: lab_page()} if lab is not None else {})
    extra = [(page.title, path) for path, page in own.items()]
    site, watch = LiveSite(roots, entries, extra), Watch(roots)
    assets = {*asset_names(), *(name for path in own for name in LOADED[path])}

    def start(request: Request) -> Response:
        return RedirectResponse("/index.html")

    def page(request: Request) -> Response:
        path = request.path_params["name"]
        if path in own:
            html: str | None = alive(own[path], site.links)
        else:
            html = site.html(path)
        if html is None:
            raise HTTPException(404, "There is no such page.")
        return HTMLResponse(html)

    def load(request: Request) -> Response:
        name = request.path_params["name"]
        if name in (scripts := site.scripts()):
            return Response(scripts[name](), media_type="text/javascript")
        if name not in assets:
            raise HTTPException(404, "There is no such file.")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(asset(name), media_type=kind)

    def run(request: Request) -> Response:
        names = {mark: name for mark, _, name in watch.folders()}
        built = site.fresh()
        path = built.names.get(names.get(request.path_params["id"], ""))
        if path not in built.pages:
            raise HTTPException(404, "There is no such run.")
        return RedirectResponse(f"/{path}")

    def news(request: Request) -> Response:
        return StreamingResponse(events(watch), media_type="text/event-stream")

    routes = [
        Route("/", start),
        Route("/live/events", news),
        Route("/runs/{id}", run),
        Route("/assets/{name:path}", load),
    ]
    if lab is not None:
        bench, desk = lab, Desk()

        async def checkpoints(request: Request) -> Response:
            return await desk.answer(bench.checkpoints)

        async def answer(request: Request) -> Response:
            return await desk.answer(bench.answer, *await question(request))

        routes += [
            Route("/lab/checkpoints", checkpoints),
            Route("/lab/answer", answer, methods=["POST"]),
        ]
    routes.append(Route("/{name}", page))
    middleware = [
        Middleware(Guard, token=token),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
    ]
    return Starlette(routes=routes, middleware=middleware)
