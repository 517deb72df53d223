"""Compositional table lookup by NDRs of 4 to 14 layers: table 5.2."""
