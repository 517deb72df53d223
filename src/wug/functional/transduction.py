"""Targets that a decoder is fed and asked for, and what went wrong in what it wrote.

One id, the first after the vocabulary of targets, both starts and ends a sequence (csordas2023's
code). A greedy answer is right exactly if, fed the right answer, the most likely token is right
everywhere, the end included: up to its first error a greedy decoder has been fed the right answer.
So one teacher-forced pass says what decoding would (ties aside), also how the first error came.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

# Outcomes of a sequence, by its first error.
RIGHT, STOPPED_EARLY, STOPPED_LATE, WROTE_WRONG = range(4)


def decoder_inputs(targets: Tensor, end: int) -> Tensor:
    """Put the start token before every target: what a decoder is fed in training.

    Shape:
        targets (batch, seq) -> (batch, seq + 1).

    Example:
        >>> decoder_inputs(torch.tensor([[1, 2], [3, 0]]), 9)
        tensor([[9, 1, 2],
                [9, 3, 0]])
    """
    return F.pad(targets, (1, 0), value=end)


def decoder_targets(targets: Tensor, lengths: Tensor, end: int) -> Tensor:
    """Put the end token behind every target, and more of it in place of padding.

    Shape:
        targets (batch, seq), lengths (batch,) -> (batch, seq + 1).

    Example:
        >>> decoder_targets(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), 9)
        tensor([[1, 2, 9],
                [3, 9, 9]])
    """
    place = torch.arange(targets.shape[-1] + 1, device=targets.device)
    return torch.where(place < lengths.unsqueeze(-1), F.pad(targets, (0, 1)), end)


def counted(lengths: Tensor, width: int, end: bool = True) -> Tensor:
    """Say which tokens of decoder targets are in the loss: those of the answer, and its end.

    Args:
        lengths: Number of tokens of each answer.
        width: Number of decoder targets of a sequence, padding included.
        end: Whether the end token counts; without it a network isn't taught when to stop (-EOS).

    Shape:
        lengths (batch,) -> (batch, width), boolean.

    Example:
        >>> counted(torch.tensor([1, 2]), 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    return torch.arange(width, device=lengths.device) < (lengths + int(end)).unsqueeze(-1)


def label_smoothing(logits: Tensor, wanted: Tensor) -> Tensor:
    """Return what the cross-entropy of a token gains if its target is spread over all classes.

    Equation: sum_c -log p_c / C - (-log p_wanted) = logit_wanted - mean_c logit_c, so that the
    cross-entropy plus e times this is that of a target whose share e is spread evenly.

    Shape:
        logits (batch, seq, class), wanted (batch, seq) -> (batch, seq).

    Example:
        >>> logits, wanted = torch.tensor([[[1.0, 2.0, 4.0]]]), torch.tensor([[2]])
        >>> plain = F.cross_entropy(logits.mT, wanted)
        >>> smooth = F.cross_entropy(logits.mT, wanted, label_smoothing=0.1)
        >>> torch.isclose(plain + 0.1 * label_smoothing(logits, wanted), smooth).item()
        True
    """
    return logits.gather(-1, wanted.unsqueeze(-1)).squeeze(-1) - logits.mean(-1)


def exact_match(logits: Tensor, targets: Tensor, lengths: Tensor) -> Tensor:
    """Say which sequences a greedy decoder gets right, from logits of a teacher-forced pass.

    Args:
        logits: Of a decoder that is fed the right answers; the last class is the end token.
        targets: The right answers.
        lengths: Their numbers of tokens.

    Shape:
        logits (batch, seq + 1, class), targets (batch, seq), lengths (batch,) -> (batch,), boolean.

    Example:
        >>> logits = F.one_hot(torch.tensor([[1, 2, 2], [0, 1, 2]])).float()
        >>> exact_match(logits, torch.tensor([[1, 0], [0, 0]]), torch.tensor([1, 2]))
        tensor([ True, False])
    """
    wanted = decoder_targets(targets, lengths, logits.shape[-1] - 1)
    right = (logits.argmax(-1) == wanted) | ~counted(lengths, wanted.shape[-1])
    return right.all(-1)


def outcomes(written: Tensor, targets: Tensor, lengths: Tensor, end: int) -> Tensor:
    """Say for each sequence whether it is right, and otherwise what its first error was.

    Args:
        written: Tokens that were decoded, or the most likely ones of a teacher-forced pass.
        targets: The right answers.
        lengths: Their numbers of tokens.
        end: Id of the end token.

    Shape:
        written (batch, at least the longest length + 1), targets (batch, seq), lengths (batch,)
        -> (batch,): RIGHT, STOPPED_EARLY (the end where the answer goes on), STOPPED_LATE (another
        token where the answer ends) or WROTE_WRONG (another token than the right one).

    Example:
        >>> written = torch.tensor([[1, 2, 9], [1, 9, 9], [1, 2, 2], [2, 9, 9]])
        >>> targets = torch.tensor([[1, 2]]).expand(4, -1)
        >>> outcomes(written, targets, torch.full((4,), 2), 9)
        tensor([0, 1, 2, 3])
    """
    wanted = decoder_targets(targets, lengths, end)
    written = written[:, : wanted.shape[-1]]
    wrong = (written != wanted) & counted(lengths, wanted.shape[-1])
    # Of equal numbers argmax takes any on some devices: number the places, and take the smallest.
    place = torch.arange(wanted.shape[-1], device=wanted.device)
    first = torch.where(wrong, place, wanted.shape[-1] - 1).amin(-1, keepdim=True)
    stopped = written.gather(-1, first).squeeze(-1) == end
    late = wanted.gather(-1, first).squeeze(-1) == end
    kind = torch.where(stopped, STOPPED_EARLY, torch.where(late, STOPPED_LATE, WROTE_WRONG))
    return torch.where(wrong.any(-1), kind, RIGHT)


def oracle_match(written: Tensor, targets: Tensor, lengths: Tensor) -> Tensor:
    """Say which sequences are right if they are cut at the true length (Newman et al., 2020).

    Shape:
        written (batch, at least the longest length), targets (batch, seq), lengths (batch,)
        -> (batch,), boolean.

    Example:
        >>> oracle_match(torch.tensor([[1, 2, 2]]), torch.tensor([[1, 2]]), torch.tensor([2]))
        tensor([True])
    """
    width = targets.shape[-1]
    right = (written[:, :width] == targets) | ~counted(lengths, width, end=False)
    return right.all(-1)


def next_tokens(logits: Tensor, oracle: str | None) -> tuple[Tensor, Tensor]:
    """Return which token a greedy decoder writes, and which one it is fed next.

    Args:
        logits: Of one step; the last class is the end token.
        oracle: None; ``"forbidden"``: never the end token; ``"afterwards"``: the decoder runs as
            ever, then what it wrote is chosen anew without the end token.

    Shape:
        logits (batch, class) -> twice (batch,).

    Example:
        >>> next_tokens(torch.tensor([[1.0, 0.0, 2.0]]), "afterwards")
        (tensor([0]), tensor([2]))
    """
    free, barred = logits.argmax(-1), logits[..., :-1].argmax(-1)
    if oracle is None:
        return free, free
    return barred, barred if oracle == "forbidden" else free


def greedy(
    step: Callable[[Tensor], Tensor],
    rows: Tensor,
    end: int,
    max_length: int,
    *,
    oracle: str | None = None,
    stop: bool = True,
) -> Tensor:
    """Write the most likely next token again and again.

    Args:
        step: Returns the logits of the next tokens for everything that was fed so far, the start
            token included; it is called with one more token each time.
        rows: One number for each sequence; where it is, tokens are.
        end: Id of the token that starts and ends a sequence.
        max_length: How many tokens to write.
        oracle: As in `next_tokens`.
        stop: Whether to stop as soon as all sequences have ended, which depends on values.

    Shape:
        step: (batch, fed) -> (batch, class); rows (batch,) -> (batch, max_length), the end
        token from where a sequence ended, if there is no oracle.

    Example:
        >>> count = lambda fed: F.one_hot((fed[:, -1] + 1) % 4, 4).float()
        >>> greedy(count, torch.zeros(1), 3, 5)
        tensor([[0, 1, 2, 3, 3]])
    """
    fed = torch.full_like(rows, end, dtype=torch.int64).unsqueeze(1)
    ended, written = torch.zeros_like(fed[:, 0], dtype=torch.bool), []
    for _ in range(max_length):
        token, following = next_tokens(step(fed), oracle)
        written.append(token if oracle else torch.where(ended, end, token))
        fed = torch.cat((fed, following.unsqueeze(1)), 1)
        ended = ended | (token == end)
        if stop and not oracle and bool(ended.all()):
            break
    answer = torch.stack(written, 1) if written else fed[:, :0]
    return F.pad(answer, (0, max_length - answer.shape[1]), value=end)
