"""Neural arithmetic and logic units: one unit, one file, one paper."""
