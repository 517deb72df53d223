"""Nested operations on lists: table 5.4."""
