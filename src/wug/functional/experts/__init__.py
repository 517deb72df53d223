"""Products of tokens with the matrices of the experts that they chose, on several back ends."""
