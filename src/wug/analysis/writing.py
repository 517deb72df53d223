"""How a network writes one sequence for another: token by token, and what it looks at.

For every token that is written, the attention of the decoder to the source; and where the answer
first goes wrong: it stops too early or too late, or writes another token (newman2020 shows that
these are different failures).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.core.registry import register
from wug.functional.transduction import RIGHT, decoder_inputs, outcomes
from wug.interfaces.transduction import BEYOND, is_literal, write
from wug.records import Json

Floats = NDArray[np.float32]

BEGIN, END = "begin", "end"
# By the numbers of `wug.functional.transduction`.
OUTCOMES = ("right", "stopped early", "stopped late", "wrote wrongly")


@register("analysis", name="Writing", references=("csordas2023", "newman2020"))
@torch.no_grad()
def writing_record(
    network: nn.Module,
    task: Any,
    source: Sequence[int],
    target: Sequence[int] | None = None,
    max_length: int = 512,
) -> tuple[dict[str, Floats], dict[str, Json]]:
    """Let a network write the target of a source, and look at what it attends to.

    Args:
        network: Of the interface transduction.
        task: That it was trained on.
        source: Tokens.
        target: The right answer, if it is known.
        max_length: After how many tokens a network is stopped that doesn't stop itself; a known
            answer needs but a few more tokens than it has.

    Returns:
        ``attention``, the mean over heads (layer, written, source), where the network has any, the
        source with a column before and behind it, and the end counted as written if it was; and
        what to say of it: ``source``, ``written`` and ``target`` as tokens, ``outcome`` and the
        index of the first error.

    Raises:
        UserError: The source is empty.

    Example:
        >>> from wug.models.encoder_decoder import EncoderDecoder
        >>> from wug.tasks.productivity.scan_length import ScanLength
        >>> task, network = ScanLength(), EncoderDecoder(13, 6).eval()
        >>> arrays, about = writing_record(network, task, task.encode_source("jump twice"))
        >>> about["source"], arrays["attention"].shape[0]
        (['begin', 'jump', 'twice', 'end'], 3)

    References:
        csordas2023, newman2020
    """
    if not len(source):
        raise UserError("writing: an empty source has no target.")
    end, device = task.num_target_tokens, next(network.parameters()).device
    sources = torch.tensor([list(source)], device=device)
    lengths = torch.tensor([len(source)], device=device)
    most = max_length if target is None else min(max_length, len(target) + BEYOND)
    tokens = write(network, sources, lengths, end, most)[0].tolist()
    ended = end in tokens
    tokens = tokens[: tokens.index(end)] if ended else tokens
    written = [*map(task.target_tokens.__getitem__, tokens), *([END] if ended else [])]
    about: dict[str, Json] = {
        "source": [BEGIN, *(task.source_tokens[one] for one in source), END],
        "written": written,
    }
    if target is not None:
        about |= _compared(task, tokens, target, ended=ended)
    arrays: dict[str, Floats] = {}
    trace = getattr(network, "trace", None)
    if trace is not None:
        fed = decoder_inputs(torch.tensor([tokens], device=device, dtype=torch.int64), end)
        read: Tensor | None = trace(sources, lengths, fed).get("cross_attention")
        if read is not None:
            arrays["attention"] = read[:, 0].mean(1)[:, : len(written)].float().numpy(force=True)
    return arrays, about


def _compared(
    task: Any, tokens: Sequence[int], target: Sequence[int], *, ended: bool
) -> dict[str, Json]:
    """Say how what was written differs from the right answer."""
    end = task.num_target_tokens
    width = max(len(tokens), len(target)) + 1
    padded = torch.full((1, width), end)
    padded[0, : len(tokens)] = torch.tensor(list(tokens), dtype=torch.int64)
    kind = int(outcomes(padded, torch.tensor([list(target)], dtype=torch.int64),
                        torch.tensor([len(target)]), end))  # fmt: skip
    if ended and not is_literal(task):
        same = task.same(*(task.decode_target(ids) for ids in (tokens, target)))
        kind = RIGHT if same else kind
    both = zip([*tokens, end], [*target, end], strict=False)
    wrong = [index for index, (ours, theirs) in enumerate(both) if ours != theirs]
    return {
        "target": [task.target_tokens[one] for one in target],
        "outcome": OUTCOMES[kind],
        "first_error": wrong[0] if wrong and kind else None,
    }
