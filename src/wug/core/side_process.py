"""An object in a process of its own: work on files of others that may never end can be ended."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from wug.core.errors import UserError
from wug.core.index import import_target

ANSWER_SECONDS = 20.0
# torch takes its time to load, and longer where many do so at once.
START_SECONDS = 120.0


class SideProcess:
    """Calls methods of an object that lives in another process, one at a time.

    The process starts with the first call, and anew after one that took too long.

    Args:
        owner: Who it is, for messages.
        target: A class, as ``module:name``.
        arguments: Of the class; they and all that its methods take and return can be pickled.
        seconds: How long a call may take, and how long one may wait for those before it.
    """

    def __init__(
        self, owner: str, target: str, *arguments: object, seconds: float = ANSWER_SECONDS
    ) -> None:
        self.owner, self.target, self.arguments, self.seconds = owner, target, arguments, seconds
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def call(self, method: str, *arguments: object) -> Any:
        """Return what a method returns.

        Raises:
            UserError: The method says why it can't, takes too long, or ends its process.
        """
        if not self._lock.acquire(timeout=self.seconds):
            raise UserError(f"{self.owner}: others asked before; ask again in a while.")
        try:
            pipe = self._started()
            pipe.send((method, arguments))
            if not pipe.poll(self.seconds):
                self.close()
                raise UserError(
                    f"{self.owner}: no answer within {self.seconds:g} seconds, so it was stopped."
                )
            done, found = pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise UserError(
                f"{self.owner}: its process ended, perhaps for lack of memory."
            ) from error
        finally:
            self._lock.release()
        if not done:
            raise UserError(found)
        return found

    def close(self) -> None:
        """End the process; the next call starts another one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _started(self) -> Connection:
        if self._pipe is not None and self._process is not None and self._process.is_alive():
            return self._pipe
        self.close()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=work, args=(theirs, self.target, self.arguments), daemon=True
        )
        self._process.start()
        theirs.close()
        if not self._pipe.poll(START_SECONDS):
            self.close()
            raise UserError(f"{self.owner}: it did not start within {START_SECONDS:g} seconds.")
        self._pipe.recv()
        return self._pipe


def work(pipe: Connection, target: str, arguments: tuple[object, ...]) -> None:
    """Answer calls until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    threading.Thread(target=end_with_parent, daemon=True).start()
    made = import_target(target)(*arguments)
    pipe.send(None)
    with contextlib.suppress(EOFError, OSError):
        while True:
            method, given = pipe.recv()
            try:
                answer = True, getattr(made, method)(*given)
            except UserError as error:
                answer = False, str(error)
            except Exception as error:  # whatever a file of others led to
                answer = False, f"that failed: {error!r}"
            pipe.send(answer)


def end_with_parent() -> None:
    """End this process when its parent has ended, even if a call never returns."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
