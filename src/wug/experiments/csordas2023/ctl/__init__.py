"""Compositional table lookup: tables 5.1 and D.1."""
