"""Help texts, from the command line itself."""

import contextlib
import io
import os
from unittest import mock

from wug.cli.main import VERBS, main


def help_text(*verb: str) -> str:
    """Return what ``wug VERB --help`` prints on a terminal of 80 columns."""
    text = io.StringIO()
    plain = {"COLUMNS": "80", "NO_COLOR": "1"}
    with (
        mock.patch.dict(os.environ, plain),
        contextlib.redirect_stdout(text),
        contextlib.suppress(SystemExit),
    ):
        main([*verb, "--help"])
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def help_block(*verb: str) -> str:
    """Return a help text as a code block; a verb may be followed by one of its own verbs."""
    unknown = set(verb[:1]) - set(VERBS)
    if unknown:
        raise ValueError(f"help: no verb {', '.join(unknown)}; known: {', '.join(VERBS)}.")
    return f"```text\n{help_text(*verb)}\n```\n"


def help_others(*verbs: str) -> str:
    """Return a section for each verb that the page does not speak of."""
    others = (verb for verb in VERBS if verb not in verbs)
    return "\n".join(f"## wug {verb}\n\n{help_block(verb)}" for verb in others)
