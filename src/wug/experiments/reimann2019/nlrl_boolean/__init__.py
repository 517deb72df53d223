"""Boolean functions by stacked neural logic rule layers."""
