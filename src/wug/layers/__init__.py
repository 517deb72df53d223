"""Blocks with attention, routing or memory."""

from wug.core.namespace import lazy

__getattr__, __dir__ = lazy("layers")
