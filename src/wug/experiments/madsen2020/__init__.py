"""Neural Arithmetic Units (madsen2020)."""
