"""Multiplication with redundant hidden units: figure 3, left."""
