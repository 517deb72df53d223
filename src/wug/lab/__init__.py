"""Runs a trained network on what a person types."""

from wug.lab.bench import Lab
from wug.lab.checkpoints import Checkpoint, find_checkpoints, keep, load

__all__ = ["Checkpoint", "Lab", "find_checkpoints", "keep", "load"]
