"""CTL++, alternating and repeating groups of functions: table 6.1."""
