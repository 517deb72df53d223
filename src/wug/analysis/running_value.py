"""What a network makes of pictures, one by one: its number for each, and the running value.

Of networks that read pictures and fold what they read (`wug.models.image_fold`): the pages and the
lab show from here where the reader errs and how the value builds up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.core.errors import UserError

# A number that is further than this from its digit is an error of the reader.
FAR = 0.5


@torch.no_grad()
def running_record(
    network: nn.Module, x: Tensor, digits: Tensor | None = None, targets: Tensor | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what happened on one sequence of pictures, as arrays and a description.

    Args:
        network: With a trace that has ``numbers`` and ``output``.
        x: The pictures, (seq, in).
        digits: What they show, (seq,), if known.
        targets: The right running values, (seq, out), if known.

    Returns:
        Arrays ``pictures`` (seq, side, side; 0 to 255), ``numbers`` (seq, seen), ``running`` (seq,
        out), and ``digits`` and ``targets`` if given. The description has ``first_error``, the
        first picture that one number per picture is off by more than a half, None if there is none
        or nobody knows.

    Raises:
        UserError: The network does not read pictures.

    Example:
        >>> from wug.models.image_fold import ImageFold
        >>> arrays, about = running_record(ImageFold(64, 1), torch.rand(3, 64))
        >>> arrays["pictures"].shape, arrays["running"].shape, about["first_error"]
        ((3, 8, 8), (3, 1), None)
    """
    trace: Any = getattr(network, "trace", None)
    if trace is None or not hasattr(network, "reader"):
        raise UserError(f"running_value: {type(network).__name__} does not read pictures.")
    device = next(network.parameters()).device
    found = trace(x.to(device))
    side = round(x.shape[-1] ** 0.5)
    arrays: dict[str, NDArray[Any]] = {
        "pictures": (255 * x.clamp(0, 1)).round().to(torch.uint8).view(-1, side, side).numpy(),
        "numbers": found["numbers"].float().numpy(force=True),
        "running": found["output"].float().numpy(force=True),
    }
    for name, known in (("digits", digits), ("targets", targets)):
        if known is not None:
            arrays[name] = known.float().numpy(force=True)
    return arrays, {"first_error": first_error(arrays)}


def first_error(arrays: dict[str, NDArray[Any]]) -> int | None:
    """Return the place of the first picture that was read wrongly, if it can be told.

    Example:
        >>> first_error({"numbers": np.array([[1.1], [6.0]]), "digits": np.array([1.0, 2.0])})
        1
    """
    if "digits" not in arrays or arrays["numbers"].shape[1] != 1:
        return None
    off = np.flatnonzero(np.abs(arrays["numbers"][:, 0] - arrays["digits"]) > FAR)
    return int(off[0]) if len(off) else None
