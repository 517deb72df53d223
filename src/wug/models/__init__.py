"""Whole networks made of units and layers."""
