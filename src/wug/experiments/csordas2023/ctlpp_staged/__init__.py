"""CTL++, staged groups of functions: figures 6.4, E.3 and E.4."""
