"""Tasks; the folder of a task states the claim that it tests."""

from wug.core.namespace import lazy

__getattr__, __dir__ = lazy("tasks")
