"""wug serve: the site of records while they come, and a lab for trained networks."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Annotated, Any

import tyro

from wug.core.errors import UserError
from wug.core.folders import RUNS, results_folder
from wug.core.papers import report_entries
from wug.core.side_process import SideProcess

FITS = Path("fits")
LOCAL = ("127.0.0.1", "localhost", "::1")


class LabAside:
    """The lab in a process of its own: torch takes a while to load, a kept network to answer.

    Args:
        roots: Folders of trained networks.
        trusted: Classes of the user's that may be run.
    """

    def __init__(self, roots: tuple[Path, ...], trusted: tuple[str, ...] = ()) -> None:
        self.process = SideProcess("lab", "wug.lab:Lab", roots, "cpu", trusted)

    def checkpoints(self) -> dict[str, Any]:
        """Return the networks that can be asked."""
        found: dict[str, Any] = self.process.call("checkpoints")
        return found

    def answer(self, checkpoint: str, text: str) -> dict[str, Any]:
        """Return what a network makes of an input."""
        found: dict[str, Any] = self.process.call("answer", checkpoint, text)
        return found


def serve(
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional] = (),
    *,
    port: int = 8321,
    host: str = "127.0.0.1",
    token: str | None = None,
    model: tuple[str, ...] = (),
) -> None:
    """Show the site of wug report live: runs at work, and a lab for trained networks.

    Args:
        folders: Of runs and fits, or folders above such; runs, fits and our shipped results if
            none is named.
        port: To listen at; 0 takes a free one.
        host: Address to listen at. Others than this machine can only reach 0.0.0.0 or a name of
            its own, and need a token.
        token: The word that requests need; drawn and printed if the host is not this machine.
        model: Classes of yours, such as my.py:Net, whose code the lab may run: it answers for the
            networks that their cards have kept.
    """
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"serve: {folder} is not a folder.")
    if not 0 <= port < 2**16:
        raise UserError(f"serve: port must be from 0 to 65535; got {port}.")
    try:
        from wug.report.server import LOCAL_HOSTS, make_app, make_server
    except ModuleNotFoundError as error:
        raise UserError(f'serve: {error.name} is missing: pip install "wug[serve]"') from None
    roots = folders or (RUNS, FITS, results_folder())
    local = host in LOCAL
    token = (token or "") if local else (token or secrets.token_urlsafe(24))
    app = make_app(
        roots,
        entries=report_entries(),
        lab=LabAside(roots, model),
        token=token,
        hosts=LOCAL_HOSTS if local else ("*",),
    )
    listener = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}/"
    print(f"serving {address}{f'?token={token}' if token else ''} (Ctrl-C ends it)", flush=True)
    make_server(app).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        UserError: The port is taken, or the address is not of this machine.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UserError(
            f"serve: can't listen at {host}, port {port}: {error.strerror or error}. "
            "Choose another --port."
        ) from None
