"""Comparisons of two numbers, many orders of magnitude beyond those of the training."""
