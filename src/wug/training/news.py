"""How far a training is: told after every evaluation, and every few seconds between two."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

OnProgress = Callable[[dict[str, Any]], None]

# Between two evaluations of a large network minutes may pass.
SECONDS_BETWEEN_NEWS = 5.0


@dataclass
class News:
    """What is told of a training while it runs.

    Args:
        on_progress: Called with how far it is.
        amount: Of steps or seconds, in the end.
        replicas: Trained together.
        first: The step that this process began with.
    """

    on_progress: OnProgress
    amount: float
    replicas: int
    first: int
    _began: float = field(default_factory=time.monotonic)
    _last: float = field(default_factory=time.monotonic)
    _told: float = 0.0

    def tell(self, step: int, spent: float, medians: Mapping[str, float]) -> None:
        """Tell how far the training is, and the medians of errors where there are new ones."""
        self._last = time.monotonic()
        rate = (step - self.first) * self.replicas / max(self._last - self._began, 1e-9)
        # What is reserved for the result is estimated anew; a bar never goes back.
        self._told = max(self._told, spent)
        self.on_progress({**medians, "step": self._told, "steps": self.amount, "rate": rate,
                          "replicas": self.replicas})  # fmt: skip

    def tell_now_and_then(self, step: int, spent: float) -> None:
        """Tell it if nothing was told for some seconds."""
        if time.monotonic() - self._last >= SECONDS_BETWEEN_NEWS:
            self.tell(step, spent, {})
