"""wug doctor: what this machine has, and what wug would do faster or better with more."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
DISTRIBUTION = re.compile(r"[\w.-]+")
# For people who work on wug itself.
OWN_EXTRAS = ("dev", "docs")
LEAST_FREE_GB = 2.0


class Finding(NamedTuple):
    """One line of the answer.

    Args:
        name: What was looked at.
        state: What was found.
        advice: What to do about it; nothing if all is well.
    """

    name: str
    state: str
    advice: str = ""


def missing_by_extra() -> dict[str, list[str]]:
    """Return the packages of each extra that are not installed."""
    found: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("wug") or ():
        extra, package = EXTRA.search(requirement), DISTRIBUTION.match(requirement)
        if extra is None or package is None or extra[1] in OWN_EXTRAS:
            continue
        missing = found.setdefault(extra[1], [])
        try:
            importlib.metadata.version(package[0])
        except importlib.metadata.PackageNotFoundError:
            missing.append(package[0])
    return found


def findings() -> Iterator[Finding]:
    """Look at the parts of the machine, one after the other."""
    import torch

    from wug import __version__
    from wug.core.folders import results_folder
    from wug.core.paths import cache_folder
    from wug.sources.catalog import catalog
    from wug.sources.files import find
    from wug.training.programs import can_compile

    yield Finding("wug", f"{__version__}, results in {results_folder()}")
    yield Finding("Python", f"{platform.python_version()} on {platform.system()}")
    if platform.system() != "Linux":
        yield Finding("system", platform.system(), "wug is tested on Linux only; tell us how it is")
    yield Finding("torch", str(torch.__version__))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = torch.get_num_threads()
    yield Finding("cores", f"{cores}, torch uses {threads} threads")
    devices = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    yield Finding("GPU", ", ".join(devices) or "none: everything runs on the CPU")
    compiles = can_compile("cpu")
    yield Finding(
        "compiler",
        f"{shutil.which('g++') or shutil.which('clang++') or 'found'}" if compiles else "none",
        "" if compiles else "install g++: fleets of units then train many times faster",
    )
    cache = cache_folder()
    free = shutil.disk_usage(existing(cache)).free / 1e9
    yield Finding(
        "cache",
        f"{cache} ({folder_size(cache) / 1e6:.0f} MB; {free:.0f} GB free)",
        "" if free > LEAST_FREE_GB else "make room, or name another folder in WUG_CACHE",
    )
    sets = catalog().values()
    absent = [one.name for one in sets if not all(find(file, one) for file in one.files)]
    yield Finding(
        "data sets",
        f"{len(sets) - len(absent)} of {len(sets)} here"
        + (f", without {', '.join(absent)}" if absent else ""),
        "wug data list says what each is and how to get it" if absent else "",
    )
    for extra, missing in sorted(missing_by_extra().items()):
        advice = f"pip install 'wug[{extra}]'" if missing else ""
        yield Finding(
            f"extra {extra}", f"without {', '.join(missing)}" if missing else "here", advice
        )


def existing(path: Path) -> Path:
    """Return a folder or the nearest one above it that exists."""
    return next(one for one in (path, *path.parents) if one.exists())


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in and below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def doctor(*, json: bool = False) -> None:
    """Say what this machine has: compiler, threads, cache, data sets, extras, and what to add.

    Args:
        json: Print it as JSON.
    """
    import json as encoder

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found = list(findings())
    if json:
        print(encoder.dumps([one._asdict() for one in found], indent=1))
        return
    sheet = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for one in found:
        state = Text(one.state)
        if one.advice:
            state.append(f"\n{one.advice}", style="yellow")
        sheet.add_row(Text("!" if one.advice else "✓"), Text(one.name, style="bold"), state)
    Console().print(sheet)
