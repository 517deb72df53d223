"""What a training is measured by, as data: where the number stands and how it is summed up.

Tables, claims, published numbers, catalogs, pages and ``wug show --measure`` go through these; a
measure of a user's own needs an entry in the run's catalog and nothing else. Needs no SciPy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

Better = Literal["lower", "higher"]
Of = Literal["all", "solved"]
Notation = Literal["per cent", "general", "scientific"]
Finish = Literal["mean", "exp of mean"]

# How seeds are summed up -> the intervals that there are for it (wug.stats.runs makes them).
INTERVALS = {
    "rate": ("wilson",),
    "mean": ("gamma", "beta", "student-t", "bootstrap"),
    "median": ("bootstrap", "deviation"),
    "largest": ("none",),
}

PATH = re.compile(
    r"(selected|final|policies\.\w+)\.\w+\.\w+|observed\.\w+|groups\.(selected|final)\.\w+\.(?P<of_a_group>\w+)\.[^.]+"
)


class MeasureError(ValueError):
    """There is no such measure, or its fields don't fit."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure.

    Args:
        name: Of columns, claims and ``--measure``.
        title: For people, short.
        path: Where it stands in an outcome, such as ``selected.test.error``.
        heading: Above a table; the title, and how runs are summed up, if not given.
        about: What one number of a table is; one sentence without its full stop.
        unit: What it counts; ``%`` is of a share between 0 and 1.
        better: Whether lower or higher values are better.
        of: Whether all runs count or the solved ones alone.
        summary: What the seeds of a cell become: a rate, a mean, a median or the largest.
        interval: How its interval is made: one of `INTERVALS`.
        notation: Per cent, general (without an exponent where possible) or scientific.
        digits: Decimals of per cents, significant digits of numbers in general notation.
        complement: Path of the share that this is missing to 1 of; where a run has that one, this
            is read off it.
        inside: Name of the measure that is the same in distribution.
        above: Where the path leads to a number for each group: the measure is how many of them are
            above this.
        finish: What a network's number is made of: the mean over a split of what its interface
            counts, or the exponential of that mean.

    Raises:
        MeasureError: A choice is not one of those above.
    """

    name: str
    title: str
    path: str
    heading: str = ""
    about: str = "Mean of all trainings"
    unit: str = ""
    better: Better = "lower"
    of: Of = "all"
    summary: str = "mean"
    interval: str = "bootstrap"
    notation: Notation = "general"
    digits: int = 3
    complement: str = ""
    inside: str = ""
    finish: Finish = "mean"
    above: float | None = None

    def __post_init__(self) -> None:
        choices = {
            "better": get_args(Better), "of": get_args(Of), "notation": get_args(Notation),
            "finish": get_args(Finish),
            "summary": tuple(INTERVALS), "interval": INTERVALS.get(self.summary, ()),
        }  # fmt: skip
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise MeasureError(
                    f"Measure {self.name}: {name} must be one of {', '.join(known)}; "
                    f"got {getattr(self, name)!r}."
                )
        if not 0 <= self.digits <= 15:
            raise MeasureError(
                f"Measure {self.name}: digits must lie between 0 and 15; got {self.digits}."
            )
        if not self.heading:
            runs = ", mean over the runs" if self.summary == "mean" else ""
            unit = f" in {self.unit}" if self.unit else ""
            object.__setattr__(self, "heading", f"{self.title.lower()}{unit}{runs}")

    @property
    def is_share(self) -> bool:
        """Whether it lies between 0 and 1."""
        return self.notation == "per cent"

    @property
    def divides(self) -> bool:
        """Whether it makes sense in per cent of a baseline's."""
        return self.better == "lower" and self.of == "all"

    def read(self, outcome: Mapping[str, Any]) -> float | None:
        """Return the number of a run; None if it has none, the worst if it diverged.

        Args:
            outcome: Of schema 2.
        """
        if self.of == "solved" and not outcome["solved"]:
            return None
        value = lookup(outcome, self.complement) if self.complement else None
        value = lookup(outcome, self.path) if value is None else 1 - value
        if self.above is not None:
            groups = value.values() if isinstance(value, Mapping) else ()
            # What is no number is as bad as any.
            value = sum(not each <= self.above for each in groups) if groups else None
        if value is None or (self.of == "solved" and math.isnan(value)):
            return None
        worst = math.inf if self.better == "lower" else 0.0
        return worst if math.isnan(value) else float(value)

    def text(self, value: float) -> str:
        """Write a number as tables do.

        Example:
            >>> MEASURES["success"].text(0.333), MEASURES["solved_at"].text(5123.0)
            ('33', '5.1e3')
        """
        if math.isnan(value):
            return "–"
        if self.notation == "per cent":
            return f"{100 * value:.{self.digits}f}"
        if self.notation == "general" and (value == 0 or 1e-4 <= value < 1e6):
            return f"{value:.{self.digits}g}" if value < 10**self.digits else f"{value:.0f}"
        return f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data: what differs from the defaults."""
        usual = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measure:
        """Return the measure that `to_json` wrote.

        Raises:
            MeasureError: A field is missing, unknown or of another type.
        """
        other = {"digits": int, "above": (int, float)}
        kinds: dict[str, Any] = {field.name: other.get(field.name, str) for field in fields(cls)}
        if not all(isinstance(v, kinds.get(n, ())) for n, v in data.items()):
            raise MeasureError(f"a measure must have the fields {', '.join(kinds)}; got {data!r}.")
        try:
            return cls(**data)
        except TypeError as error:
            raise MeasureError(
                f"a measure must have a name, a title and a path ({error})."
            ) from None


def lookup(outcome: Mapping[str, Any], path: str) -> Any:
    """Return what stands at a path of an outcome; None if nothing does.

    Example:
        >>> lookup({"selected": {"test": {"error": 0.25}}}, "selected.test.error")
        0.25
    """
    found: Any = outcome
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def _share(name: str, title: str, path: str, **other: Any) -> Measure:
    choices = {"about": "Per cent of right answers, mean of all trainings", **other}
    return Measure(
        name=name, title=title, path=path, unit="%", notation="per cent",
        **{"digits": 1, "better": "higher", **choices},
    )  # fmt: skip


def _wrong(name: str, title: str, first_error: str) -> Measure:
    about = f"Per cent of answers that first {first_error}, mean of all trainings"
    return _share(name, title, f"selected.test.{name}", about=about, better="lower")


_ALL = (
    _share(
        "success", "Success", "solved", summary="rate", interval="wilson", digits=0,
        about="Per cent of the trainings that were solved",
    ),
    Measure(
        name="solved_at", title="Solved at", path="solved_at", heading="solved at", unit="steps",
        of="solved", interval="gamma", notation="scientific",
        about="Mean step of the solved trainings",
    ),
    Measure(
        name="sparsity", title="Sparsity error", path="observed.sparsity",
        heading="sparsity error", of="solved", interval="beta", notation="scientific",
        about="Mean of the solved trainings",
    ),
    Measure(
        name="error", title="Error out of distribution", path="selected.test.error",
        complement="selected.test.accuracy", inside="iid_error",
    ),
    Measure(
        name="iid_error", title="Error in distribution", path="selected.validation.error",
        complement="final.validation.accuracy",
    ),
    _share(
        "accuracy", "Right out of distribution", "selected.test.accuracy", inside="iid_accuracy",
        heading="right answers out of distribution in %, mean over the runs",
    ),
    # Of the last weights, as csordas2023 measures; which weights are best is asked elsewhere.
    _share(
        "iid_accuracy", "Right in distribution", "final.validation.accuracy",
        heading="right answers in distribution in %, mean over the runs",
    ),
    Measure(
        name="solved_at_median", title="Solved at, median", path="solved_at", unit="steps",
        of="solved", summary="median", notation="scientific",
        about="Median step of the solved trainings",
    ),
    Measure(
        name="training_seconds", title="Seconds of training", path="training_seconds",
        heading="seconds of training, median over the runs", unit="s", summary="median",
        about="Median of all trainings, without evaluations",
    ),
    Measure(
        name="longest_training_seconds", title="Seconds of training, longest", unit="s",
        path="training_seconds", heading="seconds of the longest training", summary="largest",
        interval="none", about="The longest of all trainings, without evaluations",
    ),
    Measure(
        name="converged_at", title="At 80 % of its final accuracy", path="converged_at",
        unit="steps", notation="scientific",
        about="First evaluation with 80 % of the final accuracy on OOD validation, mean of all "
        "trainings that have one",
    ),
    Measure(
        name="halting_steps", title="Steps until columns halt", path="selected.test.halting_steps",
        heading="steps until columns halt, mean over the runs", unit="steps",
    ),
    _share(
        "exact_match", "Whole answers right", "selected.test.exact_match",
        about="Per cent of answers that are right from first to last, mean of all trainings",
    ),
    _share(
        "oracle_accuracy", "Right with the true length", "selected.test.oracle_accuracy",
        about="Per cent of right answers if they can't end and are cut at the true length, mean of "
        "all trainings",
    ),
    _share(
        "oracle_as_published", "Right with the published oracle", "observed.oracle_as_published",
        about="Per cent of right answers if an early end is replaced afterwards, mean of all "
        "trainings",
    ),
    _share(
        "unclipped_accuracy", "Right with all distances", "observed.unclipped_accuracy",
        about="Per cent of right answers if distances that training lacks count as they are, not "
        "as the farthest one of training, mean of all trainings",
    ),
    Measure(
        name="crashed", title="Crashed", path="crashed", unit="%", summary="rate",
        interval="wilson", notation="per cent", digits=0,
        about="Per cent of the trainings whose answers were right once and none is in the end",
    ),
    _wrong("stopped_wrongly", "Stopped wrongly", "ended too early or too late"),
    _wrong("wrote_wrongly", "Wrote wrongly", "had another token than the right one"),
    _share(
        "iou", "Overlap", "selected.test.iou",
        about="Intersection over union in per cent, mean of all trainings",
    ),
    Measure(
        name="perplexity", title="Perplexity", path="selected.test.perplexity", digits=4,
        interval="student-t", finish="exp of mean",
    ),
    Measure(
        name="bits_per_character", title="Bits per character", digits=4, interval="student-t",
        path="selected.test.bits_per_character",
    ),
    Measure(
        name="tokens_per_second", title="Tokens per second", path="observed.tokens_per_second",
        better="higher", interval="student-t",
    ),
    Measure(
        name="flops_per_token", title="FLOPs per token", path="observed.flops_per_token",
        about="Matrix products of a forward pass, mean of all trainings", notation="scientific",
    ),
    Measure(
        name="mlp_flops_per_token", title="FLOPs per token of the MLP blocks",
        path="observed.mlp_flops_per_token", notation="scientific",
        about="Matrix products of a forward pass, the choice of experts included",
    ),
    Measure(
        name="activation_bytes", title="Activation memory per token", unit="bytes",
        path="observed.activation_bytes", notation="scientific",
        about="What a forward pass keeps for the backward pass, mean of all trainings",
    ),
    Measure(
        name="usage_entropy", title="Evenness of experts", path="observed.usage_entropy",
        about="Entropy of the experts' weights in the worst layer, 1 if all count alike",
        better="higher",
    ),
    Measure(
        name="top_expert_share", title="Share of the top expert", path="observed.top_expert_share",
        about="Of all weights of the worst layer, mean of all trainings",
    ),
    Measure(
        name="same_experts", title="Same experts at successive repeats",
        path="observed.same_experts", better="higher",
        about="Share of a token's experts that its layer chose one repeat before",
    ),
)  # fmt: skip

MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _ALL}
# What runs have whose catalog is older than measures, or not written yet.
USUAL = _ALL[:7]


def find_measure(name: str, known: Iterable[Measure] = ()) -> Measure:
    """Return a measure by its name, or by its path in an outcome.

    Args:
        name: A name, or a path such as ``final.test.accuracy``, ``observed.gate`` or
            ``groups.final.test.accuracy.cp_recursion``, of one group: a type, length or depth.
        known: What the run's catalog has; it comes first.

    Raises:
        MeasureError: There is none.

    Example:
        >>> find_measure("final.test.accuracy").text(0.5)
        '50.0'
    """
    every = {**MEASURES, **{measure.name: measure for measure in known}}
    if name in every:
        return every[name]
    path = PATH.fullmatch(name)
    if not path:
        raise MeasureError(
            f"no measure {name!r}: there are {', '.join(every)}, and paths such as "
            "selected.test.accuracy, observed.sparsity or groups.final.test.accuracy.TYPE."
        )
    plain = Measure(name=name, title=name, path=name)
    last = path["of_a_group"] or name.split(".")[-1]
    alike = (m for m in every.values() if m.path.split(".")[-1] == last)
    return replace(next(alike, plain), name=name, title=name, path=name, heading="",
                   of="all", complement="", inside="")  # fmt: skip


def used_measures(
    outcomes: Iterable[Mapping[str, Any]], named: Iterable[str], own: Iterable[Measure] = ()
) -> list[Measure]:
    """Return the measures of a run: those that its outcomes have, and those that are named.

    Args:
        outcomes: Of schema 2.
        named: What tables show or papers print, in any case.
        own: Measures of the run's own; they come before ours of the same name.
    """
    every = {**MEASURES, **{measure.name: measure for measure in own}}
    wanted, paths = {*named, *(measure.name for measure in own)}, set[str]()
    outcomes = list(outcomes)
    found = []
    for measure in every.values():
        ways = [path for path in (measure.path, measure.complement) if path]
        has = (lookup(outcome, path) is not None for outcome in outcomes for path in ways)
        if measure.name in wanted or (measure.path not in paths and any(has)):
            found.append(measure)
            paths.add(measure.path)
    return found
