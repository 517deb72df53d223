"""The entry point: gathers the verbs, and turns errors into a sentence and an exit code.

Exit codes: 0 done, 1 failed while running, 2 bad input, 130 interrupted, 143 ended by SIGTERM.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tyro

from wug import __version__
from wug.cli.card import card
from wug.cli.cite import cite
from wug.cli.completion import ASK, Verbs, candidates, completion
from wug.cli.data import data
from wug.cli.doctor import doctor
from wug.cli.export import export
from wug.cli.fit import fit
from wug.cli.list import list_
from wug.cli.lm import lm
from wug.cli.masks import masks
from wug.cli.pack import pack
from wug.cli.predict import predict
from wug.cli.report import report
from wug.cli.run import run
from wug.cli.serve import serve
from wug.cli.show import show
from wug.cli.try_ import try_
from wug.core.errors import UserError, WorkError
from wug.records import RunFolderError, StorageError

VERBS: dict[str, Callable[..., Any]] = {
    "try": try_,
    "fit": fit,
    "predict": predict,
    "run": run,
    "lm": lm,
    "show": show,
    "card": card,
    "masks": masks,
    "report": report,
    "serve": serve,
    "list": list_,
    "cite": cite,
    "pack": pack,
    "export": export,
    "data": data,
    "doctor": doctor,
    "completion": completion,
}
# Flags have no --no- twin, positional arguments are named, and None can't be typed.
MARKERS = (
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.PositionalMetavarFromFieldName,
    tyro.conf.DisallowNone,
)
DESCRIPTION = (
    "wug: networks that learn the rule, not the list. Start with: wug try. "
    "wug --version prints the version."
)


def shortened(verbs: Verbs) -> dict[str, Callable[..., Any]]:
    """Return the verbs with the first sentence of their help alone."""

    def short(verb: Callable[..., Any]) -> Callable[..., None]:
        def named() -> None:
            pass

        named.__doc__ = (verb.__doc__ or "").split("\n", 1)[0]
        return named

    return {name: short(verb) for name, verb in verbs.items()}


class Terminated(BaseException):
    """SIGTERM came; as after Ctrl-C, everybody tidies up on the way out."""


@contextlib.contextmanager
def sigterm_raises() -> Iterator[None]:
    """Turn SIGTERM into an exception, where that can be done."""

    def end(number: int, frame: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if args is None else args)
    if words == ["--version"]:
        print(f"wug {__version__}")
        return 0
    if words[:1] == [ASK]:
        with contextlib.suppress(BrokenPipeError):
            print("\n".join(candidates(VERBS, words[1:])))
        return 0
    # The list of verbs has one sentence on each; their own help has the rest.
    verbs = shortened(VERBS) if words in ([], ["-h"], ["--help"]) else VERBS
    try:
        with sigterm_raises():
            result = tyro.extras.subcommand_cli_from_dict(
                verbs, prog="wug", description=DESCRIPTION, args=words, config=MARKERS
            )
    except (UserError, RunFolderError) as error:
        print(f"wug: {error}", file=sys.stderr)
        return 2
    except (StorageError, WorkError) as error:
        print(f"wug: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("wug: interrupted; the same command goes on where it stopped.", file=sys.stderr)
        return 130
    except Terminated:
        print("wug: ended by SIGTERM; the same command goes on where it stopped.", file=sys.stderr)
        return 143
    except BrokenPipeError:  # wug show ... | head
        sys.stderr.close()
        return 0
    return int(result or 0)


if __name__ == "__main__":
    sys.exit(main())
