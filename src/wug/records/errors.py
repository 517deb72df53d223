"""The errors of a run folder: what a person asked for can't be, or the disk would not have it."""


class RunFolderError(ValueError):
    """The folder is not what was asked for: no run, a damaged one, or one that is in use."""


class ConfigMismatchError(RunFolderError):
    """The folder holds a run of another experiment or of other settings."""


class StorageError(OSError):
    """Something could not be written; everything that was written before is intact."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno
