"""Multiplication on other input ranges: figure 3, right."""
