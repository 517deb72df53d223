"""What one finished run left behind, as one line of a file."""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wug.records.hashing import (
    DamagedLineError,
    Json,
    canonical_json,
    config_hash,
    plain_json,
    seal,
    unseal,
)
from wug.records.outcomes import read_outcome

Kind = Literal["scalar", "curve", "table", "formula", "trace"]
KeyValue = str | int | float

CURVE_DIGITS = 5


def identity(key: Mapping[str, KeyValue]) -> str:
    """Spells a key in one canonical way, so that equal keys are equal strings.

    Example:
        >>> identity({"unit": "nau", "seed": 3})
        '{"seed":3,"unit":"nau"}'
    """
    return canonical_json(key, "key")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One result with all that is needed to trust it and to repeat it.

    A record equals itself after a round trip through a file. For this its values are put into
    plain JSON form when it is made: in `outcome` and `curves` there is one "not a number",
    `math.nan`, for NaN, both infinities and None (a file holds null); floats of curves keep five
    significant digits, integers of curves and all numbers of the outcome are exact.

    Args:
        experiment: The experiment's key.
        key: What tells the record from the others of its run.
        kind: What the outcome is.
        config: The resolved config.
        seed: The seed of the run.
        outcome: Named results.
        curves: Named series of numbers.
        seconds: Wall-clock time.
        versions: Versions of what computed it.
        origin: Who computed it: host, and token of the lease; no part of what is packed.

    Raises:
        ValueError: The kind is unknown or the key is empty.
        TypeError: A value has no JSON form.

    Example:
        >>> record = Record(
        ...     experiment="demo",
        ...     key={"unit": "nau", "seed": 0},
        ...     config={"steps": 10},
        ...     seed=0,
        ...     outcome={"error": float("inf")},
        ...     curves={"loss": [1.2345678, 0.5]},
        ... )
        >>> record.outcome, record.curves
        ({'error': nan}, {'loss': [1.2346, 0.5]})
    """

    experiment: str
    key: Mapping[str, KeyValue]
    kind: Kind = "scalar"
    config: Mapping[str, Json]
    seed: int
    outcome: Mapping[str, Json]
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            kinds = ", ".join(get_args(Kind))
            raise ValueError(f"Record: kind must be one of {kinds}; got {self.kind!r}.")
        if not self.key:
            raise ValueError("Record: key must name at least one field; got an empty key.")
        for name, value in self.key.items():
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                raise TypeError(f"Record: key.{name} must be a string or number; got {value!r}.")
        plain = {
            "seed": plain_json(self.seed, "Record: seed"),
            "seconds": plain_json(self.seconds, "Record: seconds"),
            "key": plain_json(self.key, "Record: key"),
            "config": plain_json(self.config, "Record: config"),
            "versions": plain_json(self.versions, "Record: versions"),
            "origin": plain_json(self.origin, "Record: origin"),
            "outcome": _null_to_nan(plain_json(self.outcome, "Record: outcome", lenient=True)),
            "curves": {
                name: [_rounded(value, name) for value in curve]
                for name, curve in self.curves.items()
            },
        }
        self.__dict__.update(plain)

    @property
    def identity(self) -> str:
        """The key as a canonical string."""
        return identity(self.key)

    @property
    def config_hash(self) -> str:
        """The hash of the config."""
        return config_hash(self.config)

    def modernised(self) -> "Record":
        """The record with its outcome as `read_outcome` reads it; for readers, not for files."""
        record = copy.copy(self)
        record.__dict__["outcome"] = read_outcome(self.outcome)
        return record

    def shared(self) -> dict[str, Any]:
        """What the line refers to by hash, since many records of a run have it in common."""
        both = {self.config_hash: self.config, config_hash(self.versions): self.versions}
        return both | ({config_hash(self.origin): self.origin} if self.origin else {})

    def without_origin(self) -> "Record":
        """The record without who computed it."""
        record = copy.copy(self)
        record.__dict__["origin"] = {}
        return record

    def to_line(self) -> bytes:
        """Writes the record as one line; `shared` has to be kept beside it."""
        fields = {
            **self.__dict__,
            "config": self.config_hash,
            "versions": config_hash(self.versions),
            "outcome": plain_json(self.outcome, "Record: outcome", lenient=True),
            "curves": {
                name: [None if math.isnan(value) else value for value in curve]
                for name, curve in self.curves.items()
            },
            "origin": config_hash(self.origin),
        }
        if not self.origin:  # as in lines from before there was one
            del fields["origin"]
        return seal(fields)

    @classmethod
    def from_line(cls, line: bytes, shared: Mapping[str, Any]) -> "Record":
        """Reads a line that `to_line` wrote.

        Args:
            line: The line.
            shared: Configs and versions by their hash.

        Raises:
            DamagedLineError: The line is torn, altered, or refers to what is not there.
        """
        fields = unseal(line)
        try:
            fields["config"] = shared[fields["config"]]
            fields["versions"] = shared[fields["versions"]]
            fields["origin"] = shared[fields["origin"]] if "origin" in fields else {}
            fields["outcome"] = _null_to_nan(fields["outcome"])
            fields["curves"] = {
                name: [math.nan if value is None else value for value in curve]
                for name, curve in fields["curves"].items()
            }
        except KeyError as error:
            raise DamagedLineError(f"the line lacks {error}") from error
        except (AttributeError, TypeError) as error:
            raise DamagedLineError(f"the line is no record: {error}") from error
        # Lines that `to_line` wrote hold plain values already; to check them all would take time.
        record = cls.__new__(cls)
        record.__dict__.update(fields)
        return record


def _null_to_nan(value: Any) -> Any:
    if value is None:
        return math.nan
    if isinstance(value, list):
        return [_null_to_nan(item) for item in value]
    if isinstance(value, dict):
        return {key: _null_to_nan(item) for key, item in value.items()}
    return value


def _rounded(value: float | None, name: str) -> float:
    if isinstance(value, int):
        return value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return math.nan
    if not isinstance(value, float):
        raise TypeError(f"Record: curves.{name} must hold numbers; got {value!r}.")
    rounded = float(f"{value:.{CURVE_DIGITS}g}")
    return rounded if math.isfinite(rounded) else float(value)
