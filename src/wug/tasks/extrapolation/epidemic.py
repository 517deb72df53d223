"""Epidemics (Heim et al., 2020): find the equation behind the counts of three groups.

Susceptible, infected and recovered people, observed at equal distances in time: from one
observation to the next is the problem, on epidemics of other sizes the test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.runge_kutta import runge_kutta
from wug.functional.streams import generator_for, random_bits
from wug.sources.streams import SPLITS, NumberTask

KINDS = ("sir", "fractional")
# The contacts' exponents of susceptible and infected people.
EXPONENTS = {"sir": (1.0, 1.0), "fractional": (1.0, 0.5)}
NUM_EPIDEMICS = {"train": 40, "validation": 20, "ood_validation": 20, "test": 40}
# Between which shares of a population susceptible, infected and recovered people begin.
STARTS = ((0.2, 1.0), (0.01, 0.6), (0.0, 0.6))
OOD_SCALE = 3.0
# Runge-Kutta steps between two observations.
FINER = 4


@register(
    "task",
    name="Epidemic",
    references=("heim2020", "mistry2022"),
    equation=r"\dot S = -\beta S^a I^b, \quad \dot I = \beta S^a I^b - \gamma I, \quad "
    r"\dot R = \gamma I",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class Epidemic(NumberTask):
    """From the state of an epidemic to its state a little later.

    Inputs are susceptible, infected and recovered people as observed, in parts of some population;
    targets are the next observation. Epidemics of the OOD sets begin with up to three times as many
    people.

    Departures:
        The primer says no more than that equations of an epidemiological model were found; rates,
        exponents, starts and distances of observations are ours. The three groups need not add up
        to 1, without which nobody could tell recovered people from the rest. There is no noise.

    Args:
        kind: ``"sir"`` (contacts S I) or ``"fractional"`` (contacts S I^0.5).
        infection: beta.
        recovery: gamma.
        distance: Time between two observations.
        num_observations: Of an epidemic.
        tolerance: Greatest mean squared error that counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown kind or less than two observations.

    Example:
        >>> task = Epidemic()
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=3)
        >>> x.shape, torch.allclose(x.sum(-1), y.sum(-1))  # nobody is lost
        (torch.Size([3, 3]), True)

    References:
        heim2020, mistry2022
    """

    kind: str = "sir"
    infection: float = 0.5
    recovery: float = 0.2
    distance: float = 0.5
    num_observations: int = 40
    tolerance: float = 1e-6
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Epidemic", "kind", self.kind, KINDS)
        require_at_least("Epidemic", "num_observations", self.num_observations, 2)

    @property
    def in_features(self) -> int:
        """Number of groups of people."""
        return 3

    @property
    def out_features(self) -> int:
        """Number of groups of people."""
        return 3

    def derivative(self, x: Tensor, exponent: Tensor | float) -> Tensor:
        """Return how a state changes, with this exponent of the infected."""
        susceptible, infected, _ = x.clamp(min=0).unbind(-1)
        power, _ = EXPONENTS[self.kind]
        caught = self.infection * susceptible**power * infected**exponent
        healed = self.recovery * infected
        return torch.stack((-caught, caught - healed, healed), -1)

    def observations(self, split: str) -> Tensor:
        """Return all observations of a split but the last of each epidemic."""
        number = NUM_EPIDEMICS[split]
        generator = generator_for("epidemic", split)
        draws = torch.rand(number, 3, generator=generator, dtype=torch.float64)
        low, high = torch.tensor(STARTS, dtype=torch.float64).T
        scale = OOD_SCALE if split in ("ood_validation", "test") else 1.0
        states = [scale * (low + (high - low) * draws)]
        exponent = EXPONENTS[self.kind][1]
        for _ in range(self.num_observations - 2):
            states.append(
                runge_kutta(
                    lambda x: self.derivative(x, exponent), states[-1], self.distance, FINER
                )
            )
        return torch.stack(states, 1).flatten(0, 1).to(self.dtype)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""
        return {"observations": self.observations(split)}

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets and may differ between replicas."""
        return {"exponent": torch.tensor(EXPONENTS[self.kind][1], dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw observations of the training set."""
        table = values["observations"]
        return table[random_bits(key, step, (size,)) % len(table)]

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the observations that follow."""
        exponent = values["exponent"]
        return runge_kutta(lambda state: self.derivative(state, exponent), x, self.distance, FINER)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error of the change per unit of time."""
        return ((prediction - target) / self.distance).square().mean()

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("Epidemic", "split", split, SPLITS[1:])
        return self.observations(split)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
