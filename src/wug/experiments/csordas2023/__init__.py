"""Systematic generalization in connectionist models (Csordás, 2023): chapters 4 to 6."""
