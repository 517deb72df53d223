"""The two-layer arithmetic task: tables 2 and 6."""
