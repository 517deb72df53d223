"""Neural arithmetic logic units (Trask et al., 2018): the appendix."""
