"""Compositional table lookup with adaptive computation time: table D.2 and figure D.1."""
