"""The Single Module Task with inputs that do not matter (figures 18-20)."""
