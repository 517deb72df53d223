"""The Single Module Task: which unit learns which operation on which range (tables 9-12)."""
