"""Hooks of the build: what a wheel holds of results/, and what an index of packages shows.

Of each experiment the wheel has the main results, which @shipped names: the records without curves
and weights, their numbers to as many digits as a float32 has, and the best network of each row and
column that has one, with eight bits for each weight of a matrix. All of it in full, traces and
further runs are for `wug data get results`; their checksums are in the wheel.

Pictures of the README and the project's addresses need to know where the project is. WUG_HOME says
it when a release is built, such as https://host/owner/wug; else the origin of the clone does if it
is on one of the hosts below, and for a wheel that is made from an sdist that sdist. Where nothing
says it, there are no addresses.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
RESULTS = ROOT / "results"
HOME = "WUG_HOME"
LISTING = "files.json"
DIGITS = 7
# Hosts whose pages are at /blob/main and files at /raw/main.
HOSTS = ("github.com", "gitlab.com")
ORIGIN = re.compile(
    r"(?:https?://|ssh://)?(?:[^@/]+@)?(?P<host>[\w.-]+)[:/](?P<path>[\w./-]+?)(?:\.git)?/?"
)
HOMEPAGE = re.compile(r"^Project-URL: Homepage, (\S+)$", re.M)
# A link or picture of the README that leads to a file of the repository.
RELATIVE = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")
PICTURES = (".svg", ".png")


class ShippedResults(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the results into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write what ships of the results into build/shipped, and name it."""
        if version == "editable":
            return
        out = Path(self.root) / "build" / "shipped"
        shutil.rmtree(out, ignore_errors=True)
        for experiment in sorted(path for path in RESULTS.iterdir() if path.is_dir()):
            main = min(path.parent for path in experiment.glob("*/run.json"))
            pack(main, out / main.relative_to(RESULTS))
        (out / LISTING).write_text(json.dumps(listing(), indent=0), encoding="utf-8")
        build_data["force_include"][str(out)] = "wug/_shipped"


class Addresses(MetadataHookInterface):
    """Says where the project is, and makes the README's links lead there."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README and the addresses."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if home := home_of(Path(self.root)):
            text = RELATIVE.sub(lambda found: absolute(home, found), text)
            metadata["urls"] = {
                "Homepage": home,
                "Documentation": f"{home}/blob/main/docs/index.md",
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
                "Issues": f"{home}/issues",
            }
        else:  # a picture that nobody can load says less than its words
            text = re.sub(r"^\[?!\[([^\]]*)\]\([^)]*\)(\]\([^)]*\))?$", r"*\1*", text, flags=re.M)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def home_of(root: Path) -> str:
    """Return the address of the project: as told, of the clone's origin, or of the sdist."""
    if HOME in os.environ:  # if it is empty there is none
        return os.environ[HOME].rstrip("/")
    if (root / ".git").exists():
        asked = ["git", "-C", str(root), "remote", "get-url", "origin"]
        with suppress(OSError):
            origin = subprocess.run(asked, capture_output=True, text=True, check=False)
            return public_address(origin.stdout.strip())
    about = root / "PKG-INFO"
    found = HOMEPAGE.search(about.read_text(encoding="utf-8")) if about.exists() else None
    return found[1] if found else ""


def public_address(origin: str) -> str:
    """Return the page of a repository on a host that everybody can read, without names of users.

    Example:
        >>> public_address("git@github.com:owner/wug.git"), public_address("a/folder/wug")
        ('https://github.com/owner/wug', '')
    """
    found = ORIGIN.fullmatch(origin)
    return f"https://{found['host']}/{found['path']}" if found and found["host"] in HOSTS else ""


def absolute(home: str, found: re.Match[str]) -> str:
    """Return a link or picture with its address: pictures as they are, pages to be read."""
    view = "raw" if found[1].endswith(PICTURES) else "blob"
    return f"]({home}/{view}/main/{found[1]})"


def pack(folder: Path, out: Path) -> None:
    """Write a run as it ships: without curves and traces, with one network per cell."""
    sys.path.insert(0, str(ROOT / "src"))
    try:
        from wug.records import pack_run, read_run
        from wug.records.networks import rounded
    finally:
        sys.path.remove(str(ROOT / "src"))
    run = read_run(folder)
    errors = {
        json.dumps(dict(record.key), sort_keys=True): chosen_by(record.outcome)
        for record in run.records()
    }
    best: dict[str, tuple[float, str]] = {}
    for path in sorted(folder.glob("models/*.safetensors")):
        about = json.loads(header(path)["__metadata__"]["about"])
        labels = about.get("labels") or {}
        key = json.dumps({**labels, "seed": about.get("seed")}, sort_keys=True)
        mine = errors.get(key, float("inf")), path.stem
        cell = json.dumps(labels, sort_keys=True)
        best[cell] = min(best.get(cell, mine), mine)
    # A run with a name of its own, such as laptop-no-dropout, is a trial: its networks don't ship.
    chosen = [stem for _, stem in best.values()] if "-" not in folder.name else []
    pack_run(run, out, curves=False, weights=False, digits=DIGITS, models=chosen)
    shutil.rmtree(out / "traces", ignore_errors=True)
    catalog = out / "catalog.json"
    compact = json.dumps(json.loads(catalog.read_text(encoding="utf-8")), separators=(",", ":"))
    catalog.write_text(compact, encoding="utf-8")
    for path in (out / "models").glob("*.safetensors"):
        path.write_bytes(rounded(path))


def chosen_by(outcome: Any) -> float:
    """Return the error that networks are chosen by: OOD validation, or validation."""
    selected = outcome.get("selected") or {}
    for split in ("ood_validation", "validation"):
        for measure in ("error", "loss"):
            value = (selected.get(split) or {}).get(measure)
            if isinstance(value, int | float):
                return float(value)
    return float("inf")


def header(path: Path) -> dict[str, Any]:
    """Return what a safetensors file says of its tensors."""
    data = path.read_bytes()
    found: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return found


def listing() -> dict[str, Any]:
    """Return all files of the results, with checksums, and where they are if that is known."""
    files = []
    for path in sorted(path for path in RESULTS.rglob("*") if path.is_file()):
        content = path.read_bytes()
        name, mark = path.relative_to(RESULTS).as_posix(), sha256(content).hexdigest()
        files.append({"path": name, "size": len(content), "sha256": mark})
    return {"home": home_of(ROOT), "files": files}
