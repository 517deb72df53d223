"""Static arithmetic: tables 6, 7 and 12."""
