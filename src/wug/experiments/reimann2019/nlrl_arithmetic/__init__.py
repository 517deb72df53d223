"""Multiplication, and addition with division, by stacked neural logic rule layers."""
