"""Neural arithmetic and logic units: one unit, one file, one paper."""

from wug.core.namespace import lazy

__getattr__, __dir__ = lazy("units")
