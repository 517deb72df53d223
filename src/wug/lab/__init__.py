"""Runs a trained network on what a person types."""

from wug.lab.bench import Lab

__all__ = ["Lab"]
