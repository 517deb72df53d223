"""The identity function: table 5."""
