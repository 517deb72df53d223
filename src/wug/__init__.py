"""Networks that learn the rule, not the list."""

__version__ = "0.1.0"
