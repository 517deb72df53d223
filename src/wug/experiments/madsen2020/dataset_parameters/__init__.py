"""Multiplication of other subsets of other vectors: figure 8."""
