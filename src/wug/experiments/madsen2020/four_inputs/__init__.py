"""The function of four inputs: table 1."""
