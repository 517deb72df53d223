"""Systematic generalization in connectionist models (Csordás, 2023): chapters 2 to 7."""
