"""How many layers a network with shared layers needs (csordas2023, appendix D.3.1)."""

from __future__ import annotations

from wug.core.errors import require_at_least


def num_layers(deepest_path: int, *, steps_per_operation: int = 1, extra: int = 2) -> int:
    """Return how often to apply the layer to problems of a given depth.

    One step less than the problem has operations in a row, and some of them must be fused; a few
    more do no harm. A step is needed to read the result, and some may be for communication.

    Args:
        deepest_path: Operations on the deepest path of the computation.
        steps_per_operation: 1, or 2 where operands first have to find their operation (ListOps).
        extra: Further layers; the thesis has 2 to 8.

    Raises:
        UserError: For a number that is too small.

    Example:
        Ten functions in a row (csordas2023, table 5.2), and nested lists at the test's depth of 8:

        >>> num_layers(10), num_layers(8, steps_per_operation=2, extra=8)
        (12, 24)

    References:
        csordas2023
    """
    require_at_least("num_layers", "deepest_path", deepest_path, 1)
    require_at_least("num_layers", "steps_per_operation", steps_per_operation, 1)
    require_at_least("num_layers", "extra", extra, 0)
    return deepest_path * steps_per_operation + extra
