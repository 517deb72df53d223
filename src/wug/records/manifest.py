"""The manifest of a run folder, run.json: which experiment, with which settings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.records.errors import ConfigMismatchError, RunFolderError
from wug.records.files import parse_json, read_plain, reason_of
from wug.records.hashing import Json, canonical_json, config_hash, plain_json
from wug.records.segments import FORMAT, check_format

MANIFEST_NAME = "run.json"
_MARK = "wug_run"
# The setting that says which data a run was trained on; runs from before it was written had 1.
DATA_EDITION = "data_edition"
_NUM_NAMED = 3


def holds_run(folder: Path) -> bool:
    """Tells whether the folder has a manifest of ours, even a damaged one.

    Raises:
        RunFolderError: The manifest can't be read.
    """
    path = folder / MANIFEST_NAME
    try:
        return _is_ours(read_plain(path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise RunFolderError(f"{path} can't be read: {reason_of(error)}.") from error


def _is_ours(data: bytes) -> bool:
    return f'"{_MARK}"'.encode() in data


@dataclass(frozen=True)
class Manifest:
    """What a run folder is about."""

    experiment: str
    settings: Mapping[str, Json]

    @classmethod
    def make(cls, experiment: str, settings: Mapping[str, Json]) -> "Manifest":
        """Makes a manifest from resolved settings.

        Raises:
            TypeError: A setting has no JSON form.
        """
        return cls(experiment, plain_json(settings, "settings"))

    @classmethod
    def read(cls, folder: Path, within: Path | None = None) -> "Manifest":
        """Reads the manifest of a folder.

        Args:
            folder: The folder.
            within: A resolved folder that links may not lead out of; None lets them lead anywhere.

        Raises:
            RunFolderError: The folder holds no run, a damaged one, or one of another format.
        """
        path = folder / MANIFEST_NAME
        try:
            data = read_plain(path, within)
        except (FileNotFoundError, NotADirectoryError):
            data = b""
        except OSError as error:
            raise RunFolderError(f"{path} can't be read: {reason_of(error)}.") from error
        if not _is_ours(data):
            raise RunFolderError(f"{folder} holds no run of wug: there is no {path.name} of ours.")
        try:
            fields: dict[str, Any] = parse_json(data)
            check_format(fields[_MARK], path)
            manifest = cls(fields["experiment"], fields["settings"])
            whole = fields["hash"] == manifest.hash
        except RunFolderError:  # of another format
            raise
        except (KeyError, TypeError, ValueError, RecursionError):
            whole = False
        if not whole:
            raise RunFolderError(
                f"{path} is damaged: add --fresh to start over, or choose another folder "
                "with --out."
            )
        return manifest

    @property
    def hash(self) -> str:
        """The hash of experiment and settings."""
        return config_hash({"experiment": self.experiment, "settings": self.settings})

    def to_text(self) -> str:
        """Writes the manifest as JSON for people."""
        fields = {
            _MARK: FORMAT,
            "experiment": self.experiment,
            "hash": self.hash,
            "settings": self.settings,
        }
        return json.dumps(fields, indent=1) + "\n"

    def differs(self, wanted: "Manifest") -> str:
        """Says in what this run is not the one that is wanted; nothing if it is."""
        there, here = ({DATA_EDITION: 1, **each.settings} for each in (self, wanted))
        if (self.experiment, there) == (wanted.experiment, here):
            return ""
        if self.experiment != wanted.experiment:
            return f"a run of {self.experiment}, not of {wanted.experiment}"
        if there[DATA_EDITION] != here[DATA_EDITION]:
            return (
                f"a run on data of edition {there[DATA_EDITION]}, which can be shown but not "
                f"continued, as the data is now of edition {here[DATA_EDITION]}"
            )
        return f"a run with other settings ({_difference(there, here)})"

    def require(self, wanted: "Manifest", folder: Path) -> None:
        """Checks that the folder's run, this one, is the one that is wanted.

        Raises:
            ConfigMismatchError: It is not; the message names what differs.
        """
        if difference := self.differs(wanted):
            raise ConfigMismatchError(
                f"{folder} holds {difference}: add --fresh to replace it, or choose another folder "
                "with --out."
            )


def _difference(there: Mapping[str, Json], here: Mapping[str, Json]) -> str:
    """Spells what differs: `steps 50000 there, 100 here; ...`."""
    old, new = _leaves(there), _leaves(here)
    names = [name for name in old | new if old.get(name) != new.get(name)]
    spelled = [
        f"{name} {old.get(name, 'absent')} there, {new.get(name, 'absent')} here"
        for name in names[:_NUM_NAMED]
    ]
    if len(names) > _NUM_NAMED:
        spelled.append(f"{len(names) - _NUM_NAMED} more")
    return "; ".join(spelled)


def _leaves(settings: Mapping[str, Json], prefix: str = "") -> dict[str, str]:
    leaves: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            leaves |= _leaves(value, f"{prefix}{name}.")
        else:
            leaves[prefix + name] = canonical_json(value)
    return leaves
