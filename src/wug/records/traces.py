"""What happened inside a trained network, as arrays: RUN/traces/NAME.safetensors.

NumPy reads them without torch. What a file is about stands in its header as JSON; ``kind`` tells
which page shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from wug.records.atomic import write_atomic
from wug.records.files import parse_json, plain_file
from wug.records.hashing import Json, dump_json, plain_json
from wug.records.segments import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "traces"
SUFFIX = ".safetensors"
# More than any page can show.
MOST_BYTES = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Arrays and what they are about.

    Args:
        name: Of the file, without its ending.
        kind: What it shows, such as ``"routing"``.
        about: Everything that is no array.
        arrays: By name.
    """

    name: str
    kind: str
    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def trace_path(folder: Path, name: str) -> Path:
    """Gives the place of a trace in a run folder."""
    return folder / FOLDER / f"{name}{SUFFIX}"


def write_trace(
    folder: Path | str, name: str, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Json]
) -> Path:
    """Writes a trace, whole or not at all.

    Args:
        folder: The run folder.
        name: What to call it; another trace of this name is replaced.
        arrays: By name.
        about: Says its ``kind``, and whatever else a page needs; NaN becomes null.

    Raises:
        ValueError: The name is no plain file name, or there is no kind.
        StorageError: The disk refuses.
    """
    from safetensors.numpy import save

    if not name or Path(name).name != name or name.startswith("."):
        raise ValueError(f"write_trace: the name must be a plain file name; got {name!r}.")
    if not isinstance(about.get("kind"), str):
        raise ValueError("write_trace: about must have a kind, such as 'routing'.")
    path = trace_path(Path(folder), name)
    header = {"about": dump_json(plain_json(about, "about", lenient=True))}
    write_atomic(path, save(dict(arrays), header))
    return path


def read_traces(folder: Path | str) -> tuple[list[Trace], list[Problem]]:
    """Reads all traces of a run folder, and says which files can't be read and why."""
    traces, problems = [], []
    for path in sorted(Path(folder).glob(f"{FOLDER}/[!.]*{SUFFIX}")):
        try:
            traces.append(_read(path))
        except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
            problems.append(Problem(path, None, f"the trace can't be read ({error})"))
    return traces, problems


def _read(path: Path) -> Trace:
    if (size := plain_file(path).stat().st_size) > MOST_BYTES:
        raise ValueError(f"it has {size / 1e6:.0f} MB, more than a page can show")
    with safe_open(path, framework="numpy") as file:
        about = parse_json((file.metadata() or {}).get("about", "null").encode())
        if not isinstance(about, dict) or not isinstance(about.get("kind"), str):
            raise ValueError("its header does not say what it is about")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return Trace(name=path.stem, kind=about["kind"], about=about, arrays=arrays)
