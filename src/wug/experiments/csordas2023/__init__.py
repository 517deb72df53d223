"""Systematic generalization in connectionist models (Csordás, 2023): chapters 5 and 6."""
