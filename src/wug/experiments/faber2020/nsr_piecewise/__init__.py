"""Functions of two branches, continuous and not."""
