"""Functions of a trained network, never inside it."""
