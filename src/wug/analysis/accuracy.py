"""Which problems a network solves: by length or depth, and by pairs of functions.

The first shows how far what was learnt reaches (csordas2023, chapter 5), the second which parts of
it fit together (chapter 6 and E.2.1).
"""

from __future__ import annotations

import copy
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.output import Output
from wug.sources.sequence_set import SequenceSet
from wug.sources.table_lookup import write_problems
from wug.stats.interval import Estimate
from wug.stats.wilson import wilson
from wug.tasks.productivity.ctl import CTL
from wug.tasks.systematicity.ctlpp import CTLpp


@torch.no_grad()
def answers(network: nn.Module, examples: SequenceSet, *, batch_size: int = 128) -> Tensor:
    """Return the class that a network gives to each problem.

    Args:
        network: Takes tokens and lengths and returns logits; it is not changed.
        examples: The problems.
        batch_size: Problems at a time; those of a batch are about equally long.

    Shape:
        (item,), int64, where the examples are.

    Raises:
        UserError: There are no problems.
    """
    require_at_least("answers", "number of problems", len(examples), 1)
    network = copy.deepcopy(network).eval()
    device = next(network.parameters(), examples.tokens).device
    found = torch.empty_like(examples.labels)
    for items in examples.lengths.argsort(stable=True).split(batch_size):
        batch = examples[items]
        tokens = batch.tokens[:, : int(batch.lengths.max())].to(device, torch.int64)
        logits: Tensor = Output.of(network(tokens, batch.lengths.to(device))).answer
        found[items] = logits.argmax(-1).to(found.device)
    return found


@register("analysis", name="Accuracy", references=("csordas2023", "wilson1927"))
def accuracy_by_level(
    network: nn.Module,
    examples: SequenceSet,
    *,
    by: Literal["levels", "lengths"] = "levels",
    batch_size: int = 128,
) -> dict[int, Estimate]:
    """Measure the share of right answers for each length or depth, with its interval.

    Args:
        network: Takes tokens and lengths and returns logits; it is not changed.
        examples: Problems of a task.
        by: ``"levels"``, the task's own measure (number of functions, depth), or ``"lengths"``,
            the number of tokens.
        batch_size: Problems at a time.

    Returns:
        Wilson's estimate for each level that occurs, in order.

    Raises:
        UserError: There are no problems, or ``by`` is something else.

    Example:
        >>> from wug.models.ndr import NDR
        >>> network = NDR(5, 2, features=8, hidden_features=8)
        >>> problems = SequenceSet.from_lists([[1], [2, 3], [4]], [0, 1, 0], levels=[1, 2, 1])
        >>> {level: share.n for level, share in accuracy_by_level(network, problems).items()}
        {1: 2, 2: 1}

    References:
        csordas2023, wilson1927
    """
    require_choice("accuracy", "by", by, ("levels", "lengths"))
    right = answers(network, examples, batch_size=batch_size) == examples.labels
    levels, places = getattr(examples, by).unique(return_inverse=True)
    counts = places.bincount().tolist()
    hits = places[right].bincount(minlength=len(levels)).tolist()
    return {
        level: wilson(hit, count)
        for level, hit, count in zip(levels.tolist(), hits, counts, strict=True)
    }


def function_pairs(network: nn.Module, task: CTL | CTLpp) -> NDArray[np.bool_]:
    """Answer all problems of two functions, g(f(s)), and tell which answers are right.

    The symbol that counts is the one in between, f(s), which one function writes and the other one
    has to understand. The mean over it is the accuracy of each pair; the mean over functions of two
    groups is how well these fit together.

    Args:
        network: Trained on the task; it is not changed.
        task: Whose functions are bijections, so that each of them writes each symbol once.

    Shape:
        (first, second, symbol): f and g as rows of the task's tables, and f(s).

    Example:
        >>> from wug.models.ndr import NDR
        >>> task = CTLpp(num_functions=4)
        >>> network = NDR(task.num_tokens, task.num_classes, features=8, hidden_features=8)
        >>> function_pairs(network, task).shape
        (4, 4, 8)

    References:
        csordas2023
    """
    num_functions, num_symbols = task.tables.shape
    shape = (num_functions, num_functions, num_symbols)
    first, second, between = np.indices(shape).reshape(3, -1)
    inverse = task.tables.argsort(1)
    problems = np.stack((inverse[first, between], first, second), 1)
    symbol_first = isinstance(task, CTL) and task.order == "forward"
    examples = write_problems(task.tables, [problems], symbol_first=symbol_first)
    right: NDArray[np.bool_] = (answers(network, examples) == examples.labels).numpy()
    return right.reshape(shape)
