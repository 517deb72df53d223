"""A Primer for Neural Arithmetic Logic Modules (mistry2022)."""
