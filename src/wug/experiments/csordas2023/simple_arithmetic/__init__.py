"""Nested additions and multiplications modulo 10: table 5.3."""
