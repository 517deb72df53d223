"""Runs a trained network on what a person types."""

from wug.lab.bench import Lab
from wug.training.kept_networks import Checkpoint, find_checkpoints, keep, load

__all__ = ["Checkpoint", "Lab", "find_checkpoints", "keep", "load"]
