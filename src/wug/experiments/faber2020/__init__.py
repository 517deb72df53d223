"""Faber and Wattenhofer, Neural Status Registers."""
