"""Whole networks made of units and layers."""

from wug.core.namespace import lazy

__getattr__, __dir__ = lazy("models")
