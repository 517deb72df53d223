"""What a run left behind: records that are written once, whole, and read without torch."""

from wug.records.archive import pack_run, require_alike, take_over
from wug.records.atomic import write_atomic
from wug.records.errors import ConfigMismatchError, RunFolderError, StorageError
from wug.records.hashing import Json, config_hash
from wug.records.leases import Claim
from wug.records.manifest import DATA_EDITION, Manifest
from wug.records.networks import NetworkFile, read_networks
from wug.records.outcomes import kept_accuracy, read_outcome
from wug.records.queries import group_by, where
from wug.records.reader import SMOKE, Run, read_run
from wug.records.schema import Kind, Record, identity
from wug.records.segments import Problem
from wug.records.store import RunStore, clear_run
from wug.records.traces import Trace, read_traces, write_trace

__all__ = [
    "Claim",
    "ConfigMismatchError",
    "DATA_EDITION",
    "Json",
    "Kind",
    "Manifest",
    "NetworkFile",
    "Problem",
    "Record",
    "Run",
    "RunFolderError",
    "RunStore",
    "SMOKE",
    "StorageError",
    "Trace",
    "clear_run",
    "config_hash",
    "group_by",
    "identity",
    "kept_accuracy",
    "pack_run",
    "read_networks",
    "read_outcome",
    "read_run",
    "read_traces",
    "require_alike",
    "take_over",
    "where",
    "write_atomic",
    "write_trace",
]
